"""Tasks come in by a file, and what was said about them goes out and in again."""

from __future__ import annotations

import json

import pytest

from annotation.core.choices import StudyKind
from annotation.core.conversations import HeldConversation, HeldTurn
from annotation.core.refusals import Refused
from annotation.exports import SESSIONS
from annotation.models import Claim, Dataset, Session, StudyStatus
from annotation.queries.studies import sessions_of, tasks_of
from annotation.services.claims import RefusalCode, next_task
from annotation.services.conversations import keep_conversation
from tests.annotation.labelling import make_session_study
from tests.annotation.records import NOW, import_rows
from tests.factory import make_item, make_study, make_user

pytestmark = pytest.mark.django_db

TASK = {
    "type": "session",
    "key": "trip-1",
    "scenario": "travel",
    "task_context": "Plan a trip.",
    "turns": [],
    "extra": {"requirements": ["two days", "a budget"]},
}
HELD = HeldConversation(
    (
        HeldTurn("Where to?", "Kyoto.", "secret-1", {"endpoint": "one"}),
        HeldTurn("And back?", None),
    ),
    system_prompt="Be brief.",
    extra={"ending": "SATISFIED"},
)


def study_of(dataset, annotator):
    study = make_study(dataset, kind="CONVERSATION", annotators=[annotator])
    for task in tasks_of(dataset):
        make_item(study, session=task)
    return study


def keep(study, annotator, held=HELD):
    item = study.items.first().pk
    keep_conversation(study=study.slug, item=item, annotator=annotator, held=held, now=NOW)


def test_tasks_are_imported_without_a_turn_and_can_be_talked_about(tmp_path):
    unstated = {**TASK, "key": "no-task", "task_context": ""}
    report = import_rows(tmp_path, TASK, unstated)
    assert (report.created, report.fault_count) == (2, 0)
    dataset = Dataset.objects.get()
    assert [row.key for row in tasks_of(dataset)] == ["trip-1"]
    annotator = make_user()
    study = study_of(dataset, annotator)
    task = next_task(study=study.slug, annotator=annotator, now=NOW)
    assert task.rules.kind is StudyKind.CONVERSATION
    assert task.requirements == ("two days", "a budget")


def test_what_was_said_is_exported_and_imports_as_the_same(tmp_path):
    import_rows(tmp_path, TASK)
    dataset = Dataset.objects.get()
    annotator = make_user(username="ann")
    study = study_of(dataset, annotator)
    next_task(study=study.slug, annotator=annotator, now=NOW)
    keep(study, annotator)
    keep(study, annotator)
    assert [row.key for row in tasks_of(dataset)] == ["trip-1"]
    (held,) = sessions_of(dataset)
    assert held.held_under == Claim.objects.get()
    rows = [dict(row) for row in SESSIONS.rows(dataset)]
    assert json.loads(json.dumps(rows[2]["turns"])) == [
        {
            "user": "Where to?",
            "responses": [
                {
                    "id": "0",
                    "model": "secret-1",
                    "text": "Kyoto.",
                    "original": True,
                    "extra": {"endpoint": "one"},
                }
            ],
        },
        {"user": "And back?"},
    ]
    import_rows(tmp_path, *rows, dataset="copy")
    copy = Session.objects.get(dataset__slug="copy", key=held.key)
    assert copy.extra == held.extra == {"task": "trip-1", "ending": "SATISFIED"}
    assert copy.task_context == "Plan a trip."


@pytest.mark.parametrize(
    "held", [HeldConversation(()), HeldConversation((HeldTurn("Hello?", None),))]
)
def test_without_a_reply_there_is_nothing_to_keep(tmp_path, held):
    import_rows(tmp_path, TASK)
    annotator = make_user()
    study = study_of(Dataset.objects.get(), annotator)
    next_task(study=study.slug, annotator=annotator, now=NOW)
    with pytest.raises(Refused) as error:
        keep(study, annotator, held)
    assert error.value.code == RefusalCode.NOT_ALLOWED


def test_only_an_open_study_of_conversations_keeps_one(tmp_path):
    annotator = make_user()
    other = make_session_study([annotator])
    next_task(study=other.slug, annotator=annotator, now=NOW)
    with pytest.raises(Refused) as error:
        keep(other, annotator)
    assert error.value.code == RefusalCode.NOT_ALLOWED
    import_rows(tmp_path, TASK)
    study = study_of(Dataset.objects.get(slug="data"), annotator)
    next_task(study=study.slug, annotator=annotator, now=NOW)
    study.status = StudyStatus.CLOSED
    study.save()
    with pytest.raises(Refused) as error:
        keep(study, annotator)
    assert error.value.code == RefusalCode.CLOSED
