"""Studies ready for labelling, and the answers of a person, for the tests of that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from annotation.core.labelling import NOT_MEASURED, Answer, Effort, OwnAnswer, PairTask
from annotation.models import Study, StudyItem, User
from annotation.services.claims import order_for
from annotation.services.labels import answer_pair
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_item,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
)

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def make_pair_study(
    annotators: list[User],
    *,
    items: int = 1,
    models: tuple[str, str] = ("secret-alpha", "secret-beta"),
    **fields: object,
) -> Study:
    """A study of pairs; of every second pair, the first model answered as response B."""
    dataset = make_dataset()
    scenario = make_scenario(dataset, name="Writing")
    study = make_study(dataset, annotators=annotators, **fields)
    for number in range(items):
        turn = make_turn(make_session(scenario), user_message=f"Question {number + 1}?")
        one, other = (models[number % 2], models[1 - number % 2])
        comparison = make_comparison(
            turn,
            response_a=make_response(turn, text=f"Reply A{number + 1}.", model=one, variant="a"),
            response_b=make_response(turn, text=f"Reply B{number + 1}.", model=other, variant="b"),
        )
        make_item(study, comparison=comparison)
    return study


def make_session_study(annotators: list[User], *, turns: int = 3, **fields: object) -> Study:
    """A study of one session to rate."""
    dataset = make_dataset()
    session = make_session(make_scenario(dataset, name="Travel"), task_context="Plan a trip.")
    for number in range(turns):
        turn = make_turn(session, user_message=f"Question {number + 1}?")
        make_response(turn, text=f"Reply {number + 1}.", model="secret-gamma", original=True)
    study = make_study(dataset, kind="SATISFACTION", annotators=annotators, **fields)
    make_item(study, session=session)
    return study


def make_repeat_study(annotators: list[User], *, items: int = 10, **fields: Any) -> Study:
    """A study of pairs whose first comes again right after the last."""
    study = make_pair_study(annotators, items=items, **{"repeat_rate": 0.1, **fields})
    first = study.items.order_by("position")[0]
    make_item(study, comparison=first.comparison, kind="REPEAT", repeat_of=first)
    return study


def give_repeat(item: StudyItem, annotator: User, now: datetime = NOW) -> StudyItem:
    """Give an annotator an item once more, without the others that would come in between."""
    target = {"comparison": item.comparison} if item.comparison else {"session": item.session}
    again = make_item(item.study, kind="REPEAT", repeat_of=item, **target)
    make_claim(
        again,
        annotator,
        shown_order=order_for(again, item.study, annotator),
        claimed_at=now,
        expires_at=now + timedelta(minutes=15),
    )
    return again


def answer(
    study: Study,
    task: PairTask,
    annotator: User,
    choice: Answer = Answer.FIRST,
    *,
    submission: UUID | None = None,
    now: datetime = NOW,
    effort: Effort = NOT_MEASURED,
    **told: Any,
) -> None:
    """Send an answer to the item at hand; `told` is what a `OwnAnswer` says besides."""
    given = {"strength": None, "both_bad": False, "comment": "", **told}
    answer_pair(
        study=study.slug,
        item=task.place.item,
        annotator=annotator,
        answer=OwnAnswer(choice, **given),
        submission=submission or uuid4(),
        now=now,
        effort=effort,
    )
