from __future__ import annotations

import csv
import io
import json
from itertools import product
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core.choices import Hallucination, Reason
from annotation.core.labelling import Answer, Effort, Flag, InputDevice, Rating
from annotation.core.profiles import QUESTIONS
from annotation.exports import EXPORTS, LABELS, LABELS_WIDE, SATISFACTION, SESSIONS, ExportFormat
from annotation.models import Dataset, GoldLabel, PairwiseLabel, Response, Session
from annotation.services.claims import next_task
from annotation.services.imports import import_records
from annotation.services.labels import rate_session
from tests.annotation.labelling import (
    answer,
    give_repeat,
    make_pair_study,
    make_repeat_study,
    make_session_study,
)
from tests.annotation.records import LATER, NOW, everything, import_rows, pair, rated
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_label,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)
from tests.paths import shared_data

pytestmark = pytest.mark.django_db


def text_of(export, slug, format_=ExportFormat.JSONL):
    return "".join(export.blocks(Dataset.objects.get(slug=slug), format_))


def table_of(text):
    return list(csv.DictReader(io.StringIO(text, newline="")))


def without_items(text):
    return [{**row, "item": ""} for row in table_of(text)]


def rows_of(export, slug="data"):
    return [json.loads(line) for line in text_of(export, slug).splitlines()]


def again(tmp_path, text, slug):
    path = tmp_path / f"{slug}.jsonl"
    path.write_text(text, "utf-8")
    report = import_records(path=path, dataset_slug=slug, now=LATER)
    assert report.faults == ()
    return report


@pytest.mark.parametrize("format_", ExportFormat)
@pytest.mark.parametrize("kind", EXPORTS)
def test_exported_sessions_come_back_as_the_same_bytes(tmp_path, kind, format_):
    import_rows(tmp_path, *everything())
    again(tmp_path, text_of(SESSIONS, "data"), "fresh")
    assert text_of(EXPORTS[kind], "fresh", format_) == text_of(EXPORTS[kind], "data", format_)


def test_what_is_continued_is_told_over_a_turn_that_nobody_answered(tmp_path):
    session = make_session(make_scenario(make_dataset(slug="data")))
    first = make_response(make_turn(session), model="m")
    make_turn(session, user_message="")
    make_response(make_turn(session), model="m", continues=first)
    again(tmp_path, text_of(SESSIONS, "data"), "fresh")
    told = [turn.get("responses", [{}])[0] for turn in rows_of(SESSIONS, "fresh")[-1]["turns"]]
    assert [each.get("continues") for each in told] == [None, None, told[0]["id"]]
    last = Response.objects.get(turn__session__dataset__slug="fresh", turn__position=2)
    assert last.continues.turn.position == 0


def test_exported_labels_stand_alone_and_come_back_as_the_same_bytes(tmp_path):
    import_rows(tmp_path, *everything())
    again(tmp_path, text_of(LABELS, "data"), "fresh")
    assert text_of(LABELS, "fresh") == text_of(LABELS, "data")


@pytest.mark.parametrize("format_", ExportFormat)
def test_labels_with_a_column_an_annotator_come_back_as_the_same_bytes(tmp_path, format_):
    dialogue = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": "Two?"},
    ]
    import_rows(
        tmp_path,
        pair(prompt=..., dialogue=dialogue, system_prompt="=x", text_a="=1+1", text_b=""),
        pair(annotator="bob", verdict="TIE"),
        pair(verdict="B"),
        pair(verdict="B", study="pilot", repeat=1),
        pair(prompt="nobody", annotator=..., verdict=...),
    )
    text = text_of(LABELS_WIDE, "data", format_)
    path = tmp_path / f"wide.{format_}"
    path.write_text(text, "utf-8", newline="")
    for slug in ("fresh", "data"):
        report = import_records(path=path, dataset_slug=slug, now=LATER)
        assert (report.format, report.faults) == ("labels-wide", ())
    assert report.created == 0
    assert text_of(LABELS_WIDE, "fresh", format_) == text
    told = [(row["verdict:ann"], row["verdict:bob"]) for row in rows_of(LABELS_WIDE, "fresh")]
    assert told == [("A", None), ("B", "TIE")]


