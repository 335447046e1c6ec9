"""The page of a live conversation, and everything its buttons send; replies are written by hand."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import Claim, Participation, StudyStatus, Submission
from annotation.services.claims import release_claims
from judging.models import Conversation, ConversationMessage
from tests.annotation.pages import skipped
from tests.factory import make_user
from tests.judging.talks import REQUIREMENTS, begun, make_talk_study, say

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
ACTIONS = ("send", "retry", "withdraw", "stop", "tick", "end")


@pytest.fixture
def annotator(client):
    user = make_user()
    client.force_login(user)
    return user


@pytest.fixture
def study(annotator):
    return make_talk_study([annotator], requirements=REQUIREMENTS, min_turns=1)


def url(study, name="talk", *more):
    return reverse(f"judging:{name}", args=[study.slug, study.items.get().pk, *more])


def open_(client, study):
    return client.get(f"/studies/{study.slug}/next/", follow=True)


def send(client, study, text="Hello", **more):
    data = {"text": text, "submission": uuid4()}
    return client.post(url(study, "talk-send"), {**data, **more.pop("data", {})}, **more)


def pressed(**more):
    """What a button of the page sends."""
    return {"submission": uuid4(), **more}


def reply(**fields):
    """Write the reply to the only pending message."""
    values = {"status": "DONE", "reply": "**Kyoto** <b>it</b> is.", **fields}
    pending = ConversationMessage.objects.filter(status__in=["WAITING", "WRITING", "FAILED"])
    assert pending.update(**values) == 1


def text_of(response):
    return response.content.decode()


def test_the_next_item_is_its_conversation(client, study):
    page = open_(client, study)
    assert page.redirect_chain[-1] == (url(study), 302)
    html = text_of(page)
    assert "Plan trip 1." in html
    assert all(requirement in html for requirement in REQUIREMENTS)
    assert Conversation.objects.count() == 1
    assert "no-store" in page.headers["Cache-Control"]


def test_from_the_ratings_before_it_the_page_is_loaded_with_its_script(client, study):
    response = client.get(f"/studies/{study.slug}/next/", headers=HTMX, follow=True)
    assert response.headers["HX-Redirect"] == url(study)
    assert Conversation.objects.count() == 0


def test_nothing_that_a_browser_gets_names_the_model(client, study):
    open_(client, study)
    pages = [send(client, study, headers=HTMX)]
    pages.append(client.get(url(study, "talk-reply", _message().pk), headers=HTMX))
    reply()
    pages += [client.get(url(study)), client.post(url(study, "talk-tick"), pressed(met=[1, 2]))]
    pages.append(client.post(url(study, "talk-end"), {"ending": "SATISFIED"}, follow=True))
    assert "How satisfied are you with each reply?" in text_of(pages[-1])
    for page in pages:
        for secret in ("secret-1", f"end-{study.pk}", "127.0.0.1:9"):
            assert secret not in text_of(page)
            assert secret not in str(page.headers)


def _message():
    return ConversationMessage.objects.latest("pk")


def test_a_message_is_stored_and_shown_with_its_reply(client, study):
    open_(client, study)
    page = send(client, study, "Where\nto? <i>x</i>", follow=True)
    html = text_of(page)
    assert "Where\nto? &lt;i&gt;x&lt;/i&gt;" in html
    assert "data-pending" in html
    assert "rate the replies" not in html
    reply()
    html = text_of(client.get(url(study)))
    assert "<strong>Kyoto</strong> &lt;b&gt;it&lt;/b&gt; is." in html
    assert "data-pending" not in html


def test_htmx_gets_the_parts_that_change(client, study):
    open_(client, study)
    parts = send(client, study, headers=HTMX)
    assert parts.headers["HX-Retarget"] == "#talk-log"
    assert text_of(parts).lstrip().startswith('<div id="talk-log"')
    assert 'id="talk-state" class="row" hx-swap-oob="true"' in text_of(parts)
    assert "composer" not in text_of(parts)


def test_a_reply_is_told_while_it_comes_and_the_whole_page_part_at_its_end(client, study):
    open_(client, study)
    send(client, study)
    where = url(study, "talk-reply", _message().pk)
    assert "is writing" in text_of(client.get(where, headers=HTMX))
    ConversationMessage.objects.update(status="WRITING", reply="**Ky")
    poll = client.get(where, headers=HTMX)
    assert "**Ky" in text_of(poll)
    assert "hx-trigger" in text_of(poll)
    assert "HX-Retarget" not in poll.headers
    reply()
    whole = client.get(where, headers=HTMX)
    assert whole.headers["HX-Retarget"] == "#talk-log"
    assert "hx-trigger" not in text_of(whole)
    assert client.get(where).status_code == 302


def test_a_poll_costs_few_queries(client, study, django_assert_num_queries):
    open_(client, study)
    send(client, study)
    where = url(study, "talk-reply", _message().pk)
    with django_assert_num_queries(3):  # who asks (session, user), and the message
        client.get(where, headers=HTMX)


def test_the_page_costs_a_fixed_number_of_queries(client, study, django_assert_max_num_queries):
    open_(client, study)
    for _turn in range(8):
        send(client, study)
        reply()
    with django_assert_max_num_queries(16):
        client.get(url(study))


def test_a_reply_that_waits_for_its_turn_says_so(client, study):
    open_(client, study)
    send(client, study)
    ConversationMessage.objects.update(sent_at=timezone.now() - timedelta(seconds=6))
    poll = client.get(url(study, "talk-reply", _message().pk), headers=HTMX)
    assert "The assistant is busy with other conversations." in text_of(poll)


def test_a_poll_asks_again_for_a_reply_whose_writer_is_gone(client, study):
    open_(client, study)
    send(client, study)
    ConversationMessage.objects.update(
        status="WRITING", heartbeat_at=timezone.now() - timedelta(seconds=11)
    )
    client.get(url(study, "talk-reply", _message().pk), headers=HTMX)
    message = _message()
    assert (message.status, message.generation) == ("WAITING", 1)


def test_a_reply_to_a_message_that_was_taken_back_shows_what_is_there(client, study):
    open_(client, study)
    where = url(study, "talk-reply", 99)
    assert text_of(client.get(where, headers=HTMX)).lstrip().startswith('<div id="talk-log"')
    assert client.get(where).status_code == 404


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_failure_has_its_sentence_code_and_a_way_on(client, study, headers):
    open_(client, study)
    send(client, study, "Hello")
    reply(status="FAILED", reply="", error_code="llm:rate-limited", error_detail="secret-1: no")
    html = text_of(client.get(url(study)))
    assert "The assistant is busy." in html
    assert "llm:rate-limited" in html
    assert "secret-1" not in html
    client.post(url(study, "talk-retry"), pressed(), headers=headers)
    assert (_message().status, _message().attempt) == ("WAITING", 1)
    again = client.post(url(study, "talk-retry"), pressed(), headers=headers)
    assert again.status_code == 409
    assert "There is no message to retry." in text_of(again)


def test_what_a_participant_cannot_mend_is_said_to_those_who_can(client, study):
    open_(client, study)
    send(client, study)
    reply(status="FAILED", error_code="llm:refused-key")
    assert "Please contact a study manager." in text_of(client.get(url(study)))


def test_a_failed_message_is_taken_back_to_be_changed(client, study):
    open_(client, study)
    send(client, study, "Too long")
    reply(status="FAILED", error_code="llm:bad-request")
    page = client.post(url(study, "talk-withdraw"), pressed(), follow=True)
    assert "Too long</textarea>" in text_of(page)
    assert not ConversationMessage.objects.exists()
    assert client.post(url(study, "talk-withdraw"), pressed()).status_code == 409


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_a_message_before_the_reply_is_refused_and_kept(client, study, headers):
    open_(client, study)
    send(client, study)
    early = send(client, study, "And then?", headers=headers)
    assert early.status_code == 409
    assert "is still replying" in text_of(early)
    assert ConversationMessage.objects.count() == 1
    assert "And then?</textarea>" in text_of(client.get(url(study)))


@pytest.mark.parametrize("data", [{"text": ""}, {"text": "x" * 20_001}, {"submission": "x"}])
def test_what_is_no_message_is_refused(client, study, data):
    open_(client, study)
    answer = send(client, study, data=data)
    assert answer.status_code == 409
    assert "Enter a message" in text_of(answer)
    assert not ConversationMessage.objects.exists()


def test_a_null_character_is_refused_and_harmless(client, study):
    open_(client, study)
    assert send(client, study, "a\x00b").status_code == 409
    assert Conversation.objects.get().unsent == "ab"


def test_a_reply_is_stopped(client, study):
    open_(client, study)
    send(client, study)
    assert client.post(url(study, "talk-stop"), pressed(), headers=HTMX).status_code == 200
    assert _message().stop_wanted


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_ticks_are_kept(client, study, headers):
    open_(client, study)
    page = client.post(url(study, "talk-tick"), pressed(met=["2", "9"]), headers=headers)
    assert Conversation.objects.get().requirements_met == [2]
    if headers:
        assert page.headers["HX-Retarget"] == "#talk-state"
        assert "1 of 2 requirements met" in text_of(page)
    client.post(url(study, "talk-tick"), pressed(met=["x"]), headers=headers)
    assert Conversation.objects.get().requirements_met == []


def test_the_end_waits_for_the_requirements_but_not_where_going_on_would_not_help(client, study):
    open_(client, study)
    early = client.post(url(study, "talk-end"), {"ending": "NO_FURTHER"})
    assert (early.status_code, Conversation.objects.get().state) == (409, "OPEN")
    send(client, study)
    reply()
    html = text_of(client.get(url(study)))
    assert 'value="SATISFIED" disabled' in html
    for ending in ("SATISFIED", "LATER"):
        early = client.post(url(study, "talk-end"), {"ending": ending})
        assert (early.status_code, Conversation.objects.get().state) == (409, "OPEN")
    page = client.post(url(study, "talk-end"), {"ending": "NO_FURTHER"}, follow=True)
    assert "How satisfied are you with each reply?" in text_of(page)
    assert Conversation.objects.get().ending == "NO_FURTHER"


def test_after_the_end_every_way_leads_to_the_ratings(client, study):
    open_(client, study)
    send(client, study)
    reply()
    client.post(url(study, "talk-end"), {"ending": "NO_FURTHER"})
    ratings = reverse("annotation:item", args=[study.slug, study.items.get().pk])
    assert client.get(url(study)).url == ratings
    poll = client.get(url(study, "talk-reply", _message().pk), headers=HTMX)
    assert poll.headers["HX-Redirect"] == ratings
    assert client.post(url(study, "talk-end"), {"ending": "NO_FURTHER"}).url == ratings
    for name, more in (
        ("send", {"text": "More", "submission": uuid4()}),
        ("tick", pressed(met=["1"])),
    ):
        assert client.post(url(study, f"talk-{name}"), more).url == ratings
        late = client.post(url(study, f"talk-{name}"), more, headers=HTMX)
        assert late.headers["HX-Redirect"] == ratings


def test_without_a_model_there_is_nobody_to_talk_with(client, study):
    study.conversation_setup.endpoints.clear()
    page = open_(client, study)
    assert page.status_code == 409
    assert "This study has no assistant yet." in text_of(page)
    assert "conversation:no-model" in text_of(page)


def test_an_item_lost_to_others_is_told_on_a_page_of_its_own(client, study, annotator):
    open_(client, study)
    other = make_user()
    Participation.objects.create(study=study, annotator=other)
    release_claims(annotator)
    begun(study, other)
    answer = send(client, study, headers=HTMX)
    assert answer.status_code == 409
    assert answer.headers["HX-Retarget"] == "body"
    assert "This item is no longer reserved for you" in text_of(answer)


@pytest.mark.parametrize("name", ACTIONS)
def test_wrong_methods_are_refused(client, study, name):
    open_(client, study)
    assert client.get(url(study, f"talk-{name}")).status_code == 405


def test_reading_addresses_take_no_post(client, study):
    open_(client, study)
    assert client.post(url(study)).status_code == 405
    assert client.post(url(study, "talk-reply", 1)).status_code == 405


@pytest.mark.parametrize("name", ["send", "retry", "withdraw", "stop", "tick"])
def test_what_comes_without_its_id_is_refused(client, study, name):
    open_(client, study)
    answer = client.post(url(study, f"talk-{name}"), {"submission": "x"})
    assert answer.status_code == 409
    assert not Submission.objects.exists()


@pytest.mark.parametrize("name", ACTIONS)
def test_nobody_acts_without_signing_in(client, study, name):
    open_(client, study)
    client.logout()
    where = url(study, f"talk-{name}")
    assert client.post(where, headers=HTMX).status_code == 401
    assert client.post(where).url.startswith("/sign-in/")
    assert client.get(url(study, "talk-reply", 1), headers=HTMX).status_code == 401


def test_a_conversation_is_its_participants_alone(client, study, annotator):
    place = begun(study, annotator)
    say(place, "Private.")
    where = url(study, "talk-reply", _message().pk)
    for stranger in (make_user(), make_user(role="MANAGER")):
        client.force_login(stranger)
        assert client.get(url(study)).status_code == 404
        assert client.get(where, headers=HTMX).status_code == 404
        for name in ACTIONS:
            assert client.post(url(study, f"talk-{name}")).status_code in {404}
    member = make_user()
    Participation.objects.create(study=study, annotator=member)
    client.force_login(member)
    assert client.get(where, headers=HTMX).status_code == 404
    assert ConversationMessage.objects.count() == 1


def test_a_paused_study_takes_no_message(client, study):
    open_(client, study)
    study.status = StudyStatus.PAUSED
    study.save()
    assert send(client, study).status_code == 409
    assert not ConversationMessage.objects.exists()


def test_a_skipped_conversation_is_looked_at_without_taking_it_again(client, study):
    open_(client, study)
    item = study.items.get().pk
    client.post(reverse("annotation:skip", args=[study.slug, item]), skipped())
    page = client.get(url(study))
    assert "You can answer it now." in text_of(page)
    assert Claim.objects.get().state == "SKIPPED"
    send(client, study)
    assert Claim.objects.get().state == "ACTIVE"
