from __future__ import annotations

import json
from math import log

import pytest
from django.utils import timezone

from annotation.exports import ExportFormat
from annotation.models import Comparison, Dataset
from judging.core.formats.detect import ALL_FORMATS
from judging.exports import EXPORTS
from judging.models import Judgment, ResponseScore
from judging.services.recorded import import_any
from tests.annotation.records import import_rows, pair
from tests.factory import make_call, make_judgment, make_preference, make_run
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

FOLDER = ROOT / "tests" / "data" / "formats"
GOLDEN = {
    "mtbench_questions": ["mtbench-questions"],
    "mtbench_answers": ["mtbench-questions", "mtbench-answers"],
    "mtbench_votes": ["mtbench-questions", "mtbench-answers", "mtbench-votes"],
    "mtbench_pairs": ["mtbench-questions", "mtbench-answers", "fastchat-pairs"],
    "mtbench_singles": [
        "mtbench-questions",
        "mtbench-answers",
        "mtbench-votes",
        "fastchat-singles",
    ],
    "alpaca_outputs": ["alpaca-eval-outputs"],
    "alpaca_annotations": ["alpaca-eval"],
    "arena_battles": ["arena-battles"],
    "rewardbench": ["rewardbench"],
}
"""What is imported before, the peer's own file last."""


def take(path, slug, name="auto"):
    report = import_any(path=path, dataset_slug=slug, now=timezone.now(), format_name=name)
    assert report.faults == ()


def text_of(kind, slug, format_=ExportFormat.JSONL):
    return "".join(EXPORTS[kind].blocks(Dataset.objects.get(slug=slug), format_))


def rows_of(kind, slug="data"):
    return [json.loads(line) for line in text_of(kind, slug).splitlines()]


def golden(name):
    [path] = FOLDER.glob(f"{name}.*")
    return path


@pytest.mark.parametrize("kind", GOLDEN)
def test_a_peers_file_comes_back_with_the_same_rows_in_its_own_fields(tmp_path, kind):
    *before, own = GOLDEN[kind]
    for name in GOLDEN[kind]:
        take(golden(name), "data", name)
    path = tmp_path / "again.jsonl"
    path.write_text(text_of(kind, "data"), "utf-8")
    assert path.read_text("utf-8")
    assert {name for row in rows_of(kind) for name in row} <= set(EXPORTS[kind].columns)
    for name in before:
        take(golden(name), "fresh", name)
    take(path, "fresh", own)
    assert text_of(kind, "fresh") == text_of(kind, "data")
    heading = text_of(kind, "data", ExportFormat.CSV).splitlines()[0]
    assert tuple(heading.split(",")) == EXPORTS[kind].columns
    assert own in ALL_FORMATS


def judged(tmp_path, said, judge="gpt-4_pair"):
    """One comparison of m and n, judged as told: (order, verdict, log-odds) or (order, status)."""
    import_rows(tmp_path, pair(session="7"))
    dataset = Dataset.objects.get()
    run, base = make_run(dataset, judge=judge), make_preference(kind="EMPTY", text="")
    comparison = Comparison.objects.get()
    call = make_call(reply="its words")
    for order, word, *odds in said:
        state = {"verdict": word, "call": call, "log_odds": odds[0] if odds else None}
        if len(word) > 3:
            state = {"status": word, "error_code": "" if word == "PENDING" else "x", "raw": "?"}
        make_judgment(run, comparison, base, order=order, **state)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            [("ORIGINAL", "A"), ("SWAPPED", "TIE")],
            ("m", "n", "model_1", "tie", "its words", "its words"),
        ),
        ([("SWAPPED", "A")], ("n", "m", "model_2", None, "its words", None)),
        (
            [("ORIGINAL", "FAILED"), ("SWAPPED", "UNPARSEABLE")],
            ("m", "n", "error", "error", "$ERROR$", "?"),
        ),
        (
            [("ORIGINAL", "B"), ("SWAPPED", "PENDING")],
            ("m", "n", "model_2", None, "its words", None),
        ),
        ([("COMBINED", "A")], None),
    ],
)  # fmt: skip
def test_games_are_told_by_who_was_shown_first(tmp_path, said, told):
    judged(tmp_path, said)
    names = ("model_1", "model_2", "g1_winner", "g2_winner", "g1_judgment", "g2_judgment")
    rows = rows_of("mtbench_pairs")
    assert [tuple(map(row.get, names)) for row in rows] == ([] if told is None else [told])
    assert all((row["question_id"], row["judge"]) == (7, ["gpt-4", "pair"]) for row in rows)