def test_in_what_order_a_database_keeps_keys_makes_no_difference(tmp_path):
    session = make_session(make_scenario(make_dataset(slug="data"), name="s"), key="k")
    make_label(make_comparison(make_turn(session)), extra={"bb": 1, "a": {"z": 1, "y": 2}})
    Session.objects.update(profile_snapshot={"gender": "f", "age": 30}, extra={"q": 1, "p": 2})
    text = text_of(SESSIONS, "data")
    assert '"profile": {"age": 30, "gender": "f"}' in text
    assert '"extra": {"p": 2, "q": 1}' in text
    assert '"extra": {"a": {"y": 2, "z": 1}, "bb": 1}' in text
    assert '"extra": {"a": {"y": 2, "z": 1}, "bb": 1}' in text_of(LABELS, "data")


@pytest.mark.parametrize("export", [SESSIONS, LABELS])
def test_an_export_is_known_to_its_own_dataset(tmp_path, export):
    import_rows(tmp_path, *everything())
    assert again(tmp_path, text_of(export, "data"), "data").created == 0


def test_what_was_labelled_here_comes_back_in_another_dataset(tmp_path):
    dataset = make_dataset(slug="data", name="Named")
    study = make_study(dataset, slug="pilot", name="The pilot")
    session = make_session(make_scenario(dataset, name="s"), key="k")
    comparison = make_comparison(make_turn(session))
    alice = make_user(username="alice")
    make_label(comparison, annotator=alice, study=study, active_seconds=0.0, shown_order="SWAPPED")
    make_label(comparison, annotator=alice, verdict="TIE")
    text = text_of(SESSIONS, "data")
    again(tmp_path, text, "fresh")
    assert text_of(SESSIONS, "fresh") == text
    assert text_of(LABELS, "fresh") == text_of(LABELS, "data")
    assert [row["study"] for row in rows_of(LABELS, "fresh")] == ["pilot", ""]
    assert [row["annotator"] for row in rows_of(LABELS, "fresh")] == ["alice", "alice"]


def test_answers_given_on_the_pages_come_back_with_all_that_was_said(tmp_path):
    alice, bob = make_user(username="alice"), make_user(username="bob")
    rules = {"allow_tie": True, "allow_strength": True, "allow_both_bad": True}
    pairs = make_pair_study([alice, bob], items=4, overlap=2, **rules)
    said = [
        {"strength": 2, "comment": "=1+1\nand “more”", "flag": Flag.HARMFUL},
        {"strength": 1, "both_bad": True},
        {"choice": Answer.TIE, "both_bad": True, "flag": Flag.OTHER, "comment": "neither"},
        {"choice": Answer.SECOND, "strength": 1, "effort": Effort(3.25, 0.0, InputDevice.KEYBOARD)},
    ]
    for each in said:
        answer(pairs, next_task(study=pairs.slug, annotator=alice, now=NOW), alice, **each)
    answer(pairs, next_task(study=pairs.slug, annotator=bob, now=NOW), bob, strength=1)
    talks = make_session_study([bob], ask_hallucination=True, ask_questionnaire=True)
    task = next_task(study=talks.slug, annotator=bob, now=NOW)
    rate_session(
        study=talks.slug,
        item=task.place.item,
        annotator=bob,
        ratings={
            1: Rating(5, None, Hallucination.NO),
            2: Rating(2, Reason.UNUSABLE, Hallucination.YES),
            3: Rating(1, Reason.OTHER, Hallucination.UNSURE),
        },
        efforts={2: Effort(0.5, 9.0, InputDevice.POINTER)},
        questionnaire={each.summary: each.options[0] for each in QUESTIONS},
        submission=uuid4(),
        now=NOW,
    )
    for study, slug in ((pairs, "pairs"), (talks, "talks")):
        Dataset.objects.filter(pk=study.dataset_id).update(slug=slug)
        again(tmp_path, text_of(SESSIONS, slug), f"{slug}-again")
        for export, format_ in product(EXPORTS.values(), ExportFormat):
            fresh, first = (text_of(export, each, format_) for each in (f"{slug}-again", slug))
            if export.flat_columns and format_.is_table:  # items are not imported
                fresh, first = without_items(fresh), without_items(first)
            assert fresh == first
    labels = rows_of(LABELS, "pairs-again")
    # Which order comes first is drawn; known it is of every answer.
    assert {row["shown_order"] for row in labels} <= {"ORIGINAL", "SWAPPED"}
    assert sum(row["both_bad"] for row in labels) == 2
    assert {row["strength"] for row in labels} == {1, 2, None}
    assert {row["extra"].get("flag") for row in labels} == {None, "HARMFUL", "OTHER"}
    ratings = rows_of(SATISFACTION, "talks-again")
    assert [row["hallucination"] for row in ratings] == ["NO", "YES", "UNSURE"]
    assert ratings[1]["idle_seconds"] == 9.0


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(prompt=ANY_TEXT, a=ANY_TEXT, b=ANY_TEXT, comment=ANY_TEXT, number=st.uuids())
def test_any_text_comes_back(tmp_path, prompt, a, b, comment, number):
    row = pair(prompt=prompt, text_a=a, text_b=b, comment=comment)
    slug, fresh = f"x-{number}", f"y-{number}"
    import_rows(tmp_path, row, dataset=slug)
    again(tmp_path, text_of(SESSIONS, slug), fresh)
    assert text_of(SESSIONS, fresh) == text_of(SESSIONS, slug)


