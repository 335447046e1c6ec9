from __future__ import annotations

import csv
import io
import json

import pytest
from django.utils import timezone

from annotation.core.refusals import Refused
from annotation.exports import ExportFormat
from annotation.models import Dataset, PairwiseLabel, Response
from benchmark.exports import PairChoice, preference_pairs
from benchmark.exports.pairs import PairCounts, count_pairs
from judging.core.formats.pairs import PairSource
from judging.models import Judgment, Preference
from judging.services.recorded import import_any
from tests.annotation.records import everything, import_rows, pair
from tests.benchmark.stage import Stage
from tests.factory import make_label, make_user

pytestmark = pytest.mark.django_db


LABELS = PairChoice(each_label=True)
BASE = PairChoice(PairSource.JUDGE, "lexical")
FOR_ANN = PairChoice(PairSource.JUDGE, "lexical", "ann")


def text_of(slug, format_=ExportFormat.JSONL, choice=LABELS):
    return "".join(preference_pairs(choice).blocks(Dataset.objects.get(slug=slug), format_))


def rows_of(slug, choice=LABELS):
    return [json.loads(line) for line in text_of(slug, choice=choice).splitlines()]


def decisions(slug, choice=LABELS):
    return [
        (row["annotator"], row["verdict"], row["chosen_model"], row["confidence"])
        for row in rows_of(slug, choice)
    ]


def again(tmp_path, slug, choice=LABELS):
    """Exported, imported into a fresh dataset and exported once more."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(text_of(slug, choice=choice), "utf-8")
    fresh = f"fresh-{Dataset.objects.count()}"
    assert import_any(path=path, dataset_slug=fresh, now=timezone.now()).faults == ()
    if choice.source is not PairSource.HUMAN:
        choice = PairChoice(choice.source, choice.name)
    return text_of(fresh, choice=choice)


def judged():
    """Two comparisons with labels, and what a judge said alone and in their annotator's stead."""
    stage = Stage.make(size=3)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "ABB")
    stage.label(bob, "TB.")
    stage.tested(ann, stage.distilled(ann), base="AAT", selected=".BB")
    return stage


def test_who_chose_what_and_how_surely(tmp_path):
    judged()
    assert decisions("study") == [
        ("ann", "A", "alpha", None),
        ("ann", "B", "beta", None),
        ("bob", "B", "beta", None),
        ("ann", "B", "beta", None),
    ]
    assert decisions("study", PairChoice(annotator="bob")) == [("bob", "B", "beta", None)]
    assert decisions("study", BASE) == [("lexical", "A", "alpha", 1.0)] * 2
    assert decisions("study", FOR_ANN) == [("lexical for ann", "B", "beta", 1.0)] * 2
    assert rows_of("study")[0] == {
        "prompt": [{"role": "user", "content": "Write a note to my landlord."}],
        "chosen": [{"role": "assistant", "content": "Short."}],
        "rejected": [{"role": "assistant", "content": "A longer one."}],
        "chosen_model": "alpha",
        "chosen_variant": "",
        "rejected_model": "beta",
        "rejected_variant": "",
        "annotator": "ann",
        "source": "human",
        "confidence": None,
        "strength": None,
        "margin": 1.0,
        "scenario": "Writing",
        "session": rows_of("study")[0]["session"],
        "comparison": rows_of("study")[0]["comparison"],
        "verdict": "A",
    }
    for choice in (LABELS, BASE, FOR_ANN):
        assert again(tmp_path, "study", choice) == text_of("study", choice=choice)


def test_by_default_a_row_is_the_majority_of_people_and_ties_are_counted(tmp_path):
    stage = Stage.make(size=6)
    raters = {name: stage.rater(name) for name in ("ann", "bob", "eve")}
    for name, letters in {"ann": "AABTA.", "bob": "ABBTT.", "eve": "BTBA.."}.items():
        stage.label(raters[name], letters)
    stage.tested(raters["ann"], None, base="BBBBBB")
    majority = PairChoice()
    # AAB: A. ABT: nobody leads. BBB: B. TTA: a tie. AT: nobody leads. The last has no label.
    assert decisions("study", majority) == [
        ("majority", "A", "alpha", None),
        ("majority", "B", "beta", None),
    ]
    dataset = Dataset.objects.get(slug="study")
    assert count_pairs(dataset, majority) == PairCounts(rows=2, tied=3)
    assert count_pairs(dataset, LABELS) == PairCounts(rows=10, tied=0)
    # A judge is asked for what the annotator decided.
    assert count_pairs(dataset, BASE) == PairCounts(rows=4, tied=0)
    assert again(tmp_path, "study", majority) == text_of("study", choice=majority)