@pytest.mark.parametrize(
    ("said", "preference"),
    [
        ([("COMBINED", "A")], 1),
        ([("COMBINED", "B")], 2),
        ([("ORIGINAL", "A"), ("SWAPPED", "B")], 1.5),
        ([("COMBINED", "TIE")], 1.5),
        ([("COMBINED", "A", log(3))], 1.25),
        ([("ORIGINAL", "A", log(3)), ("SWAPPED", "UNPARSEABLE")], 1.25),
        ([("COMBINED", "B", -5000.0)], 2),
        ([("COMBINED", "A", 5000.0)], 1),
        ([("COMBINED", "UNPARSEABLE")], None),
    ],
)
def test_a_preference_is_the_chance_of_the_second_output(tmp_path, said, preference):
    judged(tmp_path, said, judge="alpaca")
    [row] = rows_of("alpaca_annotations")
    assert (row["annotator"], row["output_1"], row["generator_2"]) == ("alpaca", "1", "n")
    assert row["preference"] == (None if preference is None else pytest.approx(preference))
    assert {row["judge"] for row in rows_of("mtbench_pairs")} <= {"alpaca"}


def test_a_judge_asked_by_several_prompts_is_as_many_judges(tmp_path):
    judged(tmp_path, [("ORIGINAL", "A"), ("SWAPPED", "A")], judge="gpt")
    judgments = list(Judgment.objects.order_by("pk"))
    ways = {"PAIRWISE": ["gpt", "pair"], "THOUGHT": "gpt_thought", "PERSONAL": "gpt"}
    for prompt, verdict in zip(ways, "BAA", strict=True):
        run = make_run(Dataset.objects.get(), judge="gpt", config={"prompt": prompt})
        for each in judgments:
            preference = each.preference
            make_judgment(run, each.comparison, preference, order=each.order, verdict=verdict)
    told = {str(row["judge"]): row["g1_winner"] for row in rows_of("mtbench_pairs")}
    winners = ("model_2", "model_1", "model_1")
    assert told == dict(zip(map(str, ways.values()), winners, strict=True))


@pytest.mark.parametrize(("again", "winner"), [("B", "model_2"), ("FAILED", "model_1")])
def test_of_several_runs_of_a_judge_the_last_that_has_a_verdict_is_told(tmp_path, again, winner):
    judged(tmp_path, [("ORIGINAL", "A"), ("SWAPPED", "A")], judge="gpt")
    run = make_run(Dataset.objects.get(), judge="gpt")
    state = {"verdict": again} if again == "B" else {"status": again, "error_code": "x"}
    for each in list(Judgment.objects.order_by("pk")):
        make_judgment(run, each.comparison, each.preference, order=each.order, **state)
    [row] = rows_of("mtbench_pairs")
    assert (row["g1_winner"], row["g2_winner"]) == (winner, winner)
    [row] = rows_of("alpaca_annotations")
    assert row["preference"] == (2 if again == "B" else 1)


