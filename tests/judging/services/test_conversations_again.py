"""What a page of a live conversation sent comes once more: nothing happens, nothing is paid."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.core.assignment import SkipReason
from annotation.models import Claim, ClaimState
from annotation.services.claims import skip
from annotation.services.reassignment import release_claim
from judging.core.conversations import Ending
from judging.models import Conversation, ConversationMessage
from judging.services import conversations
from tests.factory import make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.talks import REQUIREMENTS, answer, begun, make_talk_study, say, talk

pytestmark = pytest.mark.django_db


@pytest.fixture
def llm():
    with FakeLlm() as server:
        yield server


def press(act, place, submission=None, **more):
    act(**place, submission=submission or uuid4(), now=timezone.now(), **more)


def fail(llm, place, text, submission=None):
    """Say something to which no reply comes."""
    llm.script.append(Act(status=400))
    said = say(place, text, submission=submission)
    answer()
    return said


def texts():
    return list(ConversationMessage.objects.order_by("position").values_list("text", flat=True))


def test_a_message_that_was_taken_back_is_not_sent_again(llm):
    _, place = talk(llm)
    submission = fail(llm, place, "Too long")
    press(conversations.withdraw, place)
    say(place, "Too long", submission=submission)
    assert texts() == []
    assert Conversation.objects.get().unsent == "Too long"
    say(place, "Shorter", submission=submission)  # other words are another message
    assert texts() == ["Shorter"]
    press(conversations.stop, place)
    answer()
    say(place, "Too long", submission=submission)
    assert texts() == ["Shorter"]


def test_a_message_that_was_taken_back_may_be_said_anew(llm):
    _, place = talk(llm)
    fail(llm, place, "Hello")
    press(conversations.withdraw, place)
    say(place, "Hello")
    assert texts() == ["Hello"]


def test_taking_back_again_leaves_a_later_message(llm):
    _, place = talk(llm)
    submission = uuid4()
    fail(llm, place, "First")
    press(conversations.withdraw, place, submission)
    fail(llm, place, "Second")
    press(conversations.withdraw, place, submission)
    assert texts() == ["Second"]


def test_trying_again_again_asks_no_model(llm):
    _, place = talk(llm)
    submission = uuid4()
    fail(llm, place, "Hello")
    llm.script.append(Act(status=400))
    press(conversations.retry, place, submission)
    assert answer().status == "FAILED"
    press(conversations.retry, place, submission)
    message = ConversationMessage.objects.get()
    assert (message.status, message.generation) == ("FAILED", 1)


def test_stopping_again_does_not_stop_a_later_reply(llm):
    _, place = talk(llm)
    submission = uuid4()
    say(place, "Hello")
    press(conversations.stop, place, submission)
    assert ConversationMessage.objects.get().stop_wanted
    ConversationMessage.objects.update(status="DONE", reply="Hi.")
    say(place, "And then?")
    press(conversations.stop, place, submission)
    assert not ConversationMessage.objects.get(text="And then?").stop_wanted


def test_ticks_that_come_again_do_not_undo_later_ones(llm):
    _, place = talk(llm, requirements=REQUIREMENTS)
    submission = uuid4()
    press(conversations.tick, place, submission, met=[1])
    press(conversations.tick, place, met=[1, 2])
    press(conversations.tick, place, submission, met=[1])
    assert Conversation.objects.get().requirements_met == [1, 2]


@pytest.mark.parametrize("name", ["message", "tick", "end"])
def test_what_comes_again_does_not_take_a_skipped_item_back(llm, name):
    _, place = talk(llm, "One.")
    submission = uuid4()

    def act():
        if name == "message":
            say(place, "Hello", submission=submission)
        elif name == "tick":
            press(conversations.tick, place, submission, met=[])
        else:
            conversations.end(**place, ending=Ending.SATISFIED, now=timezone.now())

    act()
    press(skip, place, reason=SkipReason.OTHER)
    act()
    assert Claim.objects.get().state == ClaimState.SKIPPED


def test_what_comes_again_after_the_end_or_a_manager_took_the_item_is_no_refusal(llm):
    study, place = talk(llm)
    submission = say(place, "Hello")
    manager = make_user(role="MANAGER")
    release_claim(study=study.slug, claim=Claim.objects.get().pk, by=manager, now=timezone.now())
    say(place, "Hello", submission=submission)
    assert Claim.objects.get().state == ClaimState.RELEASED


def test_one_id_in_two_conversations_is_two_messages(llm):
    people = [make_user(), make_user()]
    study = make_talk_study(people, overlap=2, base_urls=(llm.base_url,))
    submission = uuid4()
    for person in people:
        say(begun(study, person), "Hello", submission=submission)
    assert texts() == ["Hello", "Hello"]