@pytest.mark.parametrize(
    ("choice", "code"),
    [
        (PairChoice(PairSource.JUDGE), "pairs:no-judge"),
        (PairChoice(PairSource.CORRECTED), "pairs:no-judge"),
        (PairChoice(PairSource.JUDGE, "someone"), "pairs:unknown-judge"),
        (PairChoice(PairSource.CORRECTED, "lexical", "bob"), "pairs:unknown-judge"),
        (PairChoice(PairSource.JUDGE, "lexical", each_label=True), "pairs:each-label-of-judge"),
        (PairChoice(judge="lexical"), "pairs:judge-of-people"),
        (PairChoice(annotator="nobody"), "annotator:unknown"),
    ],
)
def test_a_choice_that_cannot_be_met_is_refused_before_a_row(choice, code):
    judged()
    with pytest.raises(Refused) as refused:
        text_of("study", choice=choice)
    assert refused.value.code == code


def test_confidence_is_the_chance_by_log_odds_or_the_share_of_the_ballots(tmp_path):
    stage = judged()
    base = Preference.objects.get(kind="EMPTY")
    one, other, _last = stage.comparisons["Writing"]
    Judgment.objects.filter(preference=base, comparison=one).update(log_odds=1.0)
    row = Judgment.objects.get(preference=base, comparison=other, order="SWAPPED")
    row.verdict = "TIE"
    row.save()
    assert {row[1:] for row in decisions("study", BASE)} == {
        ("A", "alpha", 0.731059),
        ("A", "alpha", 0.5),
    }
    assert again(tmp_path, "study") == text_of("study")


CORRECTED = PairChoice(PairSource.CORRECTED, "lexical")
CORRECTED_FOR_ANN = PairChoice(PairSource.CORRECTED, "lexical", "ann")


def corrected(letters, *, withdrawn=0):
    """Corrected rows of a judge who says A throughout, alone and for ann; some lost their label."""
    stage = Stage.make(size=len(letters))
    ann = stage.rater("ann")
    stage.label(ann, letters)
    verdicts = "A" * len(letters)
    stage.tested(ann, stage.distilled(ann), base=verdicts, selected=verdicts)
    PairwiseLabel.objects.filter(pk__in=PairwiseLabel.objects.all()[:withdrawn]).delete()
    return [rows_of("study", choice) for choice in (CORRECTED, CORRECTED_FOR_ANN)]


def test_a_judge_s_verdicts_come_corrected_by_the_labels_too(tmp_path):
    # Of 60 verdicts for A people share 45, of each fold of 12 nine: 36 of 48 elsewhere.
    alone, for_ann = corrected("AAAAABBBBB" * 3 + "AAAAA" * 6)
    assert {row["annotator"] for row in alone} == {"lexical corrected"}
    assert {row["annotator"] for row in for_ann} == {"lexical for ann corrected"}
    assert {row["source"] for row in alone} == {"corrected"}
    assert [len(alone), len(for_ann)] == [60, 60]
    assert {(row["verdict"], row["confidence"]) for row in alone} == {("A", 0.75)}
    for choice in (CORRECTED, CORRECTED_FOR_ANN):
        assert again(tmp_path, "study", choice) == text_of("study", choice=choice)


def test_a_judge_whom_people_contradict_is_turned(tmp_path):
    rows, _for_ann = corrected("BBBBBBBBBBAAAAA" * 4)
    assert {(row["verdict"], row["confidence"]) for row in rows} == {("B", 0.666667)}
    assert {row["chosen_model"] for row in rows} == {"beta"}
    assert again(tmp_path, "study", CORRECTED) == text_of("study", choice=CORRECTED)


@pytest.mark.parametrize(
    ("letters", "withdrawn", "why"),
    [
        ("A" * 49, 0, "fewer than fifty labels"),
        ("AAAAABBBBB" * 6, 0, "as many agree as do not"),
        ("A" * 60, 1, "what is left is no random part"),
    ],
)
def test_nothing_is_corrected_without_enough_random_labels_that_tell(letters, withdrawn, why):
    assert corrected(letters, withdrawn=withdrawn) == [[], []], why


def test_a_judge_in_the_stead_of_who_labelled_elsewhere_is_not_corrected():
    judged()
    PairwiseLabel.objects.filter(annotator__username="study:ann").delete()
    assert {row[0] for row in decisions("study")} == {"bob"}
    elsewhere = PairChoice(PairSource.JUDGE, "lexical", "study:ann")
    assert {row[0] for row in decisions("study", elsewhere)} == {"lexical for study:ann"}
    assert rows_of("study", PairChoice(PairSource.CORRECTED, "lexical", "study:ann")) == []