def test_a_table_of_labels_explains_itself(django_assert_num_queries):
    alice, bob = make_user(username="alice"), make_user(username="bob")
    study = make_repeat_study([alice, bob], items=1, overlap=2)  # the second item repeats the first
    item = study.items.get(kind="NORMAL")
    answer(study, next_task(study=study.slug, annotator=alice, now=NOW), alice, flag=Flag.HARMFUL)
    give_repeat(item, alice)
    answer(study, next_task(study=study.slug, annotator=alice, now=NOW), alice)
    make_claim(item, bob, state="SKIPPED", slot=None)
    GoldLabel.objects.create(comparison=item.comparison, verdict="B", source="DATASET")
    PairwiseLabel.objects.update(verdict="A")
    with django_assert_num_queries(10):
        text = text_of(LABELS, study.dataset.slug, ExportFormat.CSV)
    columns = ("repeat", *LABELS.flat_columns)
    assert [tuple(row[name] for name in columns) for row in table_of(text)] == [
        ("0", "1", "HARMFUL", "B", "bob", item.comparison.response_a.model),
        ("2", "3", "", "B", "bob", item.comparison.response_a.model),
    ]
    assert text == "".join(LABELS.study_blocks(study, ExportFormat.CSV))


def test_a_table_of_ratings_explains_itself():
    bob, eve = make_user(username="bob"), make_user(username="eve")
    study = make_session_study([bob, eve], turns=1)
    item = study.items.get()
    rated_one = item.session.turns.get().responses.get()
    make_rating(rated_one, annotator=bob, study=study, score=5, extra={"flag": "OTHER"})
    make_claim(item, eve, state="SKIPPED", slot=None)
    GoldLabel.objects.create(response=rated_one, score=4, source="DATASET")
    (row,) = table_of("".join(SATISFACTION.study_blocks(study, ExportFormat.CSV)))
    assert [row[name] for name in SATISFACTION.flat_columns] == ["1", "OTHER", "4", "eve"]


def test_labels_are_in_canonical_coordinates_and_file_order(tmp_path):
    import_rows(
        tmp_path,
        pair(prompt="second", position=5, shown_order="SWAPPED"),
        pair(prompt="first", position=2, verdict="B"),
    )
    first, second = rows_of(LABELS)
    assert (first["dialogue"], first["verdict"]) == ([{"role": "user", "content": "first"}], "B")
    assert (second["verdict"], second["shown_order"]) == ("A", "SWAPPED")
    assert (second["text_a"], second["model_a"]) == ("1", "m")


def test_a_label_has_the_chance_with_which_its_study_drew_the_pair(tmp_path):
    study = make_pair_study([], items=2)
    study.items.filter(position=0).update(inclusion_chance=0.25)
    for item in study.items.order_by("position"):
        make_label(item.comparison, study=study)
    slug = study.dataset.slug
    assert [row["inclusion_chance"] for row in rows_of(LABELS, slug)] == [0.25, None]
    assert text_of(LABELS, slug, ExportFormat.CSV).splitlines()[0].count(",inclusion_chance,") == 1
    again(tmp_path, text_of(LABELS, slug), "copy")  # where nothing was drawn
    assert {row["inclusion_chance"] for row in rows_of(LABELS, "copy")} == {None}


def test_the_dialogue_of_a_label_follows_the_original_line(tmp_path):
    import_rows(tmp_path, *everything())
    dialogues = {row["comparison"]: row["dialogue"] for row in rows_of(LABELS)}
    assert dialogues["later"] == [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "b"},
    ]


def test_labels_cost_a_fixed_number_of_queries(tmp_path, django_assert_num_queries):
    import_rows(tmp_path, *everything())
    dataset = Dataset.objects.get()
    with django_assert_num_queries(8):
        assert "".join(LABELS.blocks(dataset, ExportFormat.JSONL))


def test_sessions_cost_a_fixed_number_of_queries(tmp_path, django_assert_num_queries):
    import_rows(tmp_path, *(rated(key=f"k{number}") for number in range(20)))
    dataset = Dataset.objects.get()
    # Three of them ask whether there are ratings, questionnaires and gold at all.
    with django_assert_num_queries(12):
        assert "".join(SESSIONS.blocks(dataset, ExportFormat.JSONL))


