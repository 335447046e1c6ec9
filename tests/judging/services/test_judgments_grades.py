from __future__ import annotations

import pytest

from annotation.core.choices import JudgmentStatus
from annotation.models import Comparison, Response, Session
from judging.core.questions import Outcome
from judging.core.rules import JudgePrompt
from judging.models import JudgeRun, Judgment, ResponseScore
from judging.queries.run_pages import comparison_page
from judging.queries.runs import run_progress
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.judgments import compare_grades
from judging.services.run_control import reset_failed
from tests.factory import make_endpoint, make_rater
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import FakeJudge, make_study, opener_of, planned_test, start_test_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    """Six pairs, three of them in the test part, of different texts."""
    dataset, rater = make_study(comparisons=3)
    for response in Response.objects.all():
        response.text = f"{response.text} " * (9 if len(response.text or "") > 10 else 1)
        response.text += str(response.pk)
        response.save()
    return {"dataset": dataset, "annotator": rater, "with_sets": False}


def endpoint(server):
    return make_endpoint(base_url=server.base_url).name


def test_a_graded_run_scores_each_response_once_and_compares(study):
    with FakeLlm(rule="longer") as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        before = estimate(planned_test(**asked))
        run = run_to_end(start_test_run(**asked).pk)
        calls = server.stats()["calls"]
    assert (run.kind, run.status) == ("GRADE", "DONE")
    assert before.calls == calls == 6
    scores = ResponseScore.objects.filter(run=run)
    assert {(row.scale, row.status) for row in scores} == {("1-10", "DONE")}
    judged = Judgment.objects.filter(run=run).select_related("comparison")
    assert {row.order for row in judged} == {"COMBINED"}
    for row in judged:
        longer = len(row.comparison.response_a.text) > len(row.comparison.response_b.text)
        assert row.verdict == ("A" if longer else "B")
    stages = {stage.stage.value: stage.done for stage in run_progress(run.pk).stages}
    assert stages == {"grade": 6, "judge": 3}
    assert run.config["prompt"] == "SINGLE"
    assert "grade_generic.v1.zh" in run.config["judge"]["prompts"]


def test_equal_grades_are_a_tie(study):
    with FakeLlm(script=[Act(text="[[7]]")] * 6) as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        run = run_to_end(start_test_run(**asked).pk)
    assert {row.verdict for row in Judgment.objects.filter(run=run)} == {"TIE"}


def test_what_failed_is_asked_again_and_the_verdict_follows(study):
    with FakeLlm(script=[Act(status=400)]) as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        run = run_to_end(start_test_run(**asked).pk)
        broken = Judgment.objects.get(run=run, status="FAILED")
        assert broken.error_code == "llm:bad-request"
        assert reset_failed(run.pk) == 1
        run = run_to_end(run.pk)
        assert server.stats()["calls"] == 7
    broken.refresh_from_db()
    assert (broken.status, broken.error_code) == ("DONE", "")
    before = list(Judgment.objects.order_by("pk").values_list("pk", "verdict", "status"))
    compare_grades(run)
    assert list(Judgment.objects.order_by("pk").values_list("pk", "verdict", "status")) == before


def test_an_unreadable_grade_leaves_an_unreadable_verdict(study):
    class Mumbler(FakeJudge):
        async def grade(self, question):
            if "Short" in question.response:
                return Outcome(None, "score:unparseable", unparseable=True)
            return await super().grade(question)

    with FakeLlm() as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        run = run_to_end(start_test_run(**asked).pk, opener=opener_of(Mumbler()))
    rows = Judgment.objects.filter(run=run)
    assert {(row.status, row.error_code) for row in rows} == {
        (JudgmentStatus.UNPARSEABLE.value, "score:unparseable")
    }


def test_a_text_that_is_gone_has_no_grade(study):
    with FakeLlm() as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        run = start_test_run(**asked)
        graded = ResponseScore.objects.filter(run=run).order_by("pk").first()
        Response.objects.filter(pk=graded.response_id).update(text=None)
        run_to_end(run.pk)
    graded.refresh_from_db()
    assert (graded.status, graded.error_code) == ("FAILED", "comparison:no-text")


def test_a_reference_answer_reaches_the_judge(study):
    Session.objects.update(extra={"reference": ["a correct answer"]})
    with FakeLlm() as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.REFERENCE}
        run = run_to_end(start_test_run(**asked).pk)
        said = [body["messages"][-1]["content"] for body in server.bodies]
    assert (run.kind, run.status, len(said)) == ("TEST", "DONE", 6)
    assert all("<reference>\na correct answer\n</reference>" in text for text in said)
    assert {row.order for row in Judgment.objects.filter(run=run)} == {"ORIGINAL", "SWAPPED"}
    page = comparison_page(run.pk, Judgment.objects.filter(run=run).first().comparison_id)
    assert page.rubric
    assert page.grades == ()


def test_a_graded_comparison_shows_both_grades(study):
    with FakeLlm() as server:
        asked = {**study, "judge": endpoint(server), "prompt": JudgePrompt.SINGLE}
        run = run_to_end(start_test_run(**asked).pk)
    comparison = Comparison.objects.filter(judgments__run=run).first()
    first, second = comparison_page(run.pk, comparison.pk).grades
    assert (first.response_id, second.response_id) == (
        comparison.response_a_id,
        comparison.response_b_id,
    )
    assert "[[" in first.call.reply


def test_what_cannot_be_asked_is_refused(study):
    with refuses("judge:no-prompts"):
        start_test_run(**study, judge="lexical", prompt=JudgePrompt.PAIRWISE)
    name = make_endpoint().name
    with refuses("run:no-references"):
        start_test_run(**study, judge=name, prompt=JudgePrompt.SINGLE_REFERENCE)
    other = make_rater(study["dataset"], "bea")
    with refuses("run:prompt-without-sets"):
        start_test_run(**study, judge=name, prompt=JudgePrompt.PAIRWISE, sets_of=other)
    assert not JudgeRun.objects.exists()
