"""Can this judge stand in for this annotator? The answer in one sentence.

It compares the judge with people, with the base judge and with the best rule that reads nothing,
in that order. Each comparison rests on a paired 95 % interval, never on the values alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from typing import Final, NamedTuple

from annotation.core.refusals import gettext_noop
from benchmark.core.accuracy import Accuracy, Gain
from benchmark.core.trust import BASE, FIRST, LONGER, SHORTER, TrustFigures

_CHANCE: Final = 0.5


class TrustVerdict(StrEnum):
    """The answer itself."""

    YES = "YES"
    NO = "NO"
    UNSURE = "UNSURE"


class Relation(StrEnum):
    """How a judge stands beside something else, by the interval of their difference."""

    BETTER = "BETTER"  # above zero
    ALIKE = "ALIKE"  # holds zero
    WORSE = "WORSE"  # below zero
    UNKNOWN = "UNKNOWN"  # there is no interval


class Clause(NamedTuple):
    """A part of the sentence: a text to translate, its shares (0..1), and its texts by name."""

    text: str
    shares: Mapping[str, float]
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """The verdict and what it rests on, in the order in which it is read."""

    verdict: TrustVerdict
    clauses: tuple[Clause, ...]

    def sentence(
        self, *, share: Callable[[float], str], translate: Callable[[str], str] = str
    ) -> str:
        """Writes the whole sentence.

        Args:
            share: writes a share of 0..1 with its percent sign.
            translate: gives a text in the reader's language.
        """
        parts = [
            translate(clause.text)
            % {
                **{name: share(value) for name, value in clause.shares.items()},
                **{name: translate(text) for name, text in clause.texts.items()},
            }
            for clause in self.clauses
        ]
        reasons = reduce(lambda one, more: translate(_THEN) % {"one": one, "more": more}, parts)
        return translate(_VERDICTS[self.verdict]) % {"reasons": reasons}


_THEN: Final = gettext_noop("%(one)s, %(more)s")
_VERDICTS: Final = {
    TrustVerdict.YES: gettext_noop("Yes: %(reasons)s."),
    TrustVerdict.NO: gettext_noop("No: %(reasons)s."),
    TrustVerdict.UNSURE: gettext_noop("Not enough evidence: %(reasons)s."),
}
_RULES: Final = {
    LONGER: gettext_noop("always choosing the longer response"),
    SHORTER: gettext_noop("always choosing the shorter response"),
    FIRST: gettext_noop("always choosing the response shown first"),
}
_BESIDE_BASE: Final = {
    Relation.BETTER: gettext_noop("preferences help (%(base)s → %(judge)s)"),
    Relation.ALIKE: gettext_noop("preferences make no clear difference (%(base)s → %(judge)s)"),
    Relation.WORSE: gettext_noop("preferences make it worse (%(base)s → %(judge)s)"),
    Relation.UNKNOWN: gettext_noop("without preferences %(base)s, with them %(judge)s"),
}
_BESIDE_RULE: Final = {
    Relation.BETTER: gettext_noop("better than %(rule)s (%(share)s)"),
    Relation.ALIKE: gettext_noop("no better than %(rule)s (%(share)s)"),
    Relation.WORSE: gettext_noop("but %(rule)s does better (%(share)s)"),
    Relation.UNKNOWN: gettext_noop("%(rule)s agrees %(share)s"),
}
_NOT_CLEARLY: Final = gettext_noop("not clearly better than %(rule)s (%(share)s)")
_LEAST_SEEN: Final = 0.005
"""Smallest lead, 0..1, that shows in whole percent."""


def relation(gain: Gain | None) -> Relation:
    """Classifies a paired gain by its interval."""
    if gain is None or gain.interval is None:
        return Relation.UNKNOWN
    if gain.interval.low > 0:
        return Relation.BETTER
    return Relation.WORSE if gain.interval.high < 0 else Relation.ALIKE


def trust_answer(figures: TrustFigures) -> TrustAnswer | None:
    """Returns the answer for what stands in for the annotator, else for the base judge.

    Returns None if the judge decided nothing that the annotator labelled.
    """
    result = figures.overall.result.agreement
    if result.value is None:
        return None
    return TrustAnswer(_verdict(figures, result), tuple(_clauses(figures, result, result.value)))


def _verdict(figures: TrustFigures, result: Accuracy) -> TrustVerdict:
    """Returns NO if people, the base judge, a rule or chance is clearly better.

    YES needs a judge that is clearly better than the best rule. If no rule decided anything, it
    needs one that is no worse than people, or better than the base judge.
    """
    people, base, rule = (
        relation(each) for each in (figures.over_people, _gain(figures), figures.over_rule)
    )
    interval = result.interval
    if Relation.WORSE in (people, base, rule) or (interval and interval.high < _CHANCE):
        return TrustVerdict.NO
    if interval is None or interval.low <= _CHANCE:
        return TrustVerdict.UNSURE
    is_proven = (
        people in (Relation.BETTER, Relation.ALIKE) or base is Relation.BETTER
        if figures.over_rule is None
        else rule is Relation.BETTER
    )
    return TrustVerdict.YES if is_proven else TrustVerdict.UNSURE


def _gain(figures: TrustFigures) -> Gain | None:
    """Returns the gain over the base judge, or None if the base judge itself decides."""
    overall = figures.overall
    return overall.own_gain if overall.result.voice != BASE else None


def _clauses(figures: TrustFigures, result: Accuracy, judge: float) -> Iterator[Clause]:
    overall = figures.overall
    people, base = figures.people, overall.base.agreement.value
    gain = _gain(figures)
    if people is not None:
        shares = {"people": people, "judge": judge}
        yield Clause(gettext_noop("colleagues agree %(people)s, the judge %(judge)s"), shares, {})
    elif gain is None or base is None:
        yield Clause(gettext_noop("the judge agrees %(judge)s"), {"judge": judge}, {})
    if gain is not None and base is not None:
        yield Clause(_BESIDE_BASE[relation(gain)], {"base": base, "judge": judge}, {})
    rule = overall.best_rule
    if rule is not None:
        beside = relation(figures.over_rule)
        lead = (figures.over_rule and figures.over_rule.value) or 0.0
        is_ahead = beside is Relation.ALIKE and lead >= _LEAST_SEEN
        yield Clause(
            _NOT_CLEARLY if is_ahead else _BESIDE_RULE[beside],
            {"share": rule.agreement.value or 0.0},
            {"rule": _RULES[rule.voice]},
        )
    if result.interval is None:
        yield Clause(gettext_noop("too few sessions to tell"), {}, {})
    elif result.interval.high < _CHANCE:
        yield Clause(gettext_noop("less often than chance"), {}, {})
    elif result.interval.low <= _CHANCE:
        yield Clause(gettext_noop("indistinguishable from chance"), {}, {})
