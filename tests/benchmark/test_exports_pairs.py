from __future__ import annotations

import csv
import io
import json

import pytest
from django.utils import timezone

from annotation.exports import ExportFormat
from annotation.models import Dataset, PairwiseLabel, Response
from benchmark.exports import PREFERENCE_PAIRS
from judging.models import Judgment, Preference
from judging.services.recorded import import_any
from tests.annotation.records import everything, import_rows, pair
from tests.benchmark.stage import Stage
from tests.factory import make_label, make_user

pytestmark = pytest.mark.django_db


def text_of(slug, format_=ExportFormat.JSONL):
    return "".join(PREFERENCE_PAIRS.blocks(Dataset.objects.get(slug=slug), format_))


def rows_of(slug):
    return [json.loads(line) for line in text_of(slug).splitlines()]


def said(slug):
    return [
        (row["annotator"], row["verdict"], row["chosen_model"], row["confidence"])
        for row in rows_of(slug)
    ]


def again(tmp_path, slug):
    """Exported, imported into a fresh dataset and exported once more."""
    path = tmp_path / "pairs.jsonl"
    path.write_text(text_of(slug), "utf-8")
    assert import_any(path=path, dataset_slug="fresh", now=timezone.now()).faults == ()
    return text_of("fresh")


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
    assert said("study") == [
        ("ann", "A", "alpha", None),
        ("lexical", "A", "alpha", 1.0),
        ("ann", "B", "beta", None),
        ("bob", "B", "beta", None),
        ("lexical", "A", "alpha", 1.0),
        ("lexical for ann", "B", "beta", 1.0),
        ("ann", "B", "beta", None),
        ("lexical for ann", "B", "beta", 1.0),
    ]
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
        "scenario": "Writing",
        "session": rows_of("study")[0]["session"],
        "comparison": rows_of("study")[0]["comparison"],
        "verdict": "A",
    }
    assert again(tmp_path, "study") == text_of("study")


def test_confidence_is_the_chance_by_log_odds_or_the_share_of_the_ballots(tmp_path):
    stage = judged()
    base = Preference.objects.get(kind="EMPTY")
    one, other, _last = stage.comparisons["Writing"]
    Judgment.objects.filter(preference=base, comparison=one).update(log_odds=1.0)
    row = Judgment.objects.get(preference=base, comparison=other, order="SWAPPED")
    row.verdict = "TIE"
    row.save()
    heard = {row[1:] for row in said("study") if row[0] == "lexical"}
    assert heard == {("A", "alpha", 0.731059), ("A", "alpha", 0.5)}
    assert again(tmp_path, "study") == text_of("study")


def corrected(letters, *, withdrawn=0):
    """By name, corrected rows of a judge who says A throughout, of which some lost their label."""
    stage = Stage.make(size=len(letters))
    ann = stage.rater("ann")
    stage.label(ann, letters)
    verdicts = "A" * len(letters)
    stage.tested(ann, stage.distilled(ann), base=verdicts, selected=verdicts)
    PairwiseLabel.objects.filter(pk__in=PairwiseLabel.objects.all()[:withdrawn]).delete()
    rows = [row for row in rows_of("study") if row["source"] == "corrected"]
    assert {row["source"] for row in rows_of("study")} >= {"human", "judge"}
    return {
        name: [row for row in rows if row["annotator"] == name]
        for name in sorted({row["annotator"] for row in rows})
    }


def test_a_judge_s_verdicts_come_corrected_by_the_labels_too(tmp_path):
    # Of 60 verdicts for A people share 45, of each fold of 12 nine: 36 of 48 elsewhere.
    found = corrected("AAAAABBBBB" * 3 + "AAAAA" * 6)
    assert list(found) == ["lexical corrected", "lexical for ann corrected"]
    told = {(row["verdict"], row["confidence"]) for row in found["lexical corrected"]}
    assert [len(rows) for rows in found.values()] == [60, 60]
    assert told == {("A", 0.75)}
    assert again(tmp_path, "study") == text_of("study")


def test_a_judge_whom_people_contradict_is_turned(tmp_path):
    found = corrected("BBBBBBBBBBAAAAA" * 4)["lexical corrected"]
    assert {(row["verdict"], row["confidence"]) for row in found} == {("B", 0.666667)}
    assert {row["chosen_model"] for row in found} == {"beta"}
    assert again(tmp_path, "study") == text_of("study")


@pytest.mark.parametrize(
    ("letters", "withdrawn", "why"),
    [
        ("A" * 49, 0, "fewer than fifty labels"),
        ("AAAAABBBBB" * 6, 0, "as many agree as do not"),
        ("A" * 60, 1, "what is left is no random part"),
    ],
)
def test_nothing_is_corrected_without_enough_random_labels_that_tell(letters, withdrawn, why):
    assert corrected(letters, withdrawn=withdrawn) == {}, why


def test_a_judge_in_the_stead_of_who_labelled_elsewhere_is_not_corrected():
    judged()
    PairwiseLabel.objects.filter(annotator__username="study:ann").delete()
    assert {row[0] for row in said("study")} == {"bob", "lexical", "lexical for study:ann"}


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
    assert [row[:2] for row in said("data")] == [("bob", "A"), ("ann", "B")]
    make_label(PairwiseLabel.objects.first().comparison, annotator=make_user(username="eve"))
    assert [row[:2] for row in said("data")] == [("bob", "A"), ("ann", "B"), ("eve", "A")]


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
    read = list(csv.DictReader(io.StringIO(text_of("study", ExportFormat.CSV), newline="")))
    lists = ("prompt", "chosen", "rejected")
    told = [{**row, **{name: json.loads(row[name]) for name in lists}} for row in read]
    empty = [{k: "" if v is None else v for k, v in row.items()} for row in rows_of("study")]
    numbers = [{**row, "confidence": str(row["confidence"])} for row in empty]
    assert told == numbers


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
def test_those_who_see_everyone_download(client, format_name):
    judged()
    address = f"/datasets/study/export/preference_pairs.{format_name}"
    assert client.get(address).url == f"/sign-in/?next={address}"
    client.force_login(make_user(role="VIEWER"))
    answer = client.get(address)
    assert b"".join(answer.streaming_content).decode() == text_of(
        "study", ExportFormat(format_name)
    )
    name = f'attachment; filename="study-preference_pairs.{format_name}"'
    assert answer["Content-Disposition"] == name
    assert client.post(address).status_code == 405
    assert address in client.get("/datasets/study/").content.decode()
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(address).status_code == 403