def test_ratings_name_their_target(tmp_path):
    import_rows(tmp_path, *everything())
    rows = rows_of(SATISFACTION)
    assert [(row["target"], row["turn"], row["annotator"], row["score"]) for row in rows] == [
        ("response", 1, "User_1", 2),
        ("response", 1, "bob", 5),
        ("response", 1, "ann", 1),
        ("session", None, "ann", 4),
    ]
    assert [row["reason"] for row in rows] == ["OTHER", None, "NOT_RECORDED", None]


@pytest.mark.parametrize("kind", EXPORTS)
def test_csv_has_the_columns_of_its_rows_and_runs_nothing(tmp_path, kind):
    import_rows(tmp_path, *everything(), pair(prompt="=HYPERLINK(1)", text_a="@SUM(1)"))
    text = text_of(EXPORTS[kind], "data", ExportFormat.CSV)
    heading, *records = csv.reader(io.StringIO(text, newline=""))
    export = EXPORTS[kind]
    told = rows_of(export)[0] if kind == "labels_wide" else export.columns
    assert tuple(heading) == (*told, *export.flat_columns)
    assert records
    assert all(len(record) == len(heading) for record in records)
    assert not any(
        value.startswith(("=", "+", "@", "\t", "\r")) for row in records for value in row
    )


def test_sessions_as_csv_are_a_row_a_response_and_unanswered_turns_too(tmp_path):
    import_rows(tmp_path, *everything())
    text = text_of(SESSIONS, "data", ExportFormat.CSV)
    rows = [row for row in csv.DictReader(io.StringIO(text, newline="")) if row["session"] == "k"]
    assert [(row["turn"], row["text"]) for row in rows] == [
        ("1", "A"),
        ("1", ""),
        ("2", "A2"),
        ("2", "B2"),
        ("2", ""),
        ("3", "more"),
        ("4", ""),
    ]
    assert rows[0]["user"] == "User_1"


def test_an_empty_dataset_has_headings_alone():
    make_dataset(slug="data")
    assert text_of(LABELS, "data") == ""
    assert (
        text_of(LABELS, "data", ExportFormat.CSV)
        == ",".join((*LABELS.columns, *LABELS.flat_columns)) + "\r\n"
    )
    assert rows_of(SESSIONS) == [{"type": "dataset"}]


@pytest.mark.parametrize("format_", ExportFormat)
def test_an_annotator_gets_their_own_labels_without_models(tmp_path, format_):
    import_rows(tmp_path, pair(model_a="secret-model", variant_b="secret-variant"), rated())
    comparison = make_comparison(
        make_turn(make_session(Dataset.objects.get().scenarios.get(), key="own"))
    )
    alice = make_user(username="alice")
    make_label(comparison, annotator=alice)
    make_rating(comparison.response_a, annotator=alice, score=5)
    dataset = Dataset.objects.get()
    text = "".join(LABELS.own_blocks(dataset, format_, alice.pk) or [])
    assert "alice" in text
    assert not any(word in text for word in ("ann,", '"ann"', "secret", "model", "variant"))
    assert comparison.response_a.model not in text
    ratings = "".join(SATISFACTION.own_blocks(dataset, format_, alice.pk) or [])
    assert "alice" in ratings
    assert not any(word in ratings for word in ("User_1", "model", "variant"))
    assert SESSIONS.own_blocks(dataset, format_, alice.pk) is None


def test_a_text_that_is_not_available_is_left_out_of_dialogues():
    scenario = make_scenario(make_dataset(slug="data"))
    session = make_session(scenario)
    make_response(make_turn(session, user_message="a"), text=None, original=True)
    make_label(make_comparison(make_turn(session, user_message="b")))
    [row] = rows_of(LABELS)
    assert row["dialogue"] == [
        {"role": "user", "content": "a"},
        {"role": "user", "content": "b"},
    ]


def test_public_pairs_come_back_as_the_same_bytes(tmp_path):
    path = shared_data("pandalm_testset_dev.json")
    import_records(path=path, dataset_slug="data", now=NOW)
    again(tmp_path, text_of(SESSIONS, "data"), "fresh")
    for export in (SESSIONS, LABELS):
        assert text_of(export, "fresh") == text_of(export, "data")
    again(tmp_path, text_of(LABELS, "data"), "alone")
    assert text_of(LABELS, "alone") == text_of(LABELS, "data")
