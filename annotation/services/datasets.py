"""Adding to what is labelled without a file: responses that models gave here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from django.db.models import Max

from annotation.models import Response, text_hash

ResponseKey = tuple[int, str, str, str]
"""Turn, model, variant and hash of the text: what makes a response the same one."""


class NewResponse(NamedTuple):
    """A model's text for a turn; `continues` is the response of the turn before that it follows.

    None continues the original line.
    """

    turn: int
    model: str
    variant: str
    text: str
    continues: int | None = None

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


def _stored(wanted: Collection[NewResponse]) -> dict[ResponseKey, int]:
    rows = Response.objects.filter(
        turn__in={one.turn for one in wanted},
        model__in={one.model for one in wanted},
        variant__in={one.variant for one in wanted},
        text_hash__in={one.key[3] for one in wanted},
    ).values_list("turn_id", "model", "variant", "text_hash", "pk")
    return {(turn, model, variant, digest): pk for turn, model, variant, digest, pk in rows}
