"""Which labels are a random part of what could have been labelled, and on whose word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import Final, NamedTuple

from django.db.models import Exists, OuterRef

from annotation.core.choices import StudyKind
from annotation.models import (
    Claim,
    ClaimState,
    Comparison,
    ItemKind,
    LabelSampling,
    Study,
    StudyItem,
)

_SAMPLE: Final = "sample"
_SCENARIOS: Final = "scenarios"
_STRATA: Final = "strata"


class Ground(StrEnum):
    """Why labels may speak for targets that nobody labelled."""

    ALL = "ALL"  # there are none of those
    STUDIES = "STUDIES"  # the beginning of the order in which a study gives items out
    STATED = "STATED"  # a manager says that the import is a random sample
    NONE = "NONE"


class RandomLabels(NamedTuple):
    """The labels that count, by their keys; all of them where nothing makes them random.

    `left_out` counts the others. `studies` are those that drew them, by name; `statement` is a
    manager's. `unfinished` are studies whose labels count once all of their items are answered.
    """

    keys: frozenset[Hashable]
    grounds: tuple[Ground, ...]
    left_out: int
    studies: tuple[str, ...] = ()
    statement: LabelSampling | None = None
    unfinished: tuple[str, ...] = ()

    @property
    def without_keys(self) -> RandomLabels:
        """All that a page says of them."""
        return self._replace(keys=frozenset())

    @property
    def is_random(self) -> bool:
        """Whether what counts is a random part of the targets."""
        return self.grounds != (Ground.NONE,)


class LabelOrigin(NamedTuple):
    """What a label is of (a comparison, or a session), its study, and since when it stands."""

    target: int
    study: int | None
    since: datetime


def stated_sampling(dataset: int) -> LabelSampling | None:
    """What a manager states of how a dataset's imported labels were drawn. One query."""
    return LabelSampling.objects.filter(dataset=dataset).select_related("stated_by").first()


def random_labels(
    dataset: int,
    kind: StudyKind,
    *,
    targets: Collection[int],
    labels: Mapping[Hashable, LabelOrigin],
    complete: bool,
    fewest: int,
    scenario: str | None = None,
) -> RandomLabels:
    """The labels that are a random part of the targets. Four queries at most.

    Args:
        dataset: whose.
        kind: PAIRWISE where targets are comparisons, else they are sessions.
        targets: what a judge scored.
        labels: by key, those on them.
        complete: whether every target is labelled.
        fewest: with fewer random ones than this all count, as no random part, if there are enough.
        scenario: where only one is asked about, its name.
    """
    everything = frozenset(labels)
    if complete:
        return RandomLabels(everything, (Ground.ALL,), 0)
    statement = stated_sampling(dataset)
    begun, unfinished = _begun(
        dataset,
        {each.study for each in labels.values() if each.study is not None},
        kind,
        frozenset(targets),
        scenario,
    )
    counted, drawn_by, is_stated = set(), set(), False
    for key, (target, study, since) in labels.items():
        if study is None and statement is not None and since <= statement.stated_at:
            counted.add(key)
            is_stated = True
        elif study in begun and target in begun[study].targets:
            counted.add(key)
            drawn_by.add(begun[study].name)
    if not counted or (len(counted) < fewest <= len(everything)):
        return RandomLabels(everything, (Ground.NONE,), 0, unfinished=unfinished)
    grounds = [Ground.STUDIES] * bool(drawn_by) + [Ground.STATED] * is_stated
    return RandomLabels(
        frozenset(counted),
        tuple(grounds),
        len(everything) - len(counted),
        tuple(sorted(drawn_by)),
        statement if is_stated else None,
    )


class _Begun(NamedTuple):
    name: str
    targets: frozenset[int]


def _begun(
    dataset: int,
    studies: Collection[int],
    kind: StudyKind,
    targets: frozenset[int],
    scenario: str | None,
) -> tuple[dict[int | None, _Begun], tuple[str, ...]]:
    """By study that could have drawn each of the targets, those that it asked about first.

    Those are its items up to the first that nobody answered or skipped; gold items, which are
    chosen by their answer, are none. Where the first are no random part of all, nothing counts
    before the last: the study's name is among the others then.
    """
    if not studies:
        return {}, ()
    answered = Claim.objects.filter(item=OuterRef("pk"), state=ClaimState.DONE)
    skipped = Claim.objects.filter(item=OuterRef("pk"), state=ClaimState.SKIPPED)
    target = "comparison_id" if kind is StudyKind.PAIRWISE else "session_id"
    items: dict[int, list[tuple[int, bool, bool]]] = {}
    rows = StudyItem.objects.filter(study__in=studies).exclude(kind=ItemKind.REPEAT)
    for study, item, is_gold, done, passed in (
        rows.annotate(done=Exists(answered), passed=Exists(skipped))
        .order_by("study", "position")
        .values_list("study", target, "kind", "done", "passed")
    ):
        own = items.setdefault(study, [])
        if item is not None:
            own.append((item, done or passed or is_gold == ItemKind.GOLD, is_gold != ItemKind.GOLD))
    sessions = _sessions(dataset) if kind is StudyKind.PAIRWISE and items else {}
    found: dict[int | None, _Begun] = {}
    unfinished = []
    for study in Study.objects.filter(pk__in=items.keys()).order_by("name"):
        own = items[study.pk]
        asked = frozenset(item for item, *_rest in own)
        begun = list(takewhile(lambda row: row[1], own))
        if (targets <= asked and len(begun) == len(own)) or _is_even(
            study, asked, targets, scenario, sessions
        ):
            found[study.pk] = _Begun(study.name, frozenset(row[0] for row in begun if row[2]))
        elif targets <= asked:
            unfinished.append(study.name)
    return found, tuple(unfinished)


def _sessions(dataset: int) -> dict[int, int]:
    """The session of each comparison."""
    rows = Comparison.objects.filter(turn__session__dataset=dataset)
    return dict(rows.values_list("pk", "turn__session_id"))


def _is_even(
    study: Study,
    items: frozenset[int],
    targets: frozenset[int],
    scenario: str | None,
    sessions: Mapping[int, int],
) -> bool:
    """Whether every target had the same chance to come first in the study.

    An order that has each session's first comparison before any second gives a comparison the
    less chance the more there are in its session; a balanced sample has its rare ones last.
    """
    filters = {name: value for name, value in study.selection.items() if value}
    sample = filters.pop(_SAMPLE, None)
    if scenario is not None and filters.get(_SCENARIOS) == [scenario]:
        del filters[_SCENARIOS]
    newest = study.newest_target
    if targets <= items:
        drawn_from = [sessions.get(each) for each in items]
        could = _STRATA not in filters
    else:
        could = sample is not None and not filters and newest is not None
        could = could and max(targets) <= (newest or 0)
        drawn_from = [session for each, session in sessions.items() if each <= (newest or 0)]
    held = Counter(drawn_from)
    return could and len({held[sessions.get(each)] for each in targets}) <= 1
