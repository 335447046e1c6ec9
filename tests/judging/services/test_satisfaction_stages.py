"""A satisfaction run step by step, with a judge that is a plain object and writes what it read."""

import asyncio
from dataclasses import asdict, dataclass, field
from typing import Any

import pytest

from annotation.core.choices import JudgmentStatus, Reason
from annotation.models import SatisfactionLabel
from judging.core.questions import Call, MemoryQuestion, Outcome, TurnAnswer, TurnQuestion
from judging.models import LlmCall, RunKind, SatisfactionJudgment, UserMemory
from judging.services.batches import IdRange
from judging.services.memories import MEMORY_STAGE, revise_memory
from judging.services.satisfaction import CALIBRATE_STAGE, SCORE_STAGE, write_satisfaction
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_run,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.judging.core.test_memory import make_texts

pytestmark = pytest.mark.django_db

EVERY_ROW = IdRange(0, 2**31)


@dataclass
class ScriptedJudge:
    """Answers from two scripts and keeps every question."""

    texts: dict[str, Any] | None = field(default_factory=make_texts)
    scores: dict[str, Any] = field(default_factory=dict)
    memory_questions: list[MemoryQuestion] = field(default_factory=list)
    turn_questions: list[TurnQuestion] = field(default_factory=list)
    name: str = "scripted"

    async def build_memory(self, question):
        self.memory_questions.append(question)
        if self.texts is None:
            return Outcome(None, "memory:unparseable", unparseable=True, call=Call(raw="?"))
        cited = self.texts | {
            "scoring_style": {"text": "Strict.", "turn_ids": [question.history[0].turn_id, "x"]}
        }
        return Outcome(cited, call=Call(raw="{}"))

    async def score_turn(self, question):
        self.turn_questions.append(question)
        answer = self.scores.get(question.response, 4)
        if isinstance(answer, TurnAnswer):
            return answer
        reason = Reason.UNUSABLE if answer < 4 else None
        return TurnAnswer(answer, reason, "Because.", expected_score=answer + 0.25)


def do(stage, run, judge):
    """Ask every pending row of a stage and store the answers, as the engine does."""

    async def ask_all(questions):
        return [await stage.ask(judge, question) for question in questions]

    stage.store(run, asyncio.run(ask_all(stage.load(run, EVERY_ROW))))


def run_through(run, judge):
    do(MEMORY_STAGE, run, judge)
    do(SCORE_STAGE, run, judge)
    CALIBRATE_STAGE.compute(run)


@pytest.fixture
def dataset():
    return make_dataset()


def rate(user, scenario, scores):
    """One session a call, one turn a score; responses are named after scenario and place."""
    session = make_session(scenario, task_context=f"task of {scenario.name}")
    for at, score in enumerate(scores):
        response = make_response(
            make_turn(session), text=f"{user} {scenario.name} {at}", original=True
        )
        make_rating(
            response,
            annotator=user,
            score=score,
            reason="INSUFFICIENT_DIVERSITY" if score < 4 else None,
        )


@pytest.fixture
def ann(dataset):
    """Ann rated travel 5 4 3 and gifts 5 5 4 4 3 2."""
    user = make_user(username="ann")
    rate(user, make_scenario(dataset, name="travel", position=0), [5, 4, 3])
    rate(user, make_scenario(dataset, name="gifts", position=1), [5, 5, 4, 4, 3, 2])
    return user


def make_satisfaction_run(dataset, **config):
    return make_run(dataset, kind=RunKind.SATISFACTION, config=config)


def test_a_run_writes_its_rows_block_by_block(dataset, ann):
    run = make_satisfaction_run(dataset)
    assert write_satisfaction(run) == 9
    memories = UserMemory.objects.filter(run=run).order_by("pk")
    assert [(m.target_scenario.name, m.status, m.language) for m in memories] == [
        ("travel", "PENDING", "en"),
        ("gifts", "PENDING", "en"),
    ]
    rows = SatisfactionJudgment.objects.filter(run=run).order_by("pk")
    assert [row.memory_id for row in rows] == [memories[0].pk] * 3 + [memories[1].pk] * 6
    assert {row.status for row in rows} == {"PENDING"}