def test_everything_that_a_conversation_has_comes_back(tmp_path):
    dialogue = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
    ]
    more = {"system_prompt": "Be brief.", "session": "k", "variant_a": "v"}
    import_rows(
        tmp_path,
        pair(**more, prompt=..., dialogue=dialogue, comparison="late", strength=2),
        pair(**more, prompt="One?", comparison="early", verdict="B"),
        pair(annotator="bob", verdict="B"),
        pair(),
    )
    late, early, *first = rows_of("data")
    system = {"role": "system", "content": "Be brief."}
    assert (late["prompt"], late["strength"]) == ([system, *dialogue], 2)
    assert (early["prompt"], early["rejected_variant"]) == ([system, dialogue[0]], "v")
    assert [row["annotator"] for row in first] == ["bob", "ann"]
    assert again(tmp_path, "data") == text_of("data")
    path = tmp_path / "pairs.jsonl"
    assert import_any(path=path, dataset_slug="data", now=timezone.now()).created == 0


def test_what_teaches_nothing_is_left_out(tmp_path):
    import_rows(
        tmp_path,
        pair(prompt="tie", verdict="TIE"),
        pair(prompt="no text", text_b=None),
        pair(prompt="one text", text_b="1"),
        pair(prompt="again", repeat=1, study="pilot"),
        pair(prompt="kept", text_a=""),
    )
    assert [row["prompt"][0]["content"] for row in rows_of("data")] == ["kept"]


def test_a_person_counts_with_their_last_label(tmp_path):
    import_rows(tmp_path, pair(), pair(annotator="bob"), pair(study="pilot", verdict="B"))
    assert [row[:2] for row in decisions("data")] == [("bob", "A"), ("ann", "B")]
    make_label(PairwiseLabel.objects.first().comparison, annotator=make_user(username="eve"))
    assert [row[:2] for row in decisions("data")] == [("bob", "A"), ("ann", "B"), ("eve", "A")]


def test_a_turn_that_nobody_asked_is_left_out(tmp_path):
    import_rows(tmp_path, *everything())
    asked = {row["session"] for row in rows_of("data")}
    assert asked
    Response.objects.get(turn__session__key=min(asked), text="1").turn.__class__.objects.update(
        user_message=None
    )
    assert rows_of("data") == []


def test_the_csv_has_the_same_rows():
    judged()
    text = text_of("study", ExportFormat.CSV, BASE)
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    lists = ("prompt", "chosen", "rejected")
    rows = [{**row, **{name: json.loads(row[name]) for name in lists}} for row in table]
    empty = [{k: "" if v is None else v for k, v in row.items()} for row in rows_of("study", BASE)]
    numbers = ("confidence", "margin")
    assert rows == [{**row, **{name: str(row[name]) for name in numbers}} for row in empty]


def test_a_margin_says_how_far_the_chosen_response_is_ahead(tmp_path):
    said = [("ann", "A", 2), ("bob", "A", 1), ("cem", "B", None), ("dan", "TIE", None)]
    import_rows(
        tmp_path,
        *(pair(annotator=who, verdict=verdict, strength=much) for who, verdict, much in said),
    )
    assert [row["margin"] for row in rows_of("data")] == [1.0, 0.5, 1.0]
    assert [row["margin"] for row in rows_of("data", PairChoice())] == [0.25]
    assert again(tmp_path, "data", PairChoice()) == text_of("data", choice=PairChoice())
    sure = preference_pairs(BASE)
    assert "margin" in sure.columns


def test_a_judge_s_margin_is_the_chance_of_one_less_that_of_the_other():
    judged()
    Judgment.objects.update(log_odds=1.0)
    for row in rows_of("study", BASE):
        assert row["margin"] == pytest.approx(2 * row["confidence"] - 1, abs=1e-6)


def test_trainers_get_their_columns_alone_and_the_file_goes_in_again(tmp_path):
    import_rows(tmp_path, pair(system_prompt="Be brief."))
    choice = PairChoice(training_columns=True)
    (row,) = rows_of("data", choice)
    assert row == {
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "p"},
        ],
        "chosen": [{"role": "assistant", "content": "1"}],
        "rejected": [{"role": "assistant", "content": "2"}],
        "margin": 1.0,
    }
    path = tmp_path / "trl.jsonl"
    path.write_text(text_of("data", choice=choice), "utf-8")
    report = import_any(path=path, dataset_slug="fresh", now=timezone.now())
    assert report.faults == ()
    assert Response.objects.filter(turn__session__dataset__slug="fresh").count() == 2
