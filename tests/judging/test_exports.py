from __future__ import annotations

import csv
import io
import json

import pytest

from annotation.exports import ExportFormat
from judging.core.runs import AppliedPlan
from judging.core.targets import Basis
from judging.exports import EXPORTS
from judging.exports.peers import PEERS
from judging.models import (
    GeneratedResponse,
    InducedRubric,
    JudgeRun,
    Judgment,
    Preference,
    PreferenceSet,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.configurations import as_json
from tests.factory import (
    make_call,
    make_comparison,
    make_dataset,
    make_judgment,
    make_label,
    make_preference,
    make_rater,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
)

pytestmark = pytest.mark.django_db

OWN = [kind for kind, export in EXPORTS.items() if export not in PEERS]
"""Kinds of this project, not in a peer's layout."""


@pytest.fixture
def dataset():
    """A dataset with one row of each kind, and another one beside it."""
    for slug in ("data", "other"):
        dataset = make_dataset(slug=slug)
        scenario = make_scenario(dataset, name="s")
        turn = make_turn(make_session(scenario, key=f"{slug}-k"))
        comparison = make_comparison(turn, key="c")
        response = make_response(turn, original=True, model="m", variant="v")
        rater = make_rater(dataset, "ann")
        make_label(comparison, annotator=rater)
        rating = make_rating(response, annotator=rater)
        run = make_run(dataset, annotator=rater)
        preference = make_preference(
            run=run,
            dataset=dataset,
            scenario=scenario,
            annotator=rater,
            kind="PAIR",
            source_comparison=comparison,
            source_verdict="A",
            text=f"Prefers {slug}.",
        )
        make_judgment(run, comparison, preference, verdict="B", log_odds=-0.5, raw="=B")
        make_judgment(
            run,
            comparison,
            preference,
            order="SWAPPED",
            status="UNPARSEABLE",
            error_code="verdict:unparseable",
        )
        chosen = PreferenceSet.objects.create(
            run=run, dataset=dataset, scenario=scenario, annotator=rater, dev_accuracy=0.75
        )
        chosen.members.add(preference)
        memory = UserMemory.objects.create(
            run=run,
            user=rater,
            target_scenario=scenario,
            judge="lexical",
            status="DONE",
            texts={"scoring_style": "strict"},
        )
        common = {"run": run, "user": rater, "status": "DONE", "score": 4, "memory": memory}
        SatisfactionJudgment.objects.create(response=response, calibrated=5, **common)
        SatisfactionJudgment.objects.create(session=turn.session, **common)
        rubric = {"run": run, "satisfied": True, "status": "DONE"}
        InducedRubric.objects.create(step="TURN", label=rating, text="It is short.", **rubric)
        InducedRubric.objects.create(step="FINAL", text="Short.\n=Clear.", **rubric)
        rules = {"context": "MEMORY", "temperature": 0.7, "max_tokens": 9, "system": "=x"}
        config = {"judge": {"model": "m"}, **rules}
        asked = make_run(dataset, kind="GENERATE", judge="fake", config=config)
        GeneratedResponse.objects.create(run=asked, turn=turn, response=response, status="DONE")
    make_preference(kind="EMPTY", text="")
    return type(dataset).objects.get(slug="data")


def rows_of(kind, dataset):
    blocks = EXPORTS[kind].blocks(dataset, ExportFormat.JSONL)
    return [json.loads(line) for line in "".join(blocks).splitlines()]


def test_judgments_are_in_canonical_coordinates_with_their_order(dataset):
    first, second = rows_of("judgments", dataset)
    assert (first["order"], first["verdict"], first["log_odds"]) == ("ORIGINAL", "B", -0.5)
    assert (first["session"], first["turn"], first["comparison"]) == ("data-k", 1, "c")
    assert (first["annotator"], first["judge"], first["preference_kind"]) == (
        "ann",
        "lexical",
        "PAIR",
    )
    assert (second["order"], second["verdict"], second["status"], second["error_code"]) == (
        "SWAPPED",
        None,
        "UNPARSEABLE",
        "verdict:unparseable",
    )


@pytest.mark.parametrize(("kind", "told"), [("TEST", "ALL"), ("GRADE", None)])
def test_judgments_say_under_which_set_their_scenario_was_judged(dataset, kind, told):
    run = JudgeRun.objects.filter(dataset=dataset, judgments__isnull=False).first()
    scenario = dataset.scenarios.get()
    plan = AppliedPlan(scenario.pk, "s", winners=(), ties=0, base=1, basis=Basis.ALL)
    run.kind, run.config = kind, {"scenarios": [as_json(plan)]}
    run.save()
    assert [row["basis"] for row in rows_of("judgments", dataset)] == [told, told]


def test_preferences_name_the_pair_they_come_from_and_the_empty_one_is_there(dataset):
    pair, empty = rows_of("preferences", dataset)
    assert (pair["text"], pair["annotator"], pair["source_verdict"]) == (
        "Prefers data.",
        "ann",
        "A",
    )
    assert (pair["source_session"], pair["source_turn"], pair["source_comparison"]) == (
        "data-k",
        1,
        "c",
    )
    assert (empty["kind"], empty["source_session"], empty["annotator"]) == ("EMPTY", None, None)


def test_preferences_say_who_wrote_each_version_and_by_which_call(dataset):
    first = Preference.objects.get(text="Prefers data.")
    run = first.run
    run.kind, run.config = (
        "DISTIL",
        {"judge": {"prompts": {"distil_preference.v1.zh": "0", "distil_preference.v1.en": "abc"}}},
    )
    run.save()
    first.call = make_call(
        key="k" * 64, reply="Prefers data, it says.", input_tokens=10, output_tokens=4
    )
    first.save()
    make_preference(
        run=run,
        dataset=dataset,
        scenario=first.scenario,
        annotator=first.annotator,
        kind="EDITED",
        version=2,
        previous=first,
        root=first,
        active=False,
        edited_by=first.annotator,
    )
    before, _empty, after = rows_of("preferences", dataset)
    assert (before["prompt"], before["prompt_sha256"]) == ("distil_preference.v1.en", "abc")
    assert (before["model"], before["call"], before["raw"]) == (
        "m",
        "k" * 64,
        "Prefers data, it says.",
    )
    assert (before["input_tokens"], before["cached_tokens"], before["output_tokens"]) == (
        10,
        None,
        4,
    )
    assert (before["version"], before["root"], before["active"]) == (1, first.pk, True)
    assert (after["version"], after["root"], after["previous"]) == (2, first.pk, first.pk)
    assert (after["active"], after["edited_by"], after["prompt"], after["model"]) == (
        False,
        "ann",
        None,
        None,
    )


def test_preference_sets_carry_ids_and_texts(dataset):
    [row] = rows_of("preference_sets", dataset)
    [member] = row["members"]
    assert member == rows_of("preferences", dataset)[0]["preference"]
    assert (row["texts"], row["dev_accuracy"], row["scenario"]) == (["Prefers data."], 0.75, "s")


def test_memories_carry_their_texts(dataset):
    [row] = rows_of("memories", dataset)
    assert (row["annotator"], row["target_scenario"], row["built_by"]) == ("ann", "s", "lexical")
    assert row["texts"] == {"scoring_style": "strict"}


def test_satisfaction_judgments_name_their_target(dataset):
    of_turn, of_session = rows_of("satisfaction_judgments", dataset)
    assert (of_turn["target"], of_turn["turn"], of_turn["model"], of_turn["variant"]) == (
        "response",
        1,
        "m",
        "v",
    )
    assert (of_turn["score"], of_turn["calibrated"]) == (4, 5)
    assert of_turn["asked"] == "CHECKLIST"
    assert (of_session["target"], of_session["session"], of_session["turn"]) == (
        "session",
        "data-k",
        None,
    )


def test_rubrics_name_the_rating_that_a_reason_comes_from(dataset):
    reason, rubric = rows_of("rubrics", dataset)
    assert (reason["step"], reason["annotator"], reason["session"]) == ("TURN", "ann", "data-k")
    assert (reason["target"], reason["turn"], reason["texts"]) == ("response", 1, ["It is short."])
    assert (rubric["step"], rubric["annotator"], rubric["target"]) == ("FINAL", None, None)
    assert (rubric["satisfied"], rubric["texts"]) == (True, ["Short.", "=Clear."])


def test_a_rubric_carries_the_reply_that_it_was_read_from(dataset):
    call = make_call(reply="its words")
    InducedRubric.objects.filter(run__dataset=dataset, step="FINAL").update(call=call)
    assert [(row["model"], row["raw"]) for row in rows_of("rubrics", dataset)] == [
        (None, ""),
        ("m", "its words"),
    ]


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("judgments", Judgment),
        ("preferences", Preference),
        ("memories", UserMemory),
        ("satisfaction_judgments", SatisfactionJudgment),
        ("rubrics", InducedRubric),
        ("generated_responses", GeneratedResponse),
    ],
)
def test_what_was_read_from_a_reply_carries_it_with_the_call_s_key(
    dataset, kind, model, django_assert_max_num_queries
):
    before = len(rows_of(kind, dataset))
    model.objects.filter(run__dataset=dataset).update(raw="", call=make_call(reply="=its words"))
    # Judgments are read run by run, some comparisons at a time.
    with django_assert_max_num_queries(5 if kind == "judgments" else 3):
        rows = rows_of(kind, dataset)
    asked = [row for row in rows if row.get("kind") != "EMPTY"]
    assert len(rows) == before
    assert {(row["call"], row["raw"]) for row in asked} == {("c" * 64, "=its words")}
    told = csv.DictReader(
        io.StringIO("".join(EXPORTS[kind].blocks(dataset, ExportFormat.CSV)), newline="")
    )
    assert {row["raw"] for row in told if row.get("kind") != "EMPTY"} == {"'=its words"}


def test_a_row_that_nobody_was_called_for_has_no_call(dataset):
    assert [(row["call"], row["raw"]) for row in rows_of("judgments", dataset)] == [
        (None, "=B"),
        (None, ""),
    ]


@pytest.mark.parametrize("kind", OWN)
def test_columns_are_those_of_the_rows(dataset, kind):
    assert all(tuple(row) == EXPORTS[kind].columns for row in rows_of(kind, dataset))


@pytest.mark.parametrize("kind", OWN)
def test_csv_runs_nothing(dataset, kind):
    text = "".join(EXPORTS[kind].blocks(dataset, ExportFormat.CSV))
    heading, *records = csv.reader(io.StringIO(text, newline=""))
    assert tuple(heading) == EXPORTS[kind].columns
    assert records
    assert not any(value.startswith(("=", "+", "@")) for row in records for value in row)


@pytest.mark.parametrize("kind", OWN)
def test_queries_do_not_grow_with_rows(dataset, kind, django_assert_max_num_queries):
    # Which sets were edited late takes two more; of judgments so does each run.
    with django_assert_max_num_queries(5 if kind in {"preference_sets", "judgments"} else 3):
        rows_of(kind, dataset)