def test_planning_many_users_takes_few_queries(dataset, ann, django_assert_max_num_queries):
    for _ in range(5):
        rate(make_user(), dataset.scenarios.get(name="travel"), [4, 4])
    run = make_satisfaction_run(dataset)
    with django_assert_max_num_queries(10):
        write_satisfaction(run)


def test_a_run_of_one_annotator_is_about_their_turns(dataset, ann):
    rate(make_user(), dataset.scenarios.get(name="travel"), [4, 4])
    assert write_satisfaction(make_satisfaction_run(dataset)) == 11
    run = make_run(dataset, kind=RunKind.SATISFACTION, annotator=ann)
    assert write_satisfaction(run) == 9


def test_memories_have_statistics_by_code_and_texts_by_the_judge(dataset, ann):
    run, judge = make_satisfaction_run(dataset), ScriptedJudge()
    write_satisfaction(run)
    do(MEMORY_STAGE, run, judge)
    memory = UserMemory.objects.get(run=run, target_scenario__name="travel")
    assert memory.status == JudgmentStatus.DONE
    assert memory.statistics["counts"] == [0, 1, 1, 2, 2]
    assert memory.statistics["mean"] == pytest.approx(23 / 6)
    history = judge.memory_questions[0].history
    assert memory.texts["scoring_style"] == {"text": "Strict.", "turn_ids": [history[0].turn_id]}
    assert memory.evidence["unknown_citations"] == 5  # "x", and t1, t2, t2, t3 of the texts
    assert memory.evidence["by_score"]["2"] == [history[5].turn_id]


def test_nothing_of_the_target_scenario_reaches_the_judge(dataset, ann):
    """Labels of the target are sentinels: 1 and UNUSABLE, which appear nowhere else."""
    travel = dataset.scenarios.get(name="travel")
    SatisfactionLabel.objects.filter(response__turn__session__scenario=travel).update(
        score=1, reason="UNUSABLE"
    )
    run, judge = make_satisfaction_run(dataset), ScriptedJudge()
    write_satisfaction(run)
    run_through(run, judge)
    (memory_question,) = (one for one in judge.memory_questions if one.target_scenario == "travel")
    turn_questions = [one for one in judge.turn_questions if "travel" in one.response]
    asked = [asdict(memory_question), *(asdict(one) for one in turn_questions)]
    assert len(asked) == 4
    assert all(turn.scenario == "gifts" for turn in memory_question.history)
    assert "UNUSABLE" not in repr(asked)
    assert turn_questions[0].memory_content["statistics"]["counts"] == [0, 1, 1, 2, 2]
    memory = UserMemory.objects.get(run=run, target_scenario=travel)
    assert "UNUSABLE" not in repr((memory.statistics, memory.texts, memory.evidence))
    assert "1" not in memory.evidence["by_score"]


def test_turns_are_scored_under_their_blocks_memory(dataset, ann):
    run, judge = make_satisfaction_run(dataset), ScriptedJudge(scores={"ann travel 2": 2})
    write_satisfaction(run)
    run_through(run, judge)
    row = SatisfactionJudgment.objects.get(run=run, response__text="ann travel 2")
    assert (row.status, row.score, row.reason) == ("DONE", 2, "UNUSABLE")
    assert (row.expected_score, row.analysis) == (2.25, "Because.")
    question = next(q for q in judge.turn_questions if q.response == "ann travel 2")
    assert "Scoring style: Strict." in question.memory
    assert question.task_context == "task of travel"


