"""Whether a judge is personal: better than the base judge, and than other annotators' judges.

A judge that learned what everybody wants gains over the base judge as well, so that gain alone says
nothing of one annotator. What stands in for the others is asked about the same comparisons; only
where the annotator's own judge agrees with them more often is it theirs (protocols A1.7).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotation.core.choices import LabelledEnum, Verdict
from annotation.core.intervals import Interval
from annotation.core.refusals import gettext_noop
from annotation.core.significance import holm
from benchmark.core.accuracy import (
    Gain,
    InvalidPolicy,
    JudgedColumns,
    by_unit,
    gain,
    gain_of,
    session_units,
    share_interval,
)
from benchmark.core.before_after import NOTHING, Estimate
from benchmark.core.trust import (
    BASE,
    PERSONAL,
    SELECTED,
    STACK,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
    columns_by_voice,
)

LEVEL: Final = 0.05
"""Both p must be below, each adjusted by Holm for the annotators."""


class PersonalClaim(LabelledEnum):
    """What may be said; all but the first are a "not shown" with its reason."""

    SHOWN = "SHOWN", gettext_noop("personal")
    NOT_SHOWN = "NOT_SHOWN", gettext_noop("not shown")
    TOO_FEW = "TOO_FEW", gettext_noop("not shown: too few sessions")
    NOT_RUN = "NOT_RUN", gettext_noop("not shown: other annotators' judges were not run")
    ONLY_ONE = "ONLY_ONE", gettext_noop("not shown: only one annotator")


@dataclass(frozen=True, slots=True)
class PersonalGains:
    """What one annotator's judge gains over the base judge, and over the mean of the others'.

    `voice` is their judge: the weighted vote, or the selected set without one. `over_others` is on
    the comparisons that at least one of the judges of `others` decided as well; there the points of
    those who did are averaged.
    """

    voice: Condition
    over_base: Gain
    over_others: Gain
    others: tuple[str, ...]


def personal_gains(cases: Sequence[JudgedComparison], *, seed: int) -> PersonalGains | None:
    """The two gains; None where no preferences of the annotator decided anything.

    Verdicts that could not be read are left out.

    Args:
        cases: test comparisons of one annotator, with what the others' judges decided (OTHER).
        seed: of the bootstraps and the signs.
    """
    cases = [case.own for case in cases]
    if not any(case.decisions.get(PERSONAL) for case in cases):
        return None
    heard = {voice for case in cases for voice in case.decisions}
    others = sorted(voice for voice in heard if voice.panel is ConditionKind.OTHER)
    columns = columns_by_voice(cases, [BASE, PERSONAL, *others])
    is_stacked = any(case.decisions.get(STACK) for case in cases)
    told = columns[PERSONAL]
    beside = [columns[voice] for voice in others]
    return PersonalGains(
        voice=STACK if is_stacked else SELECTED,
        over_base=gain(columns[BASE].decided(), told.decided(), seed=seed),
        over_others=_gain_over_mean(beside, told, seed=seed),
        others=tuple(
            voice.annotator
            for voice, each in zip(others, beside, strict=True)
            if len(each.decided().key)
        ),
    )


def common_cases(cases: Iterable[JudgedComparison]) -> Iterator[JudgedComparison]:
    """Those that the annotator's own judge and that of somebody else both decided."""
    for case in cases:
        heard = {voice.panel for voice, told in case.decisions.items() if told}
        if case.own.decisions.get(PERSONAL) and ConditionKind.OTHER in heard:
            yield case


def _gain_over_mean(others: Sequence[JudgedColumns], own: JudgedColumns, *, seed: int) -> Gain:
    """The gain over the mean of several judges, paired by comparison."""
    if not others:
        return Gain(None, None, 0, None)
    policy = InvalidPolicy.EXCLUDED
    stakes = np.stack([each.untied().stakes(policy) for each in others])
    told = own.untied()
    after = told.stakes(policy)
    heard = (stakes[..., 1] > 0).sum(axis=0)
    mean = stakes.sum(axis=0) / np.maximum(heard, 1)[:, None]
    scored = (heard > 0) & (after[:, 1] > 0)
    return gain_of(
        by_unit(told.session[scored], np.hstack([mean, after])[scored]),
        comparisons=int(scored.sum()),
        seed=seed,
    )


