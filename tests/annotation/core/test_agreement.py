import json
from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.agreement import (
    Undefined,
    agreement_between,
    agreement_within,
    cohens_kappa,
    percent_agreement,
)
from annotation.core.choices import Verdict
from tests.paths import shared_data

verdict_pairs = st.lists(st.tuples(st.sampled_from(Verdict), st.sampled_from(Verdict)))


def test_percent_agreement_counts_equal_ratings():
    result = percent_agreement([("A", "A"), ("A", "B"), ("B", "B")])
    assert (result.agreed, result.n, result.share) == (2, 3, pytest.approx(2 / 3))


def test_percent_agreement_of_nothing_has_no_share():
    assert percent_agreement([]).share is None


def test_kappa_of_a_table_worked_by_hand():
    # 50 items: both yes 20, both no 15, yes/no 5, no/yes 10. Observed 35/50 = .7; the first rater
    # says yes 25, the second 30: expected (25*30 + 25*20)/2500 = .5; kappa = .2/.5 = .4
    pairs = [("yes", "yes")] * 20 + [("no", "no")] * 15 + [("yes", "no")] * 5 + [("no", "yes")] * 10
    result = cohens_kappa(pairs)
    assert result.value == pytest.approx(0.4)
    assert result.undefined is None


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [([], Undefined.NO_ITEMS), ([("A", "A")] * 7, Undefined.ONE_CATEGORY)],
)
def test_an_undefined_kappa_says_why(pairs, reason):
    result = cohens_kappa(pairs)
    assert result.value is None
    assert result.undefined is reason


def test_kappa_is_defined_where_each_rater_uses_one_category_but_not_the_same():
    # Nothing agrees and nothing is expected to: 0 - 0 over 1 - 0.
    assert cohens_kappa([("A", "B")] * 3).value == 0


@given(verdict_pairs)
def test_kappa_is_symmetric_and_at_most_one(pairs):
    one = cohens_kappa(pairs)
    other = cohens_kappa([(second, first) for first, second in pairs])
    assert one.value == other.value
    assert one.value is None or -1 <= one.value <= 1


@given(st.lists(st.sampled_from(Verdict), min_size=2).filter(lambda votes: len(set(votes)) > 1))
def test_kappa_is_one_on_agreement(verdicts):
    assert cohens_kappa([(verdict, verdict) for verdict in verdicts]).value == 1


@given(verdict_pairs)
def test_flipping_both_verdicts_changes_no_agreement(pairs):
    flipped = [(one.flipped(), other.flipped()) for one, other in pairs]
    assert cohens_kappa(flipped) == cohens_kappa(pairs)


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


@pytest.mark.parametrize(("first", "second"), [(1, 2), (1, 3), (2, 3)])
def test_kappa_of_pandalms_annotators_is_that_of_scikit_learn(first, second):
    from sklearn.metrics import cohen_kappa_score

    rows = json.loads(shared_data("pandalm_testset_dev.json").read_text())
    ratings = [[row[f"annotator{number}"] for row in rows] for number in (first, second)]
    expected = cohen_kappa_score(*ratings)
    assert 0.8 < expected < 0.9
    assert cohens_kappa(zip(*ratings, strict=True)).value == pytest.approx(expected)
