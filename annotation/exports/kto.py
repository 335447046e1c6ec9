"""Ratings of replies as good or bad, to train by KTO on.

A row is one person's last rating of a reply. By default 4 and 5 are good, 1 and 2 are bad, and 3
is left out; with a threshold every rating from it on is good and every other one bad.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from django.db.models import Exists, OuterRef, QuerySet

from annotation.core.conversations import Speaker
from annotation.core.tables import Row
from annotation.exports.export import Export
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import in_order
from annotation.models import Dataset, Response, SatisfactionLabel
from annotation.queries.participants import names_of

GOOD_FROM: Final = 4
BAD_TO: Final = 2
LOWEST_THRESHOLD: Final = 2
HIGHEST_THRESHOLD: Final = 5
_COLUMNS: Final = (
    "prompt",
    "completion",
    "label",
    "score",
    "good_from",
    "bad_to",
    "annotator",
    "model",
    "variant",
    "scenario",
    "session",
    "turn",
)


def marked_replies(threshold: int | None = None) -> Export:
    """The export of ratings as good or bad.

    Args:
        threshold: The lowest good rating, all others being bad; None for `GOOD_FROM` and `BAD_TO`.
    """
    bounds = (GOOD_FROM, BAD_TO) if threshold is None else (threshold, threshold - 1)
    rows = partial(_rows, good_from=bounds[0], bad_to=bounds[1])
    return Export("kto", _COLUMNS, rows, empty="export:no-marked")


def count_undecided(dataset: Dataset) -> int:
    """How many ratings are neither good nor bad by `GOOD_FROM` and `BAD_TO`."""
    return _ratings(dataset).filter(score__gt=BAD_TO, score__lt=GOOD_FROM).count()


def has_marked(dataset: Dataset) -> bool:
    """Whether there is a row by `GOOD_FROM` and `BAD_TO`."""
    return _ratings(dataset).exclude(score__gt=BAD_TO, score__lt=GOOD_FROM).exists()


def _ratings(dataset: Dataset) -> QuerySet[SatisfactionLabel]:
    """Each person's last rating of each reply that has a text and a request."""
    ratings = SatisfactionLabel.objects.filter(
        response__turn__session__dataset=dataset,
        response__turn__user_message__isnull=False,
        response__text__isnull=False,
        repeat_index=0,
    )
    later = SatisfactionLabel.objects.filter(
        response=OuterRef("response"),
        annotator=OuterRef("annotator"),
        repeat_index=0,
        pk__gt=OuterRef("pk"),
    )
    return ratings.filter(~Exists(later))


def _rows(dataset: Dataset, *, good_from: int, bad_to: int) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    wanted = _ratings(dataset).exclude(score__gt=bad_to, score__lt=good_from)
    chunks = in_order(
        wanted,
        SatisfactionLabel.objects.select_related("response__turn__session__scenario"),
        "response__turn__session__position",
        "response__turn__session_id",
        "response__turn__position",
        "response__position",
        "pk",
    )
    for chunk in chunks:
        rated = [(rating, rating.response) for rating in chunk if rating.response is not None]
        dialogues = dialogues_before({response.turn for _rating, response in rated})
        for rating, response in rated:
            session = response.turn.session
            system = [_message(Speaker.SYSTEM, session.system_prompt)]
            yield {
                "prompt": [*system[: bool(session.system_prompt)], *dialogues[response.turn_id]],
                "completion": [_message(Speaker.ASSISTANT, response.text or "")],
                "label": rating.score >= good_from,
                "score": rating.score,
                "good_from": good_from,
                "bad_to": bad_to,
                "annotator": names[rating.annotator_id],
                **_origin(response),
            }


def _origin(response: Response) -> Row:
    session = response.turn.session
    return {
        "model": response.model,
        "variant": response.variant,
        "scenario": session.scenario.name,
        "session": session.key,
        "turn": response.turn.position + 1,
    }


def _message(speaker: Speaker, text: str) -> dict[str, str]:
    return {"role": speaker.value, "content": text}


KTO: Final = marked_replies()
