from __future__ import annotations

import pytest

from judging.core.questions import Call, Outcome
from judging.models import LlmCall, Preference
from judging.services import runs
from judging.services.batches import IdRange, RowAnswer
from judging.services.preferences import (
    empty_preference,
    load_questions,
    store_preferences,
)
from tests.judging.study import (
    LONGER,
    FakeJudge,
    dispatched,
    make_study,
    opener_of,
    start_distillation,
)

pytestmark = pytest.mark.django_db


def started(**study):
    dataset, rater = make_study(**study)
    return start_distillation(dataset=dataset, annotator=rater, judge="lexical")


def questions(run):
    ids = list(run.preferences.order_by("pk").values_list("pk", flat=True))
    return load_questions(run, IdRange(ids[0], ids[-1]))


def test_the_distiller_sees_chosen_and_rejected_and_no_name_of_a_model():
    run = started()
    first, *_, last = questions(run)[:4]
    (pair,) = first.pairs
    assert (pair.chosen, pair.rejected) == ("A long and thorough answer.", "Short.")
    assert len(last.pairs) == 3  # the aggregate
    assert "model-" not in repr((first.pairs, last.pairs))


def test_flipped_labels_turn_chosen_and_rejected():
    run = started(comparisons=20)
    by_id = {question.row_id: question for question in questions(run)}
    pairs = run.preferences.filter(kind="PAIR")
    for real in pairs.filter(control="NONE"):
        control = pairs.get(control="SHUFFLED", source_comparison=real.source_comparison)
        (kept,), (flipped,) = by_id[real.pk].pairs, by_id[control.pk].pairs
        same = real.source_verdict == control.source_verdict
        assert (kept == flipped) is same
        assert {kept.chosen, kept.rejected} == {flipped.chosen, flipped.rejected}


def test_texts_are_stored_with_the_judge_and_the_language():
    run = started()
    batch = dispatched(run).batches[0]
    runs.run_batch(run.pk, 1, batch, opener=opener_of(FakeJudge()))
    first = run.preferences.order_by("pk").first()
    assert (first.status, first.text, first.judge, first.language, first.raw) == (
        "DONE",
        LONGER,
        "lexical",
        "en",
        "en",
    )


def test_a_failed_distillation_keeps_its_code_and_the_raw_text():
    run = started()
    call = LlmCall.objects.create(key="k", base_url="http://x/v1", model="m", request={})
    row = run.preferences.order_by("pk").first()
    answer = Outcome(None, "preference:empty", call=Call(raw="??", call_key="k"))
    store_preferences(run, [RowAnswer(row.pk, answer)])
    row.refresh_from_db()
    assert (row.status, row.error_code, row.raw, row.text) == (
        "FAILED",
        "preference:empty",
        "??",
        None,
    )
    assert row.call == call


def test_texts_that_went_away_are_a_failure_of_their_own():
    run = started()
    for preference in run.preferences.filter(kind="PAIR"):
        response = preference.source_comparison.response_a
        response.text = None
        response.save()
    batch = dispatched(run).batches[0]
    runs.run_batch(run.pk, 1, batch, opener=opener_of(FakeJudge()))
    codes = set(run.preferences.values_list("error_code", flat=True))
    assert codes == {"preference:no-pairs"}


def test_there_is_one_empty_preference():
    assert empty_preference() == empty_preference()
    assert Preference.objects.get().text == ""
