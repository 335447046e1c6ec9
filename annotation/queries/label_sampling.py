"""Which labels are a random part of what could have been labelled, and on whose word."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
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
    `chances` are None where every target was as likely; else, of what one study drew, by target the
    probability with which it did. `unknown` are studies that drew with probabilities which cannot
    be told, `partial` those of which the judge was asked about a part alone, which nobody drew, and
    `shared` those whose items several people shared, of whom one is asked for.
    """

    keys: frozenset[Hashable]
    grounds: tuple[Ground, ...]
    left_out: int
    studies: tuple[str, ...] = ()
    statement: LabelSampling | None = None
    unfinished: tuple[str, ...] = ()
    chances: Mapping[int, float] | None = None
    unknown: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()

    @property
    def without_keys(self) -> RandomLabels:
        """All that a page says of them."""
        nothing = None if self.chances is None else dict[int, float]()
        return self._replace(keys=frozenset(), chances=nothing)

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
    alone: Collection[int] = (),
) -> RandomLabels:
    """The labels that are a random part of the targets. Five queries at most.

    Comparisons that one study drew with known probabilities count where nothing else does.

    Args:
        dataset: whose.
        kind: PAIRWISE where targets are comparisons, else they are sessions.
        targets: what a judge scored.
        labels: by key, those on them.
        complete: whether every target is labelled.
        fewest: with fewer random ones than this all count, as no random part, if there are enough.
        scenario: where only one is asked about, its name.
        alone: annotators each of whose labels are to speak for the targets, not all together.
    """
    everything = frozenset(labels)
    if complete:
        return RandomLabels(everything, (Ground.ALL,), 0)
    statement = stated_sampling(dataset)
    begun, why_not = _begun(
        dataset,
        {each.study for each in labels.values() if each.study is not None},
        kind,
        frozenset(targets),
        scenario,
        alone,
    )
    counted, drawn_by, is_stated = set(), set(), False
    unevenly: dict[int, set[Hashable]] = {}
    for key, (target, study, since) in labels.items():
        if study is None and statement is not None and since <= statement.stated_at:
            counted.add(key)
            is_stated = True
        elif study in begun and target in begun[study].targets:
            if begun[study].chances is not None:
                unevenly.setdefault(study or 0, set()).add(key)
                continue
            counted.add(key)
            drawn_by.add(begun[study].name)
    largest = max(unevenly, key=lambda study: (len(unevenly[study]), study), default=None)
    if largest is not None and len(unevenly[largest]) >= fewest > len(counted):
        keys, (name, _targets, chances) = frozenset(unevenly[largest]), begun[largest]
        left_out = len(everything) - len(keys)
        return RandomLabels(keys, (Ground.STUDIES,), left_out, (name,), chances=chances)
    if not counted or (len(counted) < fewest <= len(everything)):
        return RandomLabels(
            everything,
            (Ground.NONE,),
            0,
            unfinished=tuple(why_not["unfinished"]),
            unknown=tuple(why_not["unknown"]),
            shared=tuple(why_not["shared"]),
        )
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
    chances: Mapping[int, float] | None = None


def _begun(
    dataset: int,
    studies: Collection[int],
    kind: StudyKind,
    targets: frozenset[int],
    scenario: str | None,
    alone: Collection[int],
) -> tuple[dict[int | None, _Begun], dict[str, list[str]]]:
    """By study that could have drawn each of the targets, those that it asked about first.

    Those are its items up to the first that nobody answered or skipped; gold items, which are
    chosen by their answer, are none. Where the first are no random part of all, nothing counts
    before the last: the study is `unfinished` then. At the end it is all of them, with the
    probabilities by which they were drawn, gold items too, if they were drawn of all targets; where
    none of these is known it is `unknown`. What one of several people was given of items that are
    not in an even order is no random part of them: unless everybody who counts alone had them all,
    it is `shared`.
    The second part names the studies of each of these.
    """
    why_not: dict[str, list[str]] = defaultdict(list)
    if not studies:
        return {}, why_not
    items = _items(studies, kind)
    sessions = sessions_of_comparisons(dataset) if kind is StudyKind.PAIRWISE and items else {}
    found: dict[int | None, _Begun] = {}
    for study in Study.objects.filter(pk__in=items.keys()).order_by("name"):
        own = items[study.pk]
        asked = frozenset(item.target for item in own)
        begun = list(takewhile(lambda item: item.is_over, own))
        whole = len(begun) == len(own)
        is_even = _is_even(study, asked, targets, scenario, sessions)
        is_shared = whole and not is_even and not _had_all(study, own, alone)
        if is_even or (targets <= asked and whole and not is_shared):
            normal = frozenset(item.target for item in begun if not item.is_gold)
            found[study.pk] = _Begun(study.name, normal)
        elif targets <= asked or _has_chances(study, own, targets, scenario):
            if not whole:
                why_not["unfinished"].append(study.name)
            elif is_shared:
                why_not["shared"].append(study.name)
            else:
                chances = {item.target: item.chance or 0.0 for item in own}
                found[study.pk] = _Begun(study.name, asked, chances)
        elif _lacks_chances(study, (item.chance for item in own)):
            why_not["unknown"].append(study.name)
    return found, why_not