def test_calibration_maps_each_block_to_the_users_own_scale(dataset, ann):
    """Travel raw 5 4 1 by history 2 3 4 4 5 5 (gifts): q 5/6, 1/2, 1/6 of 6: 5, 4, 2.

    F(2) = 1/6, F(3) = 1/3, F(4) = 2/3, F(5) = 1. Gifts raw 4 six times: q = 1/2 of travel 3 4 5,
    but three turns of history are too few, so the raw score stands.
    """
    judge = ScriptedJudge(scores={"ann travel 0": 5, "ann travel 2": 1})
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    run_through(run, judge)
    rows = SatisfactionJudgment.objects.filter(run=run).order_by("pk")
    found = [(row.calibrated, row.calibration, row.fallback_reason) for row in rows]
    assert found[:3] == [(5, "CDF", ""), (4, "CDF", ""), (2, "CDF", "")]
    assert set(found[3:]) == {(4, "CDF", "SHORT_HISTORY")}


def test_calibrating_again_and_later_labels_change_nothing(dataset, ann):
    run, judge = make_satisfaction_run(dataset), ScriptedJudge(scores={"ann travel 0": 5})
    write_satisfaction(run)
    run_through(run, judge)
    before = list(SatisfactionJudgment.objects.filter(run=run).values_list("pk", "calibrated"))
    SatisfactionLabel.objects.update(score=1, reason="OTHER")
    CALIBRATE_STAGE.compute(run)
    assert before == list(
        SatisfactionJudgment.objects.filter(run=run).values_list("pk", "calibrated")
    )


def test_other_calibrations(dataset, ann):
    judge = ScriptedJudge(scores={"ann travel 0": 5, "ann travel 1": 5, "ann travel 2": 4})
    for calibration, expected in (("RAW", [5, 5, 4]), ("MEAN_SHIFT", [4, 4, 3])):
        # Mean of gifts 23/6, of the block 14/3: shift -5/6.
        run = make_satisfaction_run(dataset, calibration=calibration)
        write_satisfaction(run)
        run_through(run, judge)
        rows = SatisfactionJudgment.objects.filter(run=run).order_by("pk")
        assert [row.calibrated for row in rows[:3]] == expected
        assert {row.calibration for row in rows} == {calibration}


def test_the_no_memory_judge_sees_no_memory_and_is_calibrated_all_the_same(dataset, ann):
    run = make_satisfaction_run(dataset, with_memory=False)
    judge = ScriptedJudge(scores={"ann travel 0": 5, "ann travel 2": 1})
    write_satisfaction(run)
    run_through(run, judge)
    assert judge.memory_questions == []
    assert {question.memory for question in judge.turn_questions} == {""}
    rows = SatisfactionJudgment.objects.filter(run=run).order_by("pk")[:3]
    assert [row.calibrated for row in rows] == [5, 4, 2]


def test_a_user_of_one_scenario_is_scored_without_memory(dataset):
    user = make_user(username="one")
    rate(user, make_scenario(dataset, name="only"), [4, 5])
    run, judge = make_satisfaction_run(dataset), ScriptedJudge()
    write_satisfaction(run)
    run_through(run, judge)
    assert not UserMemory.objects.filter(run=run).exists()
    rows = SatisfactionJudgment.objects.filter(run=run)
    assert {(row.calibrated, row.fallback_reason) for row in rows} == {(4, "NO_HISTORY")}


def test_a_memory_that_cannot_be_read_fails_its_turns_and_no_others(dataset, ann):
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    do(MEMORY_STAGE, run, ScriptedJudge(texts=None))
    memory = UserMemory.objects.get(run=run, target_scenario__name="travel")
    assert (memory.status, memory.error_code, memory.raw) == (
        "UNPARSEABLE",
        "memory:unparseable",
        "?",
    )
    assert (memory.texts, memory.statistics["turns"]) == ({}, 6)
    judge = ScriptedJudge()
    do(SCORE_STAGE, run, judge)
    CALIBRATE_STAGE.compute(run)
    assert judge.turn_questions == []
    rows = SatisfactionJudgment.objects.filter(run=run)
    assert {(row.status, row.error_code, row.calibrated) for row in rows} == {
        ("FAILED", "memory:missing", None)
    }


def test_texts_of_another_form_are_unparseable(dataset, ann):
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    do(MEMORY_STAGE, run, ScriptedJudge(texts={"scoring_style": "Strict."}))
    assert set(UserMemory.objects.filter(run=run).values_list("status", "error_code")) == {
        ("UNPARSEABLE", "memory:unparseable")
    }


