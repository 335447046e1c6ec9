"""How replies are written, and what becomes of them when something goes wrong."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.utils import timezone

from judging.models import Conversation, ConversationMessage, LlmCall
from judging.services import conversations
from judging.services.conversation_replies import Lines, Ticket, _fail, _take, _tell, write_reply
from tests.clock import PATIENCE
from tests.factory import make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.talks import answer, begun, make_talk_study, say, talk
from tests.llm_manners import manner_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def llm():
    with FakeLlm() as server:
        yield server


def test_the_model_is_sent_the_conversation_and_the_reply_is_kept(llm):
    setup = {"system_prompt": "Be brief.", "temperature": 0.3, "max_tokens": 77}
    talk(llm, "First.", "Second.", setup=setup)
    first, second = llm.bodies
    assert [each["content"] for each in second["messages"]] == [
        "Be brief.",
        "about First.",
        "First.",
        "about Second.",
    ]
    assert (first["temperature"], first["max_tokens"], first["stream"]) == (0.3, 77, True)
    message = ConversationMessage.objects.latest("pk")
    assert (message.status, message.reply, message.finish_reason) == ("DONE", "Second.", "stop")
    assert message.first_text_ms <= message.total_ms
    assert message.call.reply == "Second."
    assert message.call.output_tokens > 0


def test_reasoning_is_neither_shown_nor_kept_as_the_reply(llm):
    talk(llm, "<think>hm</think>Yes.")
    message = ConversationMessage.objects.get()
    assert (message.reply, message.call.reasoning) == ("Yes.", "hm")


@pytest.mark.parametrize(
    ("acts", "code"),
    [
        ([Act(status=503)] * 3, "llm:unavailable"),
        ([Act(status=429, headers={"Retry-After": "0"})] * 3, "llm:rate-limited"),
        ([Act(raw=b"{")] * 3, "llm:malformed"),
        ([Act(raw=b"<html>")], "llm:no-api"),
        ([Act(text="half a reply", breaks_after=1)] * 3, "llm:unavailable"),
        ([Act(status=401)], "llm:refused-key"),
        ([Act(status=400)], "llm:bad-request"),
        ([Act(text="")], "llm:no-answer"),
    ],
)
def test_what_goes_wrong_is_kept_with_its_code_and_can_be_tried_again(llm, acts, code):
    _, place = talk(llm)
    say(place, "Hello")
    llm.script.extend([*acts, Act(text="There you are.")])
    message = answer()
    assert (message.status, message.error_code, message.reply) == ("FAILED", code, "")
    assert message.text == "Hello"
    conversations.retry(**place, submission=uuid4(), now=timezone.now())
    message = answer()
    assert (message.status, message.error_code, message.reply) == ("DONE", "", "There you are.")
    assert ConversationMessage.objects.count() == 1


def test_a_reply_that_breaks_off_is_asked_for_again_by_itself(llm):
    _, place = talk(llm)
    say(place, "Hello")
    llm.script.extend([Act(text="half a reply", breaks_after=1), Act(text="A whole one.")])
    assert answer().reply == "A whole one."


@pytest.mark.parametrize("name", ["new-limit", "no-system-500", "no-stream-options"])
def test_a_conversation_is_held_the_way_the_endpoint_takes(llm, name):
    _, place = talk(llm, setup={"system_prompt": "Be brief."})
    llm.manner = manner_of(name)
    say(place, "Hello")
    assert answer().reply == "ok"
    calls = llm.stats()["calls"]
    say(place, "And then?")
    assert answer().reply == "ok"
    assert llm.stats()["calls"] == calls + 1
    assert len(Conversation.objects.get().endpoint.lessons) == 1


def test_an_endpoint_that_cannot_be_used_says_so(llm):
    _, place = talk(llm)
    Conversation.objects.get().endpoint.__class__.objects.update(base_url="ftp://x")
    say(place, "Hello")
    assert answer().error_code == "llm:bad-endpoint"


def test_two_people_who_say_the_same_get_a_reply_each(llm):
    people = [make_user(), make_user()]
    study = make_talk_study(people, base_urls=(llm.base_url,), overlap=2)
    llm.script.extend([Act(text="For one."), Act(text="For the other.")])
    replies = []
    for person in people:
        say(begun(study, person), "The same words")
        replies.append(answer().reply)
    assert replies == ["For one.", "For the other."]
    assert LlmCall.objects.count() == 2


def test_a_reply_that_was_paid_for_is_not_paid_for_again_after_a_crash(llm):
    talk(llm, "Paid for.")
    stale = timezone.now() - timedelta(minutes=1)
    ConversationMessage.objects.update(status="WRITING", reply="Pai", heartbeat_at=stale)
    conversations.follow(ConversationMessage.objects.get(), timezone.now())
    message = answer()
    assert (message.status, message.reply, message.generation) == ("DONE", "Paid for.", 1)
    assert llm.stats()["calls"] == 1


def test_a_reply_is_asked_for_anew_only_where_its_writer_is_silent(llm):
    _, place = talk(llm)
    say(place, "Hello")
    now = timezone.now()
    message = ConversationMessage.objects.get()
    conversations.follow(message, now)
    assert ConversationMessage.objects.get().generation == 0
    for _caller in range(2):
        conversations.follow(ConversationMessage.objects.get(), now + timedelta(seconds=11))
    conversations.follow(message, now + timedelta(seconds=11))  # knows an older generation
    assert ConversationMessage.objects.get().generation == 1


def stopped(llm, act, when):
    """The message after it was stopped while its reply was written."""
    _, place = talk(llm)
    say(place, "Hello")
    llm.script.append(act)
    message = ConversationMessage.objects.get()

    async def write():
        lines = Lines()
        writing = asyncio.create_task(write_reply(Ticket(message.pk, 0), lines))
        async with asyncio.timeout(PATIENCE):
            while not await ConversationMessage.objects.filter(**when).aexists():
                await asyncio.sleep(0.02)
        await sync_to_async(conversations.stop)(**place, submission=uuid4(), now=timezone.now())
        await writing
        await lines.close()

    async_to_sync(write)()
    message.refresh_from_db()
    return message


def test_what_had_come_of_a_stopped_reply_is_the_reply(llm):
    act = Act(text="Two days in Kyoto and much more.", stalls_after=1)
    message = stopped(llm, act, {"reply__startswith": "Two"})
    assert message.status == "STOPPED"
    assert act.text.startswith(message.reply)
    assert len(message.reply) < len(act.text)
    assert message.call.finish_reason == "stopped"


def test_a_reply_stopped_before_it_began_can_be_tried_again(llm):
    message = stopped(llm, Act(text="Late.", delay=PATIENCE), {"status": "WRITING"})
    assert (message.status, message.error_code) == ("FAILED", "conversation:stopped")


def test_a_writer_that_was_taken_for_dead_writes_nothing(llm):
    _, place = talk(llm)
    say(place, "Hello")
    old = ConversationMessage.objects.get()
    ConversationMessage.objects.update(generation=1)
    ticket = Ticket(old.pk, 0)
    assert _take(ticket) is None
    ConversationMessage.objects.update(status="WRITING")
    assert _tell(ticket, "old") is None
    _fail(ticket, "llm:timeout", "")
    message = ConversationMessage.objects.get()
    assert (message.status, message.reply) == ("WRITING", "")