def _had_all(study: Study, items: Collection[_Item], annotators: Collection[int]) -> bool:
    """Whether each of them answered or skipped every item. One query, or none for nobody."""
    if not annotators:
        return True
    over = Claim.objects.filter(
        item__study=study,
        item__kind=ItemKind.NORMAL,
        annotator__in=annotators,
        state__in=[ClaimState.DONE, ClaimState.SKIPPED],
    )
    had = Counter(over.values_list("annotator_id", flat=True))
    return all(had[each] == sum(not item.is_gold for item in items) for each in annotators)


class _Item(NamedTuple):
    """An item of a study: whether it is answered or skipped, or gold, which may stay open."""

    target: int
    is_over: bool
    is_gold: bool
    chance: float | None


def _items(studies: Collection[int], kind: StudyKind) -> dict[int, list[_Item]]:
    """What some studies ask about, in their order, without repeats. One query."""
    answered = Claim.objects.filter(item=OuterRef("pk"), state=ClaimState.DONE)
    skipped = Claim.objects.filter(item=OuterRef("pk"), state=ClaimState.SKIPPED)
    field = "comparison_id" if kind is StudyKind.PAIRWISE else "session_id"
    items: dict[int, list[_Item]] = {}
    rows = StudyItem.objects.filter(study__in=studies).exclude(kind=ItemKind.REPEAT)
    for study, target, item_kind, chance, done, passed in (
        rows.annotate(done=Exists(answered), passed=Exists(skipped))
        .order_by("study", "position")
        .values_list("study", field, "kind", "inclusion_chance", "done", "passed")
    ):
        own = items.setdefault(study, [])
        if target is not None:
            is_gold = item_kind == ItemKind.GOLD
            own.append(_Item(target, done or passed or is_gold, is_gold, chance))
    return items


def has_no_chances(study: Study) -> bool:
    """Whether a study's sample was balanced without a probability for any item.

    `inclusion_chances` says where there is none. One query where the sample was balanced.
    """
    known = study.items.filter(inclusion_chance__isnull=False)
    return _lacks_chances(study, known.values_list("inclusion_chance", flat=True)[:1])


def _lacks_chances(study: Study, chances: Iterable[float | None]) -> bool:
    balanced = study.kind == StudyKind.PAIRWISE and study.selection.get(_STRATA)
    return bool(balanced and study.selection.get(_SAMPLE)) and not any(chances)


def _has_chances(
    study: Study, items: Collection[_Item], targets: frozenset[int], scenario: str | None
) -> bool:
    """Whether a study drew comparisons of all targets, each with a probability that is known."""
    known = all(item.chance is not None for item in items)
    return known and study.kind == StudyKind.PAIRWISE and _could_draw(study, targets, scenario)


def sessions_of_comparisons(dataset: int) -> dict[int, int]:
    """The session of each comparison of a dataset. One query."""
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
    could = not study.selection.get(_STRATA)
    if targets <= items:
        drawn_from = [sessions.get(each) for each in items]
    else:
        could = could and _could_draw(study, targets, scenario)
        newest = study.newest_target or 0
        drawn_from = [session for each, session in sessions.items() if each <= newest]
    held = Counter(drawn_from)
    return could and len({held[sessions.get(each)] for each in targets}) <= 1


def _could_draw(study: Study, targets: frozenset[int], scenario: str | None) -> bool:
    """Whether a study drew a sample of all of the targets, at whatever chances."""
    filters = {name: value for name, value in study.selection.items() if value}
    sample = filters.pop(_SAMPLE, None)
    filters.pop(_STRATA, None)
    if scenario is not None and filters.get(_SCENARIOS) == [scenario]:
        del filters[_SCENARIOS]
    newest = study.newest_target
    return sample is not None and not filters and newest is not None and max(targets) <= newest