def test_unparseable_scores_stay_without_score_and_out_of_calibration(dataset, ann):
    lost = TurnAnswer(None, error_code="score:unparseable", unparseable=True, call=Call(raw="six"))
    judge = ScriptedJudge(scores={"ann travel 0": 5, "ann travel 1": lost})
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    run_through(run, judge)
    rows = SatisfactionJudgment.objects.filter(run=run).order_by("pk")[:3]
    # Block 5, 4: q = 3/4 and 1/4 of 2 3 4 4 5 5.
    assert [(row.status, row.score, row.calibrated) for row in rows] == [
        ("DONE", 5, 5),
        ("UNPARSEABLE", None, None),
        ("DONE", 4, 3),
    ]
    assert (rows[1].error_code, rows[1].raw) == ("score:unparseable", "six")


def test_the_call_behind_an_answer_is_kept(dataset, ann):
    call = LlmCall.objects.create(key="k" * 64, base_url="http://x", model="m", request={})
    answer = TurnAnswer(4, call=Call(raw="text", call_key="k" * 64))
    run = make_satisfaction_run(dataset, with_memory=False)
    write_satisfaction(run)
    do(SCORE_STAGE, run, ScriptedJudge(scores={"ann travel 0": answer}))
    row = SatisfactionJudgment.objects.get(run=run, response__text="ann travel 0")
    assert (row.call, row.raw) == (call, "")


def test_a_label_taken_back_leaves_its_turn_unscored(dataset, ann):
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    SatisfactionLabel.objects.filter(response__turn__session__scenario__name="travel").delete()
    judge = ScriptedJudge()
    run_through(run, judge)
    assert len(judge.memory_questions) == 0
    assert set(
        UserMemory.objects.filter(run=run).values_list("target_scenario__name", "error_code")
    ) == {("travel", "memory:no-history"), ("gifts", "memory:no-history")}
    rows = SatisfactionJudgment.objects.filter(run=run, response__text__contains="travel")
    assert {row.error_code for row in rows} == {"score:no-turn"}


def test_answered_rows_are_asked_once(dataset, ann):
    run, judge = make_satisfaction_run(dataset), ScriptedJudge()
    write_satisfaction(run)
    run_through(run, judge)
    asked = len(judge.turn_questions)
    run_through(run, judge)
    assert len(judge.turn_questions) == asked == 9
    assert len(judge.memory_questions) == 2


def test_a_range_is_all_that_is_loaded(dataset, ann):
    run = make_satisfaction_run(dataset)
    write_satisfaction(run)
    first, *_ = SatisfactionJudgment.objects.filter(run=run).order_by("pk")
    assert [task.row_id for task in SCORE_STAGE.load(run, IdRange(first.pk, first.pk))] == [
        first.pk
    ]


def test_a_run_can_judge_with_the_memories_of_another(dataset, ann):
    earlier, judge = make_satisfaction_run(dataset), ScriptedJudge()
    write_satisfaction(earlier)
    do(MEMORY_STAGE, earlier, judge)
    built = UserMemory.objects.get(run=earlier, target_scenario__name="travel")
    edited = revise_memory(built, edit=edit_of(built, "Very strict."), editor=ann)
    later = make_satisfaction_run(dataset, memories_of=earlier.pk)
    write_satisfaction(later)
    again = ScriptedJudge()
    run_through(later, again)
    assert again.memory_questions == []
    copied = UserMemory.objects.get(run=later, target_scenario__name="travel")
    assert (copied.version, copied.previous, copied.edited_by) == (1, edited, ann)
    assert any("Very strict." in question.memory for question in again.turn_questions)


def edit_of(memory, scoring_style):
    from dataclasses import replace

    from judging.core.memory_parsing import memory_from_content, plain

    stored = memory_from_content({"statistics": memory.statistics, "texts": memory.texts})
    return replace(plain(stored.texts), scoring_style=scoring_style)
