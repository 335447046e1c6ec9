"""Publishing what an import staged: nobody sees a part of it, and no writer waits long for it.

Little is published in one transaction. Of much, the conversations that are new are first written
in short transactions with their labels, under a dataset that nobody sees; the transaction that
follows writes the rest and hands them over. What is left of an import that was killed in between is
cleared away by a later one.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Self

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Model, ProtectedError, QuerySet
from django.utils import timezone

from annotation.core.refusals import Refused
from annotation.models import (
    STAGED_RATERS,
    AuditEvent,
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Scenario,
    Session,
    SessionQuestionnaire,
    Turn,
    User,
)
from annotation.queries.datasets import is_archived
from annotation.services.imports.staging import Staging
from annotation.services.studies import draw_drafts_of

_log = logging.getLogger(__name__)

_AHEAD: Final = (
    User,
    Scenario,
    Session,
    Turn,
    Response,
    Comparison,
    PairwiseLabel,
    SatisfactionLabel,
    SessionQuestionnaire,
    GoldLabel,
)
"""What is written ahead of the rest where it is fresh, parents first."""

_PATHS: Final[Mapping[type[Model], tuple[str, ...]]] = {
    PairwiseLabel: ("comparison__turn__session",),
    SatisfactionLabel: ("response__turn__session", "session"),
    SessionQuestionnaire: ("session",),
    GoldLabel: ("comparison__turn__session", "response__turn__session", "session"),
    Comparison: ("turn__session",),
    Response: ("turn__session",),
    Turn: ("session",),
    Session: ("pk",),
}
"""How the session of a row is found, children first."""

_ROWS_AT_ONCE: Final = 50_000
_CHARS_AT_ONCE: Final = 64 * 1024 * 1024
"""So much is published in one transaction: a fraction of a second."""

_PART_ROWS: Final = 4000
_PART_SESSIONS: Final = 500
_LONGEST_PAUSE: Final = 0.1
_LEFT_AFTER: Final = timedelta(seconds=60)
"""An import that gave no sign of life for so long is gone."""


@dataclass(slots=True)
class ImportTarget:
    """The dataset that an import goes to, as it stood when the first row was read.

    A dataset without an id is to be made. `changed` are the columns that the file tells, `extended`
    the other fields of stored sessions to which it adds some.
    """

    dataset: Dataset
    last_import: int | None
    changed: set[str] = field(default_factory=set)
    extended: dict[int, dict[str, object]] = field(default_factory=dict)

    @classmethod
    def of(cls, slug: str) -> Self:
        """The dataset of a short name, stored or not.

        Raises:
            Refused: it was deleted.
        """
        stored = Dataset.objects.filter(slug=slug).first()
        if stored is None:
            if is_archived(slug):
                raise Refused("import:archived")
            return cls(Dataset(slug=slug, name=slug), None)
        return cls(stored, _last_import(stored))


def publish(
    staging: Staging, target: ImportTarget, *, actor: User | None, detail: Mapping[str, Any] | None
) -> None:
    """Store all that is staged, and the dataset itself; `detail` is for the audit log, if any.

    Raises:
        Refused: others wrote into the dataset since; nothing is stored.
    """
    clear_leftovers()
    hidden = _written_ahead(staging) if _is_much(staging) else None
    try:
        with transaction.atomic():
            _check(target)
            if hidden is not None:
                _beat(hidden)
            dataset = _stored(target, hidden)
            staging.publish(dataset, left_out=() if hidden is None else _AHEAD)
            if hidden is not None and hidden.pk != dataset.pk:
                _hand_over(hidden, dataset)
            extended = [Session(pk=pk, extra=extra) for pk, extra in target.extended.items()]
            Session.objects.bulk_update(extended, ["extra"], batch_size=_PART_SESSIONS)
            if detail is not None:
                AuditEvent.objects.create(
                    actor=actor,
                    action="import",
                    target="dataset",
                    target_id=dataset.pk,
                    detail=dict(detail),
                )
                if "gold" in detail:
                    draw_drafts_of(dataset)
    except BaseException as error:
        if hidden is not None:
            _clear_if_possible(hidden)
        if isinstance(error, IntegrityError):  # somebody stored what a row here stands for
            raise Refused("import:outrun") from error
        raise


def clear_leftovers() -> None:
    """Delete what imports left that were killed while they published."""
    silent = timezone.now() - _LEFT_AFTER
    for pk in Dataset.with_staged.filter(staged_at__lt=silent).values_list("pk", flat=True):
        _clear(pk)


def _is_much(staging: Staging) -> bool:
    return staging.fresh_rows() > _ROWS_AT_ONCE or staging.chars(Response, "text") > _CHARS_AT_ONCE


def _last_import(dataset: Dataset) -> int | None:
    done = AuditEvent.objects.filter(action="import", target="dataset", target_id=dataset.pk)
    return done.order_by("-pk").values_list("pk", flat=True).first()


def _check(target: ImportTarget) -> None:
    """Refuse where the dataset is no longer the one whose rows were compared."""
    if target.dataset.pk is None:
        if Dataset.objects.filter(slug=target.dataset.slug).exists():
            raise Refused("import:outrun")
        return
    locked = Dataset.objects.select_for_update(no_key=True).filter(pk=target.dataset.pk)
    if locked.first() is None or _last_import(target.dataset) != target.last_import:
        raise Refused("import:outrun")


def _stored(target: ImportTarget, hidden: Dataset | None) -> Dataset:
    """The dataset of the target: stored with what the file says of it."""
    dataset = target.dataset
    if dataset.pk is not None:
        if target.changed:
            dataset.save(update_fields=target.changed)
    elif hidden is None:
        dataset.save()
    else:
        dataset.pk, dataset.created_at = hidden.pk, hidden.created_at
        dataset.save(force_update=True)
    return dataset


def _hand_over(hidden: Dataset, dataset: Dataset) -> None:
    """Make what was written ahead part of a dataset that is stored already."""
    Session.objects.filter(dataset=hidden).update(dataset=dataset)
    Scenario.objects.filter(dataset=hidden).update(dataset=dataset)
    _delete(Dataset.with_staged.filter(pk=hidden.pk))


def _written_ahead(staging: Staging) -> Dataset:
    """A hidden dataset with all conversations that are new, written in short transactions."""
    slug = f"staged-{uuid.uuid4().hex}"
    hidden = Dataset.with_staged.create(
        slug=slug,
        name=slug,
        extra={STAGED_RATERS: staging.fresh_ids(User)},
        staged_at=timezone.now(),
    )
    try:
        for model in _AHEAD:
            for ids in staging.parts(model, _PART_ROWS):
                started = time.monotonic()
                with transaction.atomic():
                    _beat(hidden)
                    staging.publish_part(model, ids, hidden)
                # SQLite has no queue of writers: whoever waits must find it free to get it.
                time.sleep(min(time.monotonic() - started, _LONGEST_PAUSE))
    except BaseException:
        _clear_if_possible(hidden)
        raise
    return hidden


def _beat(hidden: Dataset) -> None:
    """Give a sign of life.

    Raises:
        Refused: none came for so long that the hidden dataset was cleared away.
    """
    now = timezone.now()
    beaten = Dataset.with_staged.filter(pk=hidden.pk, staged_at=hidden.staged_at)
    if not beaten.update(staged_at=now):
        raise Refused("import:outrun")
    hidden.staged_at = now


def _clear_if_possible(hidden: Dataset) -> None:
    """Delete a hidden dataset; where the database refuses, as on a full disk, it is left."""
    try:
        _clear(hidden.pk)
    except DatabaseError as error:
        _log.warning("what an import wrote ahead is left to the next import: %s", error)


def _clear(pk: int) -> None:
    """Delete a hidden dataset in short transactions; its import, if it is alive, will notice."""
    hidden = Dataset.with_staged.filter(pk=pk)
    hidden.update(staged_at=timezone.now())
    sessions = Session.objects.filter(dataset=pk).order_by("pk").values_list("pk", flat=True)
    while ids := list(sessions[:_PART_SESSIONS]):
        started = time.monotonic()
        with transaction.atomic():
            for model, paths in _PATHS.items():
                for path in paths:
                    _delete(model._default_manager.filter(**{f"{path}__in": ids}))  # noqa: SLF001
        time.sleep(min(time.monotonic() - started, _LONGEST_PAUSE))
    for row in hidden:
        for rater in User.objects.filter(pk__in=row.extra[STAGED_RATERS]):
            with suppress(ProtectedError):  # a later import has taken them over
                rater.delete()
    with transaction.atomic():
        _delete(Scenario.objects.filter(dataset=pk))
        _delete(hidden)


def _delete(rows: QuerySet[Any]) -> None:
    """In one statement: nothing else refers to rows that nobody sees."""
    rows._raw_delete(rows.db)  # noqa: SLF001 - what Django itself deletes such rows with
