"""The embedded judge's bench: what it prints, and that stored runs decide the same."""

from __future__ import annotations

import json
import random
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.core.participants import rater_username
from annotation.core.splits import SplitSettings
from annotation.models import Dataset, User
from annotation.services.imports import import_records
from benchmark.core.in_memory_run import AnnotatorLabels, rehearse
from benchmark.core.trust import BASE, PERSONAL, SELECTED, SHUFFLED
from benchmark.queries.evidence import StandIn, stand_in_cases
from judging.core.rules import Combine, PairwiseSettings
from judging.core.votes import VoteRule
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from sensejudge_site import benches
from sensejudge_site.labelled_pairs import read_pandalm
from tests.judging.study import start_distillation, start_test_run

SENTENCES = (
    "Pack a light jacket", "Walk along the river", "Try the old market", "Rest in the afternoon",
    "Share the cost of the flat", "Take the tram uphill", "Keep cash for the ferry",
)  # fmt: skip


def write_pairs(path, count=40):
    """Requests with several pairs each; annotator1 wants it short, annotator2 long, with noise."""
    draw = random.Random(5)
    rows = []
    for number in range(count):
        texts = [
            ". ".join(draw.sample(SENTENCES, draw.randrange(1, 7)))
            + draw.choice([".", "! Have fun! 😊", ". For example, on Monday."])
            for _ in range(2)
        ]
        shorter = 1 if len(texts[0]) < len(texts[1]) else 2
        wrong = draw.random() < 0.1
        rows.append({
            "idx": number, "motivation_app": "Trips", "cmp_key": "m-1_m-2",
            "instruction": f"Where to go on day {number // 3}?", "input": "",
            "response1": texts[0], "response2": texts[1],
            "annotator1": 3 - shorter if wrong else shorter,
            "annotator2": 0 if number % 9 == 4 else 3 - shorter,
        })  # fmt: skip
    path.write_text(json.dumps(rows))
    return path


def figures(**sizes):
    return {each.name: each.value for each in benches.run("embedded", sizes).figures}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["annotator1", "annotator2"])
def test_a_stored_run_under_the_same_names_decides_the_same(tmp_path, name):
    path = write_pairs(tmp_path / "pairs.json")
    import_records(path=path, dataset_slug="pandalm", now=timezone.now(), format_name="pandalm")
    dataset = Dataset.objects.get(slug="pandalm")
    user = User.objects.get(username=rater_username("pandalm", name))
    for seed in (0, 3):
        settings = PairwiseSettings(seed=seed)
        distilled = run_to_end(
            start_distillation(dataset=dataset, annotator=user, judge=LEXICAL, settings=settings).pk
        )
        tested = run_to_end(start_test_run(dataset=dataset, annotator=user, judge=LEXICAL).pk)
        (cases,) = stand_in_cases([StandIn(tested.pk, user.pk, ())], rule=VoteRule.DEFAULT)

        pairs = read_pandalm(path)
        labels = pairs.labels[name]
        rehearsed = rehearse(
            pairs.items,
            pairs.texts,
            AnnotatorLabels(user.username, labels, labels),
            SplitSettings(seed=seed),
            name="pandalm\x1fpandalm",
        )
        (stored,) = distilled.preference_sets.filter(control="NONE")
        assert stored.dev_accuracy == rehearsed.assessment.selection.accuracy
        assert stored.p_value == rehearsed.assessment.null.p_value
        assert stored.selection["stands_in"]["choice"] == rehearsed.stand_in
        control = () if rehearsed.stand_in is Combine.BASE else (SHUFFLED,)
        for voice in (BASE, SELECTED, PERSONAL, *control):
            assert [(case.human, case.own.decisions[voice]) for case in cases] == [
                (row.human, row.decisions) for row in rehearsed.judged[voice]
            ]


def test_a_file_s_annotators_stand_with_intervals_and_paired_gains(tmp_path):
    found = figures(file=str(write_pairs(tmp_path / "pairs.json")), seeds=3)
    assert found["annotator1_comparisons"] > 30
    for name in ("annotator1", "annotator2"):
        for figure in (
            *("base", "selected", "stack", "own", "shuffled", "nearest", "ridge"),
            *("gain_over_base", "own_gain_over_base", "own_gain_over_shuffled"),
        ):
            words = f"{name}_{figure}"
            low, high = found[f"{words}_low_percent"], found[f"{words}_high_percent"]
            assert -100 <= low <= found[f"{words}_percent"] <= high <= 100
        gain = found[f"{name}_selected_percent"] - found[f"{name}_base_percent"]
        assert found[f"{name}_gain_over_base_percent"] == pytest.approx(gain)
        assert 0 <= found[f"{name}_doubtful_selections"] <= 3
        ways = [found[f"{name}_splits_by_{way}"] for way in ("base", "stack", "subset")]
        assert sum(ways) == 3
    low, high = found["all_own_gain_over_base_low_percent"], found["all_own_gain_over_base_percent"]
    assert low <= high
    later = figures(file=str(tmp_path / "pairs.json"), seeds=2, first=41)
    assert later["annotator1_own_percent"] != found["annotator1_own_percent"]
    # annotator1 wants what the judge by itself does not, and nine labels in ten say so
    assert found["annotator1_gain_over_base_low_percent"] > 20


def test_ten_pairs_recover_each_persona_of_the_demo():
    """Most unseen pairs against the noise-free choice, one label in ten turned round.

    Tuned on other simulated annotators and other seeds; see judging.core.lexical.distil.
    """
    found = figures(seeds=10)
    for name in ("concise", "structured", "warm"):
        assert found[f"{name}_comparisons"] > 250
        assert found[f"{name}_stack_percent"] > 70
    assert found["concise_own_gain_over_base_low_percent"] > 50
    assert found["structured_own_gain_over_base_low_percent"] > 0
    # The base judge judges like `warm`, and seldom has another in its place.
    assert found["warm_splits_by_base"] >= 7


def test_a_file_that_cannot_be_read_exits_2_and_says_why(tmp_path):
    path = tmp_path / "pairs.json"
    path.write_text('[{"cmp_key": "a_b"}]')
    with pytest.raises(CommandError, match=r"pairs.json, line 1") as raised:
        call_command("bench", "embedded", "--file", str(path), stdout=StringIO())
    assert raised.value.returncode == 2
    with pytest.raises(CommandError) as raised:
        call_command("bench", "embedded", "--file", str(tmp_path / "none"), stdout=StringIO())
    assert raised.value.returncode == 2


def test_shares_are_printed_in_percent(tmp_path):
    out = StringIO()
    path = write_pairs(tmp_path / "pairs.json", 30)
    call_command("bench", "embedded", "--file", str(path), "--seeds", "1", stdout=out)
    assert "% " in next(line for line in out.getvalue().splitlines() if "base_percent" in line)
