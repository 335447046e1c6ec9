"""Which comparisons or sessions come into a study: filters, and a sample that can be balanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from annotation.core.assignment import Strata, draw_evenly, study_order
from annotation.core.choices import LabelledEnum, StudyKind
from annotation.core.refusals import gettext_noop


class Stratum(LabelledEnum):
    """What a sample has equal numbers of; the coarser first, where a sample is balanced over both.

    MODELS are unordered pairs of models, which only pairwise studies have.
    """

    MODELS = "MODELS", gettext_noop("Pair of models")
    SCENARIO = "SCENARIO", gettext_noop("Scenario")


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemChoice:
    """Which of a dataset's comparisons or sessions; without anything all of them.

    Attributes:
        scenarios: only these, by name.
        languages: only conversations in these, by primary language.
        models: only comparisons with a response by one of these.
        both_models: both responses must be by one of `models`.
        plan: only the comparisons of this pairing plan, by number.
        batch: of a plan only this batch, from 1.
        sample: at most so many, the first in the order of the splits.
        strata: what the sample has equal numbers of, as far as there are enough.
    """

    scenarios: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    both_models: bool = False
    plan: int | None = None
    batch: int | None = None
    sample: int | None = None
    strata: tuple[Stratum, ...] = ()

    def of_kind(self, kind: StudyKind) -> ItemChoice:
        """What of it says anything about a kind of study."""
        if kind is StudyKind.PAIRWISE:
            return self
        return ItemChoice(
            scenarios=self.scenarios,
            languages=self.languages,
            sample=self.sample,
            strata=tuple(each for each in self.strata if each is not Stratum.MODELS),
        )

    def stored(self) -> dict[str, Any]:
        """What was chosen, by the names above; what was not is left out."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name in self.__slots__
            if (value := getattr(self, name))
        }


EVERYTHING: Final = ItemChoice()


def stored_choice(stored: Mapping[str, Any]) -> ItemChoice:
    """The choice that `ItemChoice.stored` wrote."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()
    }
    values["strata"] = tuple(Stratum(each) for each in values.get("strata", ()))
    return ItemChoice(**values)


class StudyTarget(NamedTuple):
    """A comparison or session that a study can ask about, with what it is chosen by.

    `key` is "" and `models` are empty for a session; `language` is a primary language.
    """

    target: int
    session: str
    key: str
    scenario: str
    language: str
    models: tuple[str, ...]

    def strata(self, wanted: Iterable[Stratum]) -> Strata:
        """Where it stands in what is balanced, the coarser first."""
        own = {Stratum.MODELS: " | ".join(sorted(self.models)), Stratum.SCENARIO: self.scenario}
        return tuple(own[each] for each in Stratum if each in wanted)


def in_language(targets: Iterable[StudyTarget], choice: ItemChoice) -> list[StudyTarget]:
    """Those in a language that was chosen."""
    return [each for each in targets if not choice.languages or each.language in choice.languages]


def chosen_items(targets: Iterable[StudyTarget], choice: ItemChoice) -> list[StudyTarget]:
    """The sample in the order in which a study gives items out (`assignment.study_order`).

    Without strata it is the beginning of that order, so that studies of any size, and every
    annotator of one, share their development pairs.

    Args:
        targets: those that pass the filters.
        choice: says how many, and what they are balanced over.
    """
    order = study_order((each, each.session, each.key) for each in targets)
    if choice.sample is None or choice.sample >= len(order):
        return order
    drawn = draw_evenly(
        [(place, each.strata(choice.strata)) for place, each in enumerate(order)], choice.sample
    )
    return [order[place] for place in sorted(drawn)]


def inclusion_chances(
    targets: Sequence[StudyTarget], choice: ItemChoice, drawn: Collection[StudyTarget]
) -> dict[int, float] | None:
    """With what probability each target that was drawn came into the sample.

    The order is as good as random, and takes a comparison of each session before a second one.
    Without strata these are rounds: after r full ones and the share q of the next, a comparison of
    a session of m is in with probability (min(r, m) + q [m > r]) / m, for its rank in its session
    is as likely to be any of m, and the next round takes its sessions at random.

    Strata decide which places of the order are drawn; which target stands on a place is left to
    chance among those that could change places: of the same stratum, in sessions of which each
    holds as many of every stratum as the other. Given the places, each of m such targets of which
    c were drawn was as likely to be in as any other, so with c / m; in rounds over strata that is
    (r + q) / m with q 1 for a stratum that the last round reached, else 0.

    Args:
        targets: those that pass the filters.
        choice: by which they were drawn.
        drawn: `chosen_items` of these.

    Returns:
        None where some could not be drawn, so that the sample does not speak for all.
    """
    if not choice.strata:
        return _chances_in_rounds(targets, drawn)
    held: dict[str, list[Strata]] = {}
    for each in targets:
        held.setdefault(each.session, []).append(each.strata(choice.strata))
    alike = {session: tuple(sorted(strata)) for session, strata in held.items()}

    def place(target: StudyTarget) -> tuple[Strata, tuple[Strata, ...]]:
        return target.strata(choice.strata), alike[target.session]

    there, came = Counter(map(place, targets)), Counter(map(place, drawn))
    if there.keys() != came.keys():
        return None
    return {each.target: came[place(each)] / there[place(each)] for each in drawn}


def _chances_in_rounds(
    targets: Iterable[StudyTarget], drawn: Collection[StudyTarget]
) -> dict[int, float]:
    sizes = Counter(each.session for each in targets)
    left, full, share = len(drawn), 0, 0.0
    while left:
        in_round = sum(size > full for size in sizes.values())
        share = min(1.0, left / in_round)
        left -= min(left, in_round)
        full += 1
    # The last round, with its share, is the one after full - 1.
    return {
        each.target: (min(full - 1, sizes[each.session]) + share * (sizes[each.session] >= full))
        / sizes[each.session]
        for each in drawn
    }