def human_agreement(own: Iterable[HumanLabel], others: Iterable[Iterable[HumanLabel]]) -> Estimate:
    """How often the other annotators chose as this one: 0..1, over pairs of labels with winners.

    The units of the interval are sessions; `n` counts the pairs of labels.
    """
    chosen = {label.comparison: label for label in own if label.verdict is not Verdict.TIE}
    stakes: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for labels in others:
        for label in labels:
            mine = chosen.get(label.comparison)
            if mine is not None and label.verdict is not Verdict.TIE:
                stakes[label.comparison][0] += label.verdict is mine.verdict
                stakes[label.comparison][1] += 1
    if not stakes:
        return NOTHING
    sums = by_unit(session_units(chosen[key].unit for key in stakes), np.array([*stakes.values()]))
    total = sums.sum(axis=0)
    return Estimate(
        value=float(total[0] / total[1]),
        interval=share_interval(sums),
        n=int(total[1]),
    )


@dataclass(frozen=True, slots=True)
class PersonalRow:
    """What may be claimed of one annotator's judge over all scenarios, with what it rests on.

    Gains are -1..1 of agreement on `n` and `others_n` comparisons, `…_p` by sign flips over
    sessions, `…_p_holm` adjusted for the annotators of the dataset and judge. `voice` is the word
    of the panel that stands in for the annotator (stack or selected), `others` are those whose
    judges count. `human_agreement` is 0..1 over `human_n` pairs of labels. `edited` says that
    preferences were edited after their test verdicts were there to see.
    """

    annotator: str
    judge: str
    run: int
    voice: str
    claim: PersonalClaim
    n: int
    gain_over_base: float | None
    gain_over_base_low: float | None
    gain_over_base_high: float | None
    gain_over_base_p: float | None
    gain_over_base_p_holm: float | None
    others: tuple[str, ...]
    others_n: int
    gain_over_others: float | None
    gain_over_others_low: float | None
    gain_over_others_high: float | None
    gain_over_others_p: float | None
    gain_over_others_p_holm: float | None
    human_agreement: float | None
    human_agreement_low: float | None
    human_agreement_high: float | None
    human_n: int
    edited: bool


@dataclass(frozen=True, slots=True)
class PersonalEvidence:
    """What the claim of one annotator is made of; `people` are all who named a winner there."""

    annotator: str
    run: int
    gains: PersonalGains
    agreement: Estimate
    people: int
    edited: bool


def personal_rows(evidence: Sequence[PersonalEvidence], *, judge: str) -> tuple[PersonalRow, ...]:
    """The claims of the annotators of one dataset under one judge: one family for each gain."""
    base_p = holm([each.gains.over_base.p for each in evidence])
    others_p = holm([each.gains.over_others.p for each in evidence])
    return tuple(
        _row(each, judge, *adjusted)
        for each, *adjusted in zip(evidence, base_p, others_p, strict=True)
    )


def _row(
    each: PersonalEvidence, judge: str, base_p: float | None, others_p: float | None
) -> PersonalRow:
    base, others, agreement = each.gains.over_base, each.gains.over_others, each.agreement
    return PersonalRow(
        annotator=each.annotator,
        judge=judge,
        run=each.run,
        voice=each.gains.voice.panel.value.lower(),
        claim=claim_of(each.gains, base_p=base_p, others_p=others_p, people=each.people),
        n=base.comparisons,
        gain_over_base=base.value,
        gain_over_base_low=_low(base.interval),
        gain_over_base_high=_high(base.interval),
        gain_over_base_p=base.p,
        gain_over_base_p_holm=base_p,
        others=each.gains.others,
        others_n=others.comparisons,
        gain_over_others=others.value,
        gain_over_others_low=_low(others.interval),
        gain_over_others_high=_high(others.interval),
        gain_over_others_p=others.p,
        gain_over_others_p_holm=others_p,
        human_agreement=agreement.value,
        human_agreement_low=_low(agreement.interval),
        human_agreement_high=_high(agreement.interval),
        human_n=agreement.n,
        edited=each.edited,
    )


def claim_of(
    gains: PersonalGains, *, base_p: float | None, others_p: float | None, people: int
) -> PersonalClaim:
    """Personal where both gains are above zero with an adjusted p below LEVEL.

    Args:
        gains: of one annotator.
        base_p: the adjusted p of the gain over the base judge.
        others_p: that of the gain over the others' judges.
        people: annotators who named a winner in the dataset, this one included.
    """
    if people < 2:
        return PersonalClaim.ONLY_ONE
    if not gains.over_others.comparisons:
        return PersonalClaim.NOT_RUN
    if gains.over_base.interval is None or gains.over_others.interval is None:
        return PersonalClaim.TOO_FEW
    clear = [
        p is not None and p < LEVEL and (each.value or 0.0) > 0
        for each, p in ((gains.over_base, base_p), (gains.over_others, others_p))
    ]
    return PersonalClaim.SHOWN if all(clear) else PersonalClaim.NOT_SHOWN


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high
