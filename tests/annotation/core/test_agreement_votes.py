import json
from collections import defaultdict

import pytest

from annotation.core.agreement import agreement_between, agreement_within, percent_agreement
from annotation.core.choices import Verdict
from tests.paths import shared_data


def test_percent_agreement_counts_equal_ratings():
    result = percent_agreement([("A", "A"), ("A", "B"), ("B", "B")])
    assert (result.agreed, result.n, result.share) == (2, 3, pytest.approx(2 / 3))


def test_percent_agreement_of_nothing_has_no_share():
    assert percent_agreement([]).share is None


def mtbench_verdicts(name, judges):
    """Verdicts by turn and comparison, in the coordinates of the sorted model names."""
    votes = defaultdict(list)
    for line in shared_data(name).read_text().splitlines():
        vote = json.loads(line)
        if not vote["judge"].startswith(judges):
            continue
        verdict = {"model_a": Verdict.A, "model_b": Verdict.B}.get(vote["winner"], Verdict.TIE)
        models = (vote["model_a"], vote["model_b"])
        if models != tuple(sorted(models)):
            verdict = verdict.flipped()
        votes[vote["turn"], vote["question_id"], *sorted(models)].append(verdict)
    return votes


@pytest.mark.parametrize(
    ("turn", "ties", "judge_human", "human_human"),
    [
        (1, True, (886, 1343), (454, 721)),
        (1, False, (727, 859), (388, 479)),
        (2, True, (871, 1325), (471, 707)),
        (2, False, (731, 864), (388, 474)),
    ],
)
def test_mtbench_agreement_is_that_of_fastchat(turn, ties, judge_human, human_human):
    # protocols.md 3.5, computed with FastChat's own compute_agreement.py.
    people = mtbench_verdicts("mtbench_votes_human.jsonl", "expert")
    gpt4 = mtbench_verdicts("mtbench_votes_gpt4_pair.jsonl", "gpt4_pair")
    items = [(gpt4[key], votes) for key, votes in people.items() if key[0] == turn and key in gpt4]
    between = agreement_between(items, ties=ties)
    within = agreement_within((v for key, v in people.items() if key[0] == turn), ties=ties)
    assert (between.agreed, between.n) == judge_human
    assert (within.agreed, within.n) == human_human
