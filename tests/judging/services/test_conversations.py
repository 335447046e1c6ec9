"""What a participant does in a conversation; the model is a loopback server."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.core.assignment import SkipReason
from annotation.core.labelling import ConversationTask, Rating, RatingTask
from annotation.core.refusals import Refused
from annotation.exports import SATISFACTION, SESSIONS
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Claim,
    ClaimState,
    Response,
    Session,
)
from annotation.services.claims import RefusalCode, next_task, own_task, release_claims, skip
from annotation.services.labels import rate_session
from judging.core.conversations import Ending
from judging.models import Conversation, ConversationMessage
from judging.services import conversations
from tests.annotation.labelling import make_session_study
from tests.factory import make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.talks import REQUIREMENTS, answer, begun, make_talk_study, say, talk
from tests.refusals import refusal

pytestmark = pytest.mark.django_db


@pytest.fixture
def llm():
    with FakeLlm() as server:
        yield server


def end(place, ending=Ending.SATISFIED):
    conversations.end(**place, ending=ending, now=timezone.now())


def test_an_item_to_talk_about_comes_before_its_ratings():
    annotator = make_user()
    study = make_talk_study([annotator], requirements=REQUIREMENTS, min_turns=2)
    task = next_task(study=study.slug, annotator=annotator, now=timezone.now())
    assert isinstance(task, ConversationTask)
    assert (task.task_context, task.requirements) == ("Plan trip 1.", tuple(REQUIREMENTS))
    assert (task.min_turns, task.place.scenario, task.place.answered) == (2, "Travel", False)


def test_a_message_sent_five_times_is_stored_once(llm):
    _, place = talk(llm)
    submission = uuid4()
    for _ in range(5):
        say(place, "Hello", submission=submission)
    assert ConversationMessage.objects.count() == 1
    answer()
    say(place, "Hello", submission=submission)
    assert ConversationMessage.objects.count() == 1


def test_other_words_under_the_same_submission_are_another_message(llm):
    _, place = talk(llm)
    submission = say(place, "Hello")
    assert refusal(say, place, "Hello, and more", submission=submission) == (
        "conversation:reply-pending"
    )
    answer()
    for _ in range(2):
        say(place, "Hello, and more", submission=submission)
    said = ConversationMessage.objects.order_by("position").values_list("text", flat=True)
    assert list(said) == ["Hello", "Hello, and more"]


def test_a_second_message_waits_for_the_first_ones_reply(llm):
    _, place = talk(llm)
    say(place, "Hello")
    assert refusal(say, place, "More") == "conversation:reply-pending"
    llm.script.extend([Act(status=400)])
    answer()
    assert refusal(say, place, "More") == "conversation:unanswered"
    conversations.keep_unsent(
        study=place["study"], item=place["item"], annotator=place["annotator"], text="More"
    )
    assert Conversation.objects.get().unsent == "More"


@pytest.mark.parametrize("text", ["", " \n", "x" * 20_001])
def test_a_message_has_text_within_bounds(llm, text):
    _, place = talk(llm)
    assert refusal(say, place, text) == "conversation:message"


def test_only_a_failed_message_is_tried_again_or_taken_back(llm):
    _, place = talk(llm, "Fine.")
    now = timezone.now()
    for act in (conversations.retry, conversations.withdraw):
        code = refusal(act, **place, submission=uuid4(), now=now)
        assert code == "conversation:nothing-to-retry"
    llm.script.append(Act(status=400))
    say(place, "Too long")
    answer()
    conversations.withdraw(**place, submission=uuid4(), now=now)
    assert Conversation.objects.get().unsent == "Too long"
    assert ConversationMessage.objects.count() == 1
    say(place, "Shorter")
    assert Conversation.objects.get().unsent == ""


def test_models_are_shared_out_evenly_and_stay(llm):
    people = [make_user() for _ in range(4)]
    study = make_talk_study(people, items=6, overlap=4, base_urls=("http://127.0.0.1:9/v1",) * 3)
    for person in people:
        for _ in range(6):
            place = begun(study, person)
            again = conversations.begin(**place, now=timezone.now())
            assert again.endpoint_id == Conversation.objects.latest("pk").endpoint_id
            skip(**place, reason=SkipReason.OTHER, submission=uuid4(), now=timezone.now())
    held = Conversation.objects.values_list("claim__annotator", "endpoint", "claim__item")
    by_person = Counter((person, model) for person, model, _ in held)
    by_task = Counter((task, model) for _, model, task in held)
    assert set(by_person.values()) == {2}
    assert max(by_task.values()) <= 3


def test_an_endpoint_out_of_use_is_not_chosen(llm):
    annotator = make_user()
    study = make_talk_study([annotator])
    study.conversation_setup.endpoints.update(enabled=False)
    task = next_task(study=study.slug, annotator=annotator, now=timezone.now())
    code = refusal(
        conversations.begin,
        study=study.slug,
        item=task.place.item,
        annotator=annotator,
        now=timezone.now(),
    )
    assert code == "conversation:no-model"


def test_it_ends_after_enough_replies_with_all_requirements_ticked(llm):
    _, place = talk(llm, "One.", requirements=REQUIREMENTS, min_turns=2)
    assert refusal(end, place, Ending.NO_FURTHER) == "conversation:too-early"
    llm.script.append(Act(text="Two."))
    say(place, "more")
    assert refusal(end, place) == "conversation:too-early"
    answer()
    conversations.tick(**place, submission=uuid4(), met=[1, 7], now=timezone.now())
    assert Conversation.objects.get().requirements_met == [1]
    assert refusal(end, place) == "conversation:too-early"
    conversations.tick(**place, submission=uuid4(), met=[1, 2], now=timezone.now())
    end(place)
    assert Conversation.objects.get().state == "ENDED"


def test_who_never_said_anything_cannot_end(llm):
    annotator = make_user()
    study = make_talk_study([annotator])
    task = next_task(study=study.slug, annotator=annotator, now=timezone.now())
    place = {"study": study.slug, "item": task.place.item, "annotator": annotator}
    assert refusal(end, place) == "conversation:too-early"
    begun(study, annotator)
    assert refusal(end, place) == "conversation:too-early"


def test_a_conversation_becomes_a_session_that_its_participant_rates(llm):
    annotator = make_user(username="ann")
    AnnotatorProfile.objects.create(user=annotator, age="24", personality=["calm"])
    study, place = talk(
        llm,
        "One.",
        "Two.",
        annotator=annotator,
        requirements=REQUIREMENTS,
        setup={"system_prompt": "Secret instructions."},
    )
    llm.script.append(Act(status=400))
    say(place, "no reply to this")
    answer()
    conversations.tick(**place, submission=uuid4(), met=[2], now=timezone.now())
    end(place, Ending.NO_FURTHER)
    end(place, Ending.NO_FURTHER)
    claim = Claim.objects.get()
    held = claim.conversation
    assert held.key == f"trip-1/{claim.pk}"
    assert (held.original_user, held.task_context) == (annotator, "Plan trip 1.")
    assert held.profile_snapshot == {"age": "24", "personality": ["calm"]}
    assert held.system_prompt == "Secret instructions."
    assert held.extra == {
        "task": "trip-1",
        "study": study.slug,
        "ending": "NO_FURTHER",
        "requirements": REQUIREMENTS,
        "requirements_met": ["a budget"],
    }
    task = own_task(study=study.slug, item=place["item"], annotator=annotator, now=timezone.now())
    assert isinstance(task, RatingTask)
    assert [turn.response for turn in task.turns] == ["One.", "Two.", None]
    assert task.system_prompt == ""
    assert AuditEvent.objects.filter(action="conversation.held").count() == 1
    rate_session(
        **place,
        ratings={1: Rating(5), 2: Rating(4)},
        submission=uuid4(),
        now=timezone.now(),
    )
    claim.refresh_from_db()
    assert claim.state == ClaimState.DONE
    rows = list(SATISFACTION.rows(study.dataset))
    assert [(row["annotator"], row["model"], row["score"]) for row in rows] == [
        ("ann", "secret-1", 5),
        ("ann", "secret-1", 4),
    ]
    sessions = [row for row in SESSIONS.rows(study.dataset) if row["type"] == "session"]
    assert [row["key"] for row in sessions] == ["trip-1", held.key]
    assert sessions[1]["user"] == "ann"
    assert [turn["user"] for turn in sessions[1]["turns"]] == [
        "about One.",
        "about Two.",
        "no reply to this",
    ]
    assert sessions[1]["turns"][0]["responses"][0]["extra"]["endpoint"] == f"end-{study.pk}-1"


def test_a_key_that_a_file_took_is_passed_over(llm):
    _, place = talk(llm, "One.")
    claim = Claim.objects.get()
    task = claim.item.session
    Session.objects.create(
        dataset=task.dataset, scenario=task.scenario, key=f"trip-1/{claim.pk}", position=0
    )
    end(place)
    claim.refresh_from_db()
    assert claim.conversation.key == f"trip-1/{claim.pk + 1}"
    assert claim.conversation.position == task.position + 1


def test_nothing_is_said_after_the_end(llm):
    _, place = talk(llm, "One.")
    end(place)
    assert refusal(say, place, "more") == "conversation:ended"


def test_who_left_comes_back_to_the_same_conversation(llm):
    annotator = make_user()
    study, place = talk(llm, "One.", annotator=annotator, items=3)
    release_claims(annotator)
    again = begun(study, annotator)
    assert again == place
    assert Conversation.objects.count() == 1


def test_an_item_that_others_filled_in_the_meantime_is_lost(llm):
    ann, bob = make_user(), make_user()
    study = make_talk_study([ann, bob], base_urls=(llm.base_url,))
    place = begun(study, ann)
    release_claims(ann)
    begun(study, bob)
    with pytest.raises(Refused) as error:
        say(place, "Hello")
    assert error.value.code == RefusalCode.TAKEN


def test_sending_renews_the_lease(llm):
    _, place = talk(llm)
    Claim.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    say(place, "Hello")
    assert Claim.objects.get().expires_at > timezone.now() + timedelta(minutes=10)


def test_other_kinds_of_study_are_not_talked_about():
    annotator = make_user()
    study = make_session_study([annotator])
    task = next_task(study=study.slug, annotator=annotator, now=timezone.now())
    with pytest.raises(Refused) as error:
        conversations.begin(
            study=study.slug, item=task.place.item, annotator=annotator, now=timezone.now()
        )
    assert error.value.code == RefusalCode.NOT_YOURS


def test_what_the_model_thought_stays_with_the_session(llm):
    _, place = talk(llm, "<thinking>hm</thinking>One.")
    end(place, Ending.NO_FURTHER)
    response = Response.objects.get(turn__session__key__startswith="trip-1/")
    assert (response.text, response.extra["reasoning"]) == ("One.", "hm")
