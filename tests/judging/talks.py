"""Studies of live conversations, and a model that answers at once, for the tests of those."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.utils import timezone

from annotation.core.labelling import ConversationTask
from annotation.models import Study, User
from annotation.services.claims import next_task
from judging.llm.pacing import Patience
from judging.models import ConversationMessage, ConversationSetup
from judging.services.conversation_replies import Lines, Ticket, write_reply
from judging.services.conversations import begin, send
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_item,
    make_scenario,
    make_session,
    make_study,
    make_user,
)
from tests.fake_llm import Act

QUICK = Patience(tries=3, first_wait=0.01, longest_wait=0.02)
REQUIREMENTS = ["two days", "a budget"]


def make_talk_study(
    annotators: list[User],
    *,
    items: int = 1,
    base_urls: tuple[str, ...] = ("http://127.0.0.1:9/v1",),
    requirements: tuple[str, ...] | list[str] = (),
    setup: dict[str, Any] | None = None,
    **fields: Any,
) -> Study:
    """A study of tasks to talk about, with a model at each address."""
    dataset = make_dataset()
    scenario = make_scenario(dataset, name="Travel")
    study = make_study(dataset, kind="CONVERSATION", annotators=annotators, **fields)
    for number in range(items):
        session = make_session(
            scenario,
            key=f"trip-{number + 1}",
            task_context=f"Plan trip {number + 1}.",
            extra={"requirements": list(requirements)} if requirements else {},
        )
        make_item(study, session=session)
    talks = ConversationSetup.objects.create(study=study, **(setup or {}))
    for number, url in enumerate(base_urls, start=1):
        talks.endpoints.add(
            make_endpoint(name=f"end-{study.pk}-{number}", model=f"secret-{number}", base_url=url)
        )
    return study


def begun(study: Study, annotator: User) -> dict[str, Any]:
    """Begin the next item's conversation; what the services want to know of it."""
    task = next_task(study=study.slug, annotator=annotator, now=timezone.now())
    assert isinstance(task, ConversationTask)
    place: dict[str, Any] = {
        "study": study.slug,
        "item": task.place.item,
        "annotator": annotator,
    }
    begin(**place, now=timezone.now())
    return place


def say(place: dict[str, Any], text: str, *, submission: UUID | None = None) -> UUID:
    """Send a message; nobody writes a reply yet."""
    submission = submission or uuid4()
    send(**place, text=text, submission=submission, now=timezone.now())
    return submission


def answer() -> ConversationMessage:
    """Have the reply to the latest message written, here and now."""
    message = ConversationMessage.objects.latest("pk")
    ticket = Ticket(message.pk, message.generation)

    async def write() -> None:
        lines = Lines(patience=QUICK)
        await write_reply(ticket, lines)
        await lines.close()

    async_to_sync(write)()
    message.refresh_from_db()
    return message


def talk(llm, *said, **fields):
    """A conversation with these replies; the server says them in order."""
    annotator = fields.pop("annotator", None) or make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,), **fields)
    place = begun(study, annotator)
    for text in said:
        llm.script.append(Act(text=text))
        say(place, f"about {text}")
        answer()
    return study, place
