from __future__ import annotations

import pytest

from annotation.core.labelling import RatingTask
from annotation.models import Claim
from annotation.services.claims import next_task, own_task
from tests.annotation.labelling import NOW, make_pair_study, make_session_study
from tests.factory import (
    make_claim,
    make_comparison,
    make_item,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


def take(study, annotator):
    return next_task(study=study.slug, annotator=annotator, now=NOW)


def test_a_pair_is_shown_with_the_conversation_before_it():
    annotator = make_user()
    session = make_session(task_context="Plan a trip.", system_prompt="Be brief.")
    opening = make_turn(session, user_message="Where to?")
    make_response(opening, text="To Kunming.", original=True)
    make_response(opening, text="Elsewhere.")
    make_turn(session, user_message="And when?")  # unanswered
    final = make_turn(session, user_message="Say more.")
    study = make_study(session.dataset, annotators=[annotator])
    make_item(study, comparison=make_comparison(final))
    task = take(study, annotator)
    assert [(message.role, message.text) for message in task.dialogue] == [
        ("user", "Where to?"),
        ("assistant", "To Kunming."),
        ("user", "And when?"),
    ]
    assert (task.question, task.task_context, task.system_prompt) == (
        "Say more.",
        "Plan a trip.",
        "Be brief.",
    )
    assert task.first.earlier == task.second.earlier == ()


def test_responses_that_follow_different_lines_each_show_their_own():
    annotator = make_user()
    session = make_session()
    opening = make_turn(session, user_message="First question")
    line_a = make_response(opening, text="A's first", model="alpha")
    line_b = make_response(opening, text="B's first", model="beta")
    final = make_turn(session, user_message=None)
    comparison = make_comparison(
        final,
        response_a=make_response(final, text="A's second", model="alpha", continues=line_a),
        response_b=make_response(final, text="B's second", model="beta", continues=line_b),
    )
    study = make_study(session.dataset, annotators=[annotator])
    make_item(study, comparison=comparison)
    task = take(study, annotator)
    assert [message.text for message in task.dialogue] == ["First question"]
    shown = {task.first.text: task.first.earlier, task.second.text: task.second.earlier}
    assert shown == {"A's second": ("A's first",), "B's second": ("B's first",)}


def test_a_session_is_shown_along_its_original_line():
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    session = study.items.get().session
    make_response(session.turns.first(), text="never said")
    make_turn(session, user_message="Unanswered")
    task = take(study, annotator)
    assert isinstance(task, RatingTask)
    assert [turn.response for turn in task.turns] == ["Reply 1.", "Reply 2.", None]
    assert [turn.number for turn in task.ratable] == [1, 2]
    assert Claim.objects.get().shown_order is None


def test_what_is_not_available_of_a_line_is_left_out():
    annotator = make_user()
    session = make_session()
    opening = make_turn(session, user_message="First question")
    known = make_response(opening, text="Known", model="alpha")
    lost = make_response(opening, text=None, model="beta")
    middle = make_turn(session, user_message=None)
    onward = make_response(middle, text="Onward", model="alpha", continues=known)
    final = make_turn(session)
    comparison = make_comparison(
        final,
        response_a=make_response(final, text="A", model="alpha", continues=onward),
        response_b=make_response(final, text="B", model="beta", continues=lost),
    )
    study = make_study(session.dataset, annotators=[annotator])
    make_item(study, comparison=comparison)
    task = take(study, annotator)
    assert [message.text for message in task.dialogue] == ["First question"]
    shown = {task.first.text: task.first.earlier, task.second.text: task.second.earlier}
    assert shown == {"A": ("Known", "Onward"), "B": ()}


def test_an_item_that_counts_as_done_without_a_label_is_shown_without_an_answer():
    annotator = make_user()
    study = make_pair_study([annotator])
    item = study.items.get()
    make_claim(item, annotator, state="DONE", shown_order="ORIGINAL", finished_at=NOW)
    assert own_task(study=study.slug, item=item.pk, annotator=annotator, now=NOW).given is None
