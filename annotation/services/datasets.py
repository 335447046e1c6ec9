"""Adding to what is labelled without a file: dialogues, responses, how labels were sampled."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max

from annotation.core.reasoning import REASONING
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Dataset,
    LabelSampling,
    Response,
    Scenario,
    Session,
    Study,
    StudyStatus,
    Turn,
    User,
    text_hash,
)

ResponseKey = tuple[int, str, str, str]
"""Turn, model, variant and hash of the text: what makes a response the same one."""


class NewResponse(NamedTuple):
    """A model's text for a turn; `continues` is the response of the turn before that it follows.

    None continues the original line. `reasoning` is what the model thought before, "" for nothing.
    """

    turn: int
    model: str
    variant: str
    text: str
    continues: int | None = None
    reasoning: str = ""

    @property
    def key(self) -> ResponseKey:
        """What it is found by."""
        return self.turn, self.model, self.variant, text_hash(self.text)


class AddedResponse(NamedTuple):
    """The response of a text, and whether it was not there before."""

    id: int
    is_new: bool


def add_responses(wanted: Sequence[NewResponse]) -> list[AddedResponse]:
    """Store responses behind those that their turns have; what is there already stays as it is.

    Equal texts of one model and variant on one turn are one response: the first is new. Called
    inside the transaction that records where they came from. Four queries at most.
    """
    known = _stored(wanted)
    last = dict(
        Response.objects.filter(turn__in={one.turn for one in wanted})
        .order_by()
        .values_list("turn")
        .annotate(last=Max("position"))
    )
    new: dict[ResponseKey, Response] = {}
    for one in wanted:
        if one.key in known or one.key in new:
            continue
        last[one.turn] = last.get(one.turn, -1) + 1
        new[one.key] = Response(
            turn_id=one.turn,
            model=one.model,
            variant=one.variant,
            text=one.text,
            text_hash=one.key[3],
            continues_id=one.continues,
            position=last[one.turn],
            extra={REASONING: one.reasoning} if one.reasoning else {},
        )
    if new:
        # Somebody else may store the same at the same moment: theirs is as good.
        # In one order for all, or each of two would wait for what the other has inserted.
        Response.objects.bulk_create([new[key] for key in sorted(new)], ignore_conflicts=True)
        known |= _stored([one for one in wanted if one.key in new])
    added = []
    for one in wanted:
        added.append(AddedResponse(known[one.key], is_new=one.key in new))
        new.pop(one.key, None)
    return added


class NewDialogue(NamedTuple):
    """A conversation: user messages with original replies (None: none) and their models' names."""

    key: str
    scenario: str
    language: str
    system_prompt: str
    turns: Sequence[tuple[str | None, str | None, str]]
    extra: Mapping[str, Any] = {}


def add_dialogues(dataset: Dataset, dialogues: Sequence[NewDialogue]) -> dict[str, int]:
    """The sessions of some dialogues by key, those written that the dataset does not have.

    Called inside a transaction. Seven queries at most.
    """
    known = dict(dataset.sessions.values_list("key", "pk"))
    new = [one for one in dialogues if one.key not in known]
    names = dict.fromkeys(one.scenario for one in new)
    Scenario.objects.bulk_create(
        [Scenario(dataset=dataset, name=name, position=at) for at, name in enumerate(names)],
        ignore_conflicts=True,
    )
    scenarios = dict(dataset.scenarios.values_list("name", "pk"))
    sessions = Session.objects.bulk_create(
        [
            Session(
                dataset=dataset,
                scenario_id=scenarios[one.scenario],
                key=one.key,
                position=len(known) + at,
                language=one.language,
                system_prompt=one.system_prompt,
                extra=dict(one.extra),
            )
            for at, one in enumerate(new)
        ],
        batch_size=_ROWS_AT_ONCE,
    )
    said = [
        (Turn(session=session, position=at, user_message=message), reply, model)
        for session, one in zip(sessions, new, strict=True)
        for at, (message, reply, model) in enumerate(one.turns)
    ]
    Turn.objects.bulk_create([turn for turn, _reply, _model in said], batch_size=_ROWS_AT_ONCE)
    Response.objects.bulk_create(
        [
            Response(turn=turn, text=reply, text_hash=text_hash(reply), model=model, original=True)
            for turn, reply, model in said
            if reply is not None
        ],
        batch_size=_ROWS_AT_ONCE,
    )
    return known | {session.key: session.pk for session in sessions}


_ROWS_AT_ONCE = 1000


def _stored(wanted: Collection[NewResponse]) -> dict[ResponseKey, int]:
    rows = Response.objects.filter(
        turn__in={one.turn for one in wanted},
        model__in={one.model for one in wanted},
        variant__in={one.variant for one in wanted},
        text_hash__in={one.key[3] for one in wanted},
    ).values_list("turn_id", "model", "variant", "text_hash", "pk")
    return {(turn, model, variant, digest): pk for turn, model, variant, digest, pk in rows}


@transaction.atomic
def state_sampling(*, dataset: str, statement: str, by: User | None, now: datetime) -> None:
    """Keep how imported labels were drawn, or take that back with an empty statement.

    With it they count as a random part of what a judge scored (benchmark.core.corrected): those
    that are there by then. Stated again it covers what came since.

    Args:
        dataset: its short name.
        statement: in the manager's own words.
        by: who states it; None for a command.
        now: the moment.

    Raises:
        Dataset.DoesNotExist: there is no such dataset.
    """
    row = Dataset.objects.select_for_update().get(slug=dataset)
    said = statement.strip()
    before = LabelSampling.objects.filter(dataset=row).first()
    if said == (before.statement if before else "") and not (before and now > before.stated_at):
        return
    if said:
        values = {"statement": said, "stated_by": by, "stated_at": now}
        LabelSampling.objects.update_or_create(dataset=row, defaults=values)
    elif before:
        before.delete()
    AuditEvent.objects.create(
        actor=by,
        action="dataset.label_sampling",
        target="dataset",
        target_id=row.pk,
        detail={"before": before.statement if before else "", "after": said},
    )


@transaction.atomic
def archive_dataset(
    *,
    dataset: str,
    name: str,
    under_way: Callable[[Dataset], bool],
    by: User,
    now: datetime,
) -> None:
    """Delete a dataset from everything that people and scripts read; its rows stay stored.

    Its studies are closed, and the trace says which status each had.

    Args:
        dataset: its short name.
        name: what was typed to confirm: the name or the short name.
        under_way: whether runs of the dataset go on.
        by: who deletes it.
        now: the moment.

    Raises:
        Dataset.DoesNotExist: there is no such dataset.
        Refused: another name was typed, or runs go on.
    """
    row = Dataset.objects.select_for_update().get(slug=dataset)
    if name.strip() not in {row.name.strip(), row.slug}:
        raise Refused("dataset:other-name")
    if under_way(row):
        raise Refused("dataset:runs-under-way")
    working = Study.objects.filter(
        dataset=row, status__in=[StudyStatus.OPEN, StudyStatus.PAUSED]
    ).order_by("pk")
    statuses = dict(working.values_list("slug", "status"))
    working.update(status=StudyStatus.CLOSED)
    row.archived_at = now
    row.save(update_fields=["archived_at"])
    AuditEvent.objects.create(
        actor=by,
        action="dataset.archived",
        target="dataset",
        target_id=row.pk,
        detail={"slug": row.slug, "studies": statuses},
    )
