from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import timezone

from annotation.models import AuditEvent
from judging.core.conversations import Ending
from judging.models import ConversationMessage, ConversationSetup
from judging.services import conversations
from tests.factory import make_endpoint, make_study, make_user
from tests.judging.talks import REQUIREMENTS, begun, make_talk_study, say

pytestmark = pytest.mark.django_db


def url(study):
    return f"/studies/{study.slug}/conversation/"


def sign_in(client, role):
    user = make_user(role=role)
    client.force_login(user)
    return user


def test_a_manager_chooses_the_models(client):
    manager = sign_in(client, "MANAGER")
    study = make_study(kind="CONVERSATION")
    chosen, _other = make_endpoint(name="one"), make_endpoint(name="other")
    make_endpoint(name="retired", enabled=False)
    page = client.get(url(study)).content.decode()
    assert "Participants cannot start yet. Choose at least one model." in page
    assert "retired" not in page
    data = {
        "endpoints": [chosen.pk],
        "system_prompt": "Be brief.",
        "temperature": 0.4,
        "max_tokens": 300,
    }
    assert client.post(url(study), data).status_code == 302
    setup = ConversationSetup.objects.get()
    assert [row.name for row in setup.endpoints.all()] == ["one"]
    assert (setup.system_prompt, setup.temperature, setup.max_tokens) == ("Be brief.", 0.4, 300)
    event = AuditEvent.objects.get(action="study.conversation")
    assert (event.actor, event.detail["endpoints"]) == (manager, ["one"])
    client.post(url(study), data)
    assert ConversationSetup.objects.count() == 1


@pytest.mark.parametrize(
    "change", [{"endpoints": []}, {"temperature": 3}, {"max_tokens": 0}, {"endpoints": [99]}]
)
def test_a_setup_that_cannot_be_is_refused(client, change):
    sign_in(client, "MANAGER")
    study = make_study(kind="CONVERSATION")
    data = {"endpoints": [make_endpoint().pk], "temperature": 0.7, "max_tokens": 99, **change}
    answer = client.post(url(study), data)
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode() or "errors" in answer.content.decode()
    assert not ConversationSetup.objects.exists()


def test_the_conversations_are_listed_with_model_state_and_counts(client):
    people = [make_user(username="ann"), make_user(username="bob")]
    study = make_talk_study(people, requirements=REQUIREMENTS, overlap=2)
    ann = begun(study, people[0])
    say(ann, "Hello")
    ConversationMessage.objects.update(status="DONE", reply="Hi.", first_text_ms=400, total_ms=1500)
    conversations.tick(**ann, submission=uuid4(), met=[1], now=timezone.now())
    conversations.end(**ann, ending=Ending.NO_FURTHER, now=timezone.now())
    say(begun(study, people[1]), "Hello")
    ConversationMessage.objects.filter(status="WAITING").update(
        status="FAILED", error_code="llm:timeout"
    )
    sign_in(client, "VIEWER")
    page = client.get(url(study))
    html = page.content.decode()
    bob_row, ann_row = page.context["conversations"]
    assert (ann_row.participant, ann_row.state, ann_row.replies) == ("ann", "ENDED", 1)
    assert (ann_row.met, ann_row.stated) == (1, 2)
    assert ann_row.session is not None
    assert (bob_row.participant, bob_row.failed, bob_row.error) == ("bob", 1, "llm:timeout")
    (model,) = page.context["models"]
    assert (model.conversations, model.ended, model.replies, model.failed) == (2, 1, 1, 1)
    assert (model.first_text_ms, model.total_ms) == (400, 1500)
    assert "0.4\u202fs" in html
    assert "Continuing would not help" in html
    assert '<form method="post" class="stack"' not in html  # a viewer changes nothing


def test_the_list_costs_a_fixed_number_of_queries(client, django_assert_max_num_queries):
    people = [make_user() for _ in range(6)]
    study = make_talk_study(people, overlap=6)
    for person in people:
        say(begun(study, person), "Hello")
    sign_in(client, "VIEWER")
    with django_assert_max_num_queries(12):
        client.get(url(study))


def test_who_may_see_and_who_may_change_it(client):
    study = make_talk_study([])
    assert client.get(url(study)).url.startswith("/sign-in/")
    sign_in(client, "ANNOTATOR")
    assert client.get(url(study)).status_code == 403
    sign_in(client, "VIEWER")
    assert client.get(url(study)).status_code == 200
    assert client.post(url(study), {}).status_code == 403
    sign_in(client, "MANAGER")
    assert client.put(url(study)).status_code == 405
    assert client.get(url(make_study())).status_code == 404  # not a study of conversations
