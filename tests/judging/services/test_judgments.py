from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.questions import Call, PairAnswer
from judging.models import Judgment, LlmCall
from judging.services.foreground import run_to_end
from judging.services.judgments import JudgmentAnswer, plan_judgments, store_answers
from tests.factory import make_comparison, make_preference, make_response, make_run, make_turn
from tests.judging.study import FakeJudge, make_study, opener_of, start_test_run

pytestmark = pytest.mark.django_db


def judged(judge):
    dataset, rater = make_study(comparisons=4)
    run = start_test_run(dataset=dataset, annotator=rater, with_sets=False)
    run_to_end(run.pk, opener=opener_of(judge))
    return {
        (row.comparison_id, row.order): row
        for row in Judgment.objects.filter(run=run).select_related("comparison__response_a")
    }


def test_verdicts_and_odds_are_stored_in_the_comparisons_own_coordinates():
    rows = judged(FakeJudge())  # without a preference it names the first shown
    for (_, order), row in rows.items():
        assert row.verdict == ("A" if order == "ORIGINAL" else "B")
        assert row.log_odds == (1.5 if order == "ORIGINAL" else -1.5)
        assert (row.status, row.error_code, row.raw) == ("DONE", "", "because")


def test_the_swapped_order_shows_b_first():
    judge = FakeJudge()
    rows = judged(judge)
    shown = {(pair.first, pair.second) for pair, _ in judge.asked}
    for row in rows.values():
        texts = (row.comparison.response_a.text, row.comparison.response_b.text)
        assert {texts, texts[::-1]} <= shown


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (PairAnswer(None, error_code="llm:timeout", call=Call("slow")), "FAILED", "llm:timeout"),
        (
            PairAnswer(None, error_code="verdict:unparseable", unparseable=True, call=Call("slow")),
            "UNPARSEABLE",
            "verdict:unparseable",
        ),
    ],
)
def test_without_a_verdict_the_code_and_the_raw_text_are_kept(answer, status, code):
    for row in judged(FakeJudge(answer=lambda _pair, _preference: answer)).values():
        assert (row.status, row.error_code, row.raw, row.verdict) == (status, code, "slow", None)


def test_a_comparison_whose_text_went_away_fails_with_its_code():
    run = make_run(status="RUNNING")
    turn = make_turn()
    comparison = make_comparison(turn, response_a=make_response(turn, text=None))
    plan_judgments(run, [(comparison.pk, [make_preference().pk])])
    run_to_end(run.pk, opener=opener_of(FakeJudge()))
    assert set(run.judgments.values_list("error_code", flat=True)) == {"comparison:no-text"}


def test_a_stored_call_stands_for_the_raw_text_where_all_went_well():
    call = LlmCall.objects.create(key="k", base_url="http://x/v1", model="m", request={})
    run, comparison = make_run(), make_comparison()
    plan_judgments(run, [(comparison.pk, [make_preference().pk])])
    good, bad = run.judgments.order_by("pk")
    reply = Call(raw="text", call_key="k")
    store_answers(
        run,
        [
            JudgmentAnswer(good.pk, Order.ORIGINAL, PairAnswer(Verdict.B, call=reply)),
            JudgmentAnswer(
                bad.pk,
                Order.SWAPPED,
                PairAnswer(None, error_code="verdict:unparseable", unparseable=True, call=reply),
            ),
        ],
    )
    good.refresh_from_db()
    bad.refresh_from_db()
    assert (good.call, good.raw, good.verdict) == (call, "", "B")
    assert (bad.call, bad.raw, bad.status) == (call, "text", "UNPARSEABLE")


def test_an_answer_never_overwrites_another():
    run, comparison = make_run(), make_comparison()
    plan_judgments(run, [(comparison.pk, [make_preference().pk])])
    row = run.judgments.get(order="SWAPPED")
    for verdict in (Verdict.A, Verdict.B):
        store_answers(run, [JudgmentAnswer(row.pk, Order.SWAPPED, PairAnswer(verdict))])
    row.refresh_from_db()
    assert row.verdict == "B"  # the first answer, A as shown swapped
