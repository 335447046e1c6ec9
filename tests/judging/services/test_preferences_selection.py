from __future__ import annotations

import pytest

from judging.core.matrix import read_matrix
from judging.core.questions import Outcome, PairAnswer
from judging.core.selection import assess
from judging.models import Judgment, Preference, PreferenceSet
from judging.services.foreground import run_to_end
from judging.services.selections import select_preferences
from tests.judging.study import (
    LONGER,
    SHORTER,
    FakeJudge,
    make_study,
    opener_of,
    start_distillation,
)

pytestmark = pytest.mark.django_db


def distil(judge, **study):
    dataset, rater = make_study(**study)
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical")
    return run_to_end(run.pk, opener=opener_of(judge))


def test_the_set_that_judges_like_the_annotator_is_stored_with_its_evidence():
    run = distil(FakeJudge(), comparisons=20)
    chosen = PreferenceSet.objects.get(run=run, control="NONE")
    # The rater likes the longer one: every distilled preference is right, the base judge in half
    # of the cases. One column is silent on its own pair (18 of 20), two together on none.
    assert [member.text for member in chosen.members.all()] == [LONGER, LONGER]
    assert (chosen.dev_accuracy, chosen.leave_one_out) == (1.0, 1.0)
    assert (len(chosen.rows), len(chosen.columns)) == (10, 12)
    assert chosen.selection["strategy"] == "best"
    assert chosen.selection["selected"] == [[1, 2]]
    assert chosen.annotator == run.annotator


def test_the_stored_matrix_is_a_matrix_file_that_gives_the_stored_selection():
    run = distil(FakeJudge(), comparisons=12)
    for chosen in PreferenceSet.objects.filter(run=run):
        found = assess(read_matrix(chosen.matrix).matrix)
        assert [list(some) for some in found.selection.selected] == chosen.selection["selected"]
        assert found.selection.accuracy == chosen.dev_accuracy
        if not chosen.draw:  # the control's further draws are selected without a null
            assert found.null is not None
            assert found.null.p_value == chosen.p_value


def test_the_control_is_selected_on_its_own_labels_and_columns():
    run = distil(FakeJudge(), comparisons=20)
    control = PreferenceSet.objects.get(run=run, control="SHUFFLED", draw=0)
    texts = set(
        Preference.objects.filter(pk__in=control.columns, kind="PAIR").values_list(
            "text", flat=True
        )
    )
    assert texts == {LONGER, SHORTER}
    plain = PreferenceSet.objects.get(run=run, control="NONE")
    assert control.columns[0] == plain.columns[0]
    # Half of the labels are flipped; the others' preferences are the annotator's own.
    assert len(set(control.columns[1:]).intersection(plain.columns)) == 5
    assert control.dev_accuracy is not None
    assert plain.dev_accuracy is not None
    assert control.dev_accuracy < plain.dev_accuracy


def test_a_preference_that_failed_is_a_column_without_verdicts():
    def distilled(pairs):
        return Outcome(None, error_code="llm:timeout") if len(pairs) > 1 else None

    run = distil(FakeJudge(distilled=distilled), comparisons=8)
    chosen = PreferenceSet.objects.get(run=run, control="NONE")
    assert [row[-1] for row in chosen.matrix["matrix_original"]] == [None] * 4
    assert Judgment.objects.filter(run=run, error_code="preference:missing").count() == 11 * 4 * 2
    assert run.status == "DONE"


def test_without_any_verdict_the_base_judge_stands_in_and_says_why():
    silent = FakeJudge(
        answer=lambda _pair, _preference: PairAnswer(
            None, error_code="verdict:unparseable", unparseable=True
        )
    )
    run = distil(silent)
    chosen = PreferenceSet.objects.get(run=run, control="NONE")
    assert chosen.selection["error_code"] == "selection:no-verdict"
    assert [member.kind for member in chosen.members.all()] == ["EMPTY"]
    assert (run.status, run.error_code) == ("FAILED", "verdict:unparseable")


def test_selecting_again_changes_nothing():
    run = distil(FakeJudge())
    before = list(PreferenceSet.objects.order_by("pk").values())
    select_preferences(run)
    assert list(PreferenceSet.objects.order_by("pk").values()) == before