def test_of_several_runs_that_graded_a_response_the_last_grade_is_told(tmp_path):
    for name in GOLDEN["mtbench_singles"]:
        take(golden(name), "data")
    told = rows_of("mtbench_singles")
    first = ResponseScore.objects.filter(value__isnull=False).order_by("pk").first()
    run = make_run(Dataset.objects.get(), judge=first.run.judge, config=first.run.config)
    ResponseScore.objects.create(
        run=run, response=first.response, scale=first.scale, status="DONE", value=1.0, raw="[[1]]"
    )
    again = rows_of("mtbench_singles")
    assert len(again) == len(told)
    assert [row["score"] for row in again if row["judgment"] == "[[1]]"] == [1]


def test_the_first_game_of_a_file_stays_the_first(tmp_path):
    """The models of a comparison stand by their names, those of a file as its games were played."""
    for name in GOLDEN["mtbench_pairs"][:2]:
        take(golden(name), "data")
    [row, *_others] = map(json.loads, golden("fastchat-pairs").read_text().splitlines())
    models = sorted((row["model_1"], row["model_2"]), reverse=True)
    played = {**row, "judge": ["gpt-4", "pair"], "model_1": models[0], "model_2": models[1]}
    path = tmp_path / "turned.jsonl"
    path.write_text(json.dumps(played))
    take(path, "data", "fastchat-pairs")
    [told] = rows_of("mtbench_pairs")
    assert {**played, **told} == played


def test_votes_of_the_arena_name_first_what_was_shown_first(tmp_path):
    import_rows(
        tmp_path,
        pair(session="k", comparison="c", shown_order="SWAPPED"),
        pair(session="k", comparison="c", annotator="bob", verdict="TIE", both_bad=True),
        pair(session="k", comparison="c", repeat=1, study="pilot"),
        pair(prompt="no text", text_b=None, verdict="B"),
    )
    names = ("question_id", "model_a", "model_b", "winner", "judge")
    told = [tuple(map(row.get, names)) for row in rows_of("arena_battles")]
    assert told[:2] == [
        ("k/1/c/ann", "n", "m", "model_b", "ann"),
        ("k/1/c/bob", "m", "n", "tie (bothbad)", "bob"),
    ]
    shown, _bob, without = rows_of("arena_battles")
    assert shown["conversation_a"] == [
        {"role": "user", "content": "p"},
        {"role": "assistant", "content": "2"},
    ]
    assert "conversation_a" not in without
    assert [row["winner"] for row in rows_of("mtbench_votes")] == ["model_a", "tie", "model_b"]


def test_gold_answers_are_chosen_and_rejected_with_all_that_was_said_before(tmp_path):
    turns = [
        {"user": "One?", "responses": [{"text": "1", "original": True}, {"text": "x"}]},
        {
            "user": "Two?",
            "responses": [{"id": "0", "model": "m", "text": "2"}, {"id": "1", "text": "3"}],
            "comparisons": [
                {"a": "0", "b": "1", "key": "c", "gold": [{"source": "MANAGER", "verdict": "B"}]},
                {"a": "1", "b": "0", "key": "d", "gold": [{"source": "MANAGER", "verdict": "TIE"}]},
            ],
        },
    ]
    session = {"type": "session", "key": "k", "scenario": "s", "system_prompt": "Be brief."}
    import_rows(tmp_path, {**session, "turns": turns})
    [row] = rows_of("rewardbench")
    assert [(each["role"], each["content"]) for each in row["prompt"]] == [
        ("system", "Be brief."),
        ("user", "One?"),
        ("assistant", "1"),
        ("user", "Two?"),
    ]
    assert (row["chosen"], row["rejected"], row["rejected_model"]) == ("3", "2", "m")
    assert (row["subset"], row["id"]) == ("s", "c")
    assert rows_of("alpaca_outputs") == []


@pytest.mark.parametrize("kind", GOLDEN)
def test_queries_do_not_grow_with_rows(tmp_path, kind, django_assert_max_num_queries):
    import_rows(tmp_path, *(pair(prompt=f"p{number}") for number in range(30)))
    with django_assert_max_num_queries(12):
        rows_of(kind)
