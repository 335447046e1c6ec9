from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.core.assignment import Progress
from annotation.core.choices import StudyKind
from annotation.core.conversations import Message, Speaker
from annotation.core.labelling import PairTask, Place, Rules, ShownResponse, shown_digest

RULES = Rules(
    slug="s",
    name="S",
    kind=StudyKind.PAIRWISE,
    allow_tie=True,
    allow_strength=False,
    allow_both_bad=False,
    ask_hallucination=False,
    guidelines="Read.",
)
PLACE = Place(
    item=7,
    previous=None,
    scenario="Writing",
    answered=False,
    skipped=None,
    progress=Progress(1, 0, 3),
    renew_seconds=300,
)
TASK = PairTask(
    rules=RULES,
    place=PLACE,
    system_prompt="",
    task_context="",
    dialogue=(),
    question="Why?",
    first=ShownResponse("one"),
    second=ShownResponse("two"),
    given=None,
)


def digest(task, key=b"secret"):
    return shown_digest(task, key=key)


def test_where_in_the_study_one_is_has_no_part_in_it():
    moved = replace(PLACE, previous=3, progress=Progress(2, 0, 2), renew_seconds=None)
    assert digest(replace(TASK, place=moved)) == digest(TASK)


@pytest.mark.parametrize(
    "change",
    [
        {"place": replace(PLACE, item=8)},
        {"rules": replace(RULES, allow_tie=False)},
        {"system_prompt": "Be kind."},
        {"task_context": "A trip."},
        {"dialogue": (Message(Speaker.USER, "Hello"),)},
        {"question": None},
        {"first": TASK.second, "second": TASK.first},
        {"first": ShownResponse(None)},
        {"second": ShownResponse("two", ("earlier",))},
    ],
)
def test_all_else_that_is_shown_or_asked_has(change):
    assert digest(replace(TASK, **change)) != digest(TASK)


def test_text_that_cannot_be_encoded_has_a_digest():
    odd = replace(TASK, question="\ud800\x00")
    assert digest(odd) != digest(TASK)


def test_who_lacks_the_key_cannot_try_item_numbers_until_one_fits():
    tried = {digest(replace(TASK, place=replace(PLACE, item=each)), b"guess") for each in range(20)}
    assert digest(TASK) not in tried
