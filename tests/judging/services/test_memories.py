from dataclasses import replace

import pytest

from annotation.models import Role
from judging.core.memory import statistics, statistics_to_json, texts_to_json
from judging.core.memory_parsing import memory_from_content, parse_texts, plain
from judging.models import RunKind, UserMemory
from judging.services.memories import may_edit, revise_memory
from tests.factory import make_dataset, make_run, make_scenario, make_user
from tests.judging.core.test_memory import make_texts
from tests.judging.core.test_memory import make_turn as make_rated_turn
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def make_memory(**fields):
    dataset = make_dataset()
    history = [make_rated_turn("1", 5), make_rated_turn("2", 3)]
    texts = parse_texts(
        make_texts(scoring_style={"text": "Strict.", "turn_ids": ["1"]}), turn_ids=["1", "2"]
    ).texts
    defaults = {
        "run": fields.pop("run", None) or make_run(dataset, kind=RunKind.SATISFACTION),
        "user": fields.pop("user", None) or make_user(),
        "target_scenario": make_scenario(dataset),
        "judge": "lexical",
        "status": "DONE",
        "statistics": statistics_to_json(statistics(history)),
        "texts": texts_to_json(texts),
        "evidence": {"by_score": {"5": ["1"], "3": ["2"]}},
    }
    return UserMemory.objects.create(**(defaults | fields))


def edit_of(memory, **changes):
    stored = memory_from_content({"statistics": memory.statistics, "texts": memory.texts})
    return replace(plain(stored.texts), **changes)


def test_an_edit_is_the_next_version():
    memory = make_memory()
    edited = revise_memory(
        memory, edit=edit_of(memory, scoring_style="Very strict."), editor=memory.user
    )
    assert (edited.version, edited.previous, edited.edited_by) == (2, memory, memory.user)
    assert edited.texts["scoring_style"] == {"text": "Very strict.", "turn_ids": []}
    assert (edited.statistics, edited.evidence) == (memory.statistics, memory.evidence)
    memory.refresh_from_db()
    assert memory.texts["scoring_style"]["text"] == "Strict."


def test_two_edits_of_one_version_do_not_both_stand():
    memory = make_memory()
    revise_memory(memory, edit=edit_of(memory, scoring_style="One."), editor=memory.user)
    with refuses("memory:not-editable"):
        revise_memory(memory, edit=edit_of(memory, scoring_style="Two."), editor=memory.user)
    assert UserMemory.objects.filter(run=memory.run).count() == 2


def test_what_was_never_built_cannot_be_edited():
    memory = make_memory()
    edit = edit_of(memory)
    memory.status = "FAILED"
    with refuses("memory:not-editable"):
        revise_memory(memory, edit=edit, editor=memory.user)


def test_an_empty_scoring_style_is_refused():
    memory = make_memory()
    with refuses("memory:unparseable"):
        revise_memory(memory, edit=edit_of(memory, scoring_style=""), editor=memory.user)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [(Role.ADMIN, True), (Role.MANAGER, True), (Role.VIEWER, False), (Role.ANNOTATOR, False)],
)
def test_the_user_and_managers_may_edit(role, allowed):
    memory = make_memory()
    somebody = make_user(role=role)
    assert may_edit(memory, somebody) is allowed
    assert may_edit(memory, memory.user)
    if not allowed:
        with pytest.raises(PermissionError):
            revise_memory(memory, edit=edit_of(memory), editor=somebody)
