"""The steps of a run by name, and what a run is about; rejudging with other rules.

A step is under way until none of its rows is pending.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from annotation.core.choices import Order, Verdict
from judging.core.rules import StackWay
from judging.core.stand_in import StandInChoice
from judging.core.targets import Basis


class StageName(StrEnum):
    """What a run is doing, stored in `JudgeRun.stage`."""

    DISTIL = "distil"
    REFERENCE = "reference"  # in estimates alone: it is within the step that judges
    JUDGE = "judge"
    GRADE = "grade"
    COMPARE = "compare"
    SELECT = "select"
    COMBINE = "combine"
    TRAIN = "train"
    LEARN = "learn"
    EXTRACT = "extract"
    CONDENSE = "condense"
    RUBRICS = "rubrics"
    MEMORY = "memory"
    SCORE = "score"
    CALIBRATE = "calibrate"
    GENERATE = "generate"
    SORT = "sort"
    REPHRASE = "rephrase"
    CLEAN = "clean"
    ATTACK = "attack"
    TRY = "try"
    UNIT = "unit"
    REPORT = "report"


class RegisteredKind(NamedTuple):
    """A kind of run of an app above this one.

    `label` is its name on pages, untranslated; `place` names its `kinds.Kind`, `rows` what gives
    the rows of a stage SORT; `words` are its settings, and values as "name=value", on pages.
    """

    label: str
    place: str
    words: Mapping[str, str] = MappingProxyType({})
    rows: str = ""


REGISTERED: Final[dict[str, RegisteredKind]] = {}
"""By the name in `JudgeRun.kind`; apps above add theirs in `ready()`."""

WRITING: Final = frozenset({StageName.DISTIL, StageName.MEMORY, StageName.REPHRASE})
"""Stages in which somebody writes what the judge then judges by: it may be another judge."""


WITHDRAWN: Final = frozenset({"score:no-turn", "comparison:no-text"})
"""Errors of rows whose rating or text was withdrawn after the run began: no call failed."""


@dataclass(frozen=True, slots=True)
class StageProgress:
    """The rows of one stage by status, and those without an answer by error code.

    `failed` are rows whose call failed, `withdrawn` those for which none was made, because their
    rating or text was withdrawn. `said` is what endpoints said of failed calls, by error code.
    """

    stage: StageName
    pending: int
    done: int
    unparseable: int
    failed: int
    errors: tuple[tuple[str, int], ...]
    withdrawn: int = 0
    said: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> int:
        """All rows of the stage."""
        return self.pending + self.done + self.unparseable + self.failed + self.withdrawn

    @property
    def answered(self) -> int:
        """Rows that need no further call."""
        return self.total - self.pending


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run and its stages, in the order in which they are gone through.

    `calls` are the replies that this run paid for, `second_tries` those that asked again for one
    that could not be read; tokens and cost are theirs, None where the endpoint does not say.
    `unpriced` have no known cost: `cost` is that of the others. `held` is the cost with that of
    calls under way, or of unknown fate, at their dearest. `pace` is replies paid for a second over
    the last minute, None where the run is not under way.
    """

    run_id: int
    kind: str
    status: str
    stage: str
    error_code: str
    error_detail: str
    stages: tuple[StageProgress, ...]
    calls: int
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    cost: float | None
    can_have_budget: bool
    budget: float | None
    held: float
    started_at: datetime | None
    heartbeat_at: datetime | None
    finished_at: datetime | None
    pace: float | None = None
    unpriced: int = 0
    second_tries: int = 0

    @property
    def total(self) -> int:
        """Rows of all stages."""
        return sum(stage.total for stage in self.stages)

    @property
    def answered(self) -> int:
        """Rows of all stages that need no further call."""
        return sum(stage.answered for stage in self.stages)

    @property
    def done(self) -> int:
        """Rows of all stages with an answer that could be read."""
        return sum(stage.done for stage in self.stages)

    @property
    def seconds(self) -> float | None:
        """How long the run has been at work, as its signs of life tell; None before the first."""
        end = self.finished_at or self.heartbeat_at
        if self.started_at is None or end is None:
            return None
        return max(0.0, (end - self.started_at).total_seconds())

    @property
    def calls_per_second(self) -> float | None:
        """Replies paid for a second; None where there were none."""
        return self.calls / self.seconds if self.calls and self.seconds else None

    @property
    def minutes_left(self) -> float | None:
        """How long the rows that wait take at the present pace; None where it is not known."""
        return (self.total - self.answered) / self.pace / 60 if self.pace else None

    @property
    def whole_cost(self) -> float | None:
        """What all calls cost together; None where that of any is not known."""
        return None if self.unpriced else self.cost

    @property
    def told_cost(self) -> float | None:
        """The whole cost, 0 where calls have a price and none was made."""
        return 0.0 if self.can_have_budget and not self.calls else self.whole_cost

    @property
    def unsettled(self) -> float:
        """What is held for calls without a stored reply."""
        return max(0.0, self.held - (self.cost or 0.0))

    @property
    def errors(self) -> tuple[tuple[str, int], ...]:
        """Rows without an answer by error code, the most frequent first."""
        counts: dict[str, int] = {}
        for stage in self.stages:
            for code, count in stage.errors:
                counts[code] = counts.get(code, 0) + count
        return tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0])))

    @property
    def said(self) -> dict[str, str]:
        """What endpoints said of failed calls, by error code."""
        return dict(said for stage in self.stages for said in stage.said)


def sum_of_costs(found: Iterable[tuple[int, float | None]]) -> float | None:
    """What runs cost together, from the calls and told cost of each; None where any is unknown."""
    costs = [cost for calls, cost in found if calls or cost is not None]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


@dataclass(frozen=True, slots=True)
class DistilledScenario:
    """One scenario of a distillation; "" for all of them as one.

    `dev` counts the dev comparisons with a winner, `columns` the preferences tried (the base judge
    is column 0), `selected` the columns of the chosen set. Accuracies are shares of row-orders,
    None where nothing could be selected; `error_code` then says why. The set is `used` where its
    leave-one-out accuracy exceeds that of the base judge by enough; `stand_in` says what decides.
    `control_accuracy` is what the same procedure reaches on flipped labels, the mean over their
    draws.
    """

    scenario: str
    dev: int
    ties: int
    test: int
    columns: int
    selected: tuple[int, ...]
    texts: tuple[str, ...]
    dev_accuracy: float | None
    leave_one_out: float | None
    null_p95: float | None
    p_value: float | None
    base_accuracy: float | None
    p_over_base: float | None
    used: bool
    stand_in: StandInChoice
    control_accuracy: float | None
    error_code: str


@dataclass(frozen=True, slots=True)
class JudgedTotals:
    """Judgments of a test run by outcome, and the replies it paid for, second tries among them.

    `said` is what the endpoint said of failed calls, by error code.
    """

    judged: int
    failed: int
    unparseable: int
    calls: int
    errors: tuple[tuple[str, int], ...]
    cost: float | None = None
    second_tries: int = 0
    said: Mapping[str, str] = field(default_factory=dict)


Winners = tuple[tuple[int, Verdict], ...]
"""Comparison ids with the response that the annotator chose, in file order."""

FOR_ABLATION: Final = "ablation"
"""In the configuration of a distillation that only an ablation looks at."""
TARGETS: Final = "targets"
"""In the configuration of a run that judges more or less than the test part, or elsewhere."""
HISTORY: Final = "history_dataset"
"""In the configuration of a satisfaction run over all of a dataset: where the history was rated."""
UNSCORED: Final = "unscored"
"""In the configuration of a run over comparisons of which none counts for agreement."""
OTHERS: Final = "others"
"""In the configuration of a test run: how many other annotators' judges it asks, of how many."""
SELECTION: Final = "selection"
"""In the configuration of a run that plans comparisons: its filters, as the plan stores them."""
MOST_OTHERS: Final = 5
"""Of more other annotators so many are drawn by the seed: each adds as many calls."""
SCENARIOS: Final = "scenarios"
"""In the configuration of a pairwise run: its plans."""
COLUMNS: Final = "columns"
"""In the configuration of a run over edited preferences: what it judges under."""


@dataclass(frozen=True, slots=True)
class DistilPlan:
    """One scenario of a distillation, or all of them as one: `scenario_id` None, `scenario` "".

    `dev` is the annotator's development part, which later runs keep to; `winners` are their labels
    in it, `shuffled` the same with half of them flipped (empty without the control) and
    `more_shuffled` the same drawn again, `dev_ties` those left out. `test_winners` are their labels
    on the rest.
    """

    scenario_id: int | None
    scenario: str
    dev: tuple[int, ...]
    winners: Winners
    shuffled: Winners
    dev_ties: int
    test_winners: Winners
    test_ties: int
    more_shuffled: tuple[Winners, ...] = ()

    @property
    def draws(self) -> tuple[Winners, ...]:
        """The labels of the control, one after the other; empty ones without it."""
        return (self.shuffled, *self.more_shuffled)

    @property
    def flipped(self) -> Winners:
        """The control's labels that are not the annotator's, in file order, each once."""
        places = {comparison: place for place, (comparison, _) in enumerate(self.winners)}
        drawn = {label for draw in self.draws for label in draw}
        return tuple(sorted(drawn.difference(self.winners), key=lambda label: places[label[0]]))


class WeightedWay(NamedTuple):
    """A way to judge with what it weighs, 0..1, and the ids of the preferences that vote in it."""

    way: StackWay
    weight: float
    members: tuple[int, ...]


class OtherJudge(NamedTuple):
    """What stands in for another annotator in one scenario, as a control (protocols A1.7).

    `preferences` are what it judges under, by id, the base judge where nothing better was learned.
    Of the annotator's test comparisons it is not asked about `learned_from`: those of sessions that
    it was learned from. Where there are `ways`, those are asked, and `preferences` is the weighted
    vote computed from them.
    """

    annotator: int
    preferences: tuple[int, ...]
    learned_from: tuple[int, ...]
    ways: tuple[WeightedWay, ...] = ()

    @property
    def asked(self) -> tuple[int, ...]:
        """What the judge is asked under."""
        members = tuple(key for way in self.ways for key in way.members)
        return members or self.preferences


@dataclass(frozen=True, slots=True)
class AppliedPlan:
    """One scenario of a test run: what is judged, and whose votes are counted.

    `selected` and `shuffled` are preference ids; `None` where the run judges without such a set.
    `more_shuffled` are those of the control's further draws. `stack` is the id of the weighted
    vote, where it stands in; then `shuffled_votes` says that the control's draws are such votes,
    and not sets. Of a set that was selected as the paper's code does, `tied` are its
    equally good subsets, each as the sum of 2^i over the places i in `selected` of its members;
    `inverted` has their decisions mean the other response. Where there are `ways`, the weighted
    vote is computed from what they decide, and the control's from `shuffled_ways`; else the judge
    is asked under its text.
    The base judge is always there. An ablation over a pooled distillation has `scenario_id` None.
    `winners` are the labels that figures of agreement count. `unscored` is judged beside them:
    what is not labelled, ties, and of what was learned from (`learned_from`) all that was asked.
    `others` judge the comparisons of `winners` too.
    """

    scenario_id: int | None
    scenario: str
    winners: Winners
    ties: int
    base: int
    selected: tuple[int, ...] | None = None
    shuffled: tuple[int, ...] | None = None
    sets: Mapping[str, int] = field(default_factory=dict)
    stack: int | None = None
    unscored: tuple[int, ...] = ()
    learned_from: tuple[int, ...] = ()
    basis: Basis = Basis.BASE
    more_shuffled: tuple[tuple[int, ...], ...] = ()
    tied: tuple[int, ...] = ()
    inverted: bool = False
    others: tuple[OtherJudge, ...] = ()
    ways: tuple[WeightedWay, ...] = ()
    shuffled_ways: tuple[WeightedWay, ...] = ()
    shuffled_votes: bool = False

    @property
    def subsets(self) -> tuple[tuple[int, ...], ...]:
        """The selected sets, by preference ids: one, or all that are tied; none without any."""
        if self.selected is None:
            return ()
        whole = self.selected
        tied = (
            tuple(key for place, key in enumerate(whole) if mask >> place & 1) for mask in self.tied
        )
        return tuple(tied) or (whole,)

    @property
    def draws(self) -> tuple[tuple[int, ...], ...]:
        """The control's sets, one a draw of labels; none without it."""
        return () if self.shuffled is None else (self.shuffled, *self.more_shuffled)

    @property
    def control(self) -> tuple[tuple[int, ...], ...]:
        """The draws, where they are used in the way of what stands in; none beside the base judge.

        Runs of an earlier time have sets beside a weighted vote.
        """
        is_base = self.stack is None and self.selected in (None, (self.base,))
        return () if is_base or self.shuffled_votes != (self.stack is not None) else self.draws

    @property
    def comparisons(self) -> tuple[int, ...]:
        """Every comparison to judge, by id."""
        return (*(comparison for comparison, _winner in self.winners), *self.unscored)

    @property
    def fresh(self) -> tuple[int, ...]:
        """Those that nothing was learned from."""
        known = frozenset(self.learned_from)
        return tuple(comparison for comparison in self.comparisons if comparison not in known)

    @property
    def preferences(self) -> tuple[int, ...]:
        """Every preference of the annotator's to judge under, the base judge first, each once."""
        stack = tuple(key for way in self.ways for key in way.members)
        if self.stack is not None and not self.ways:
            stack = (self.stack,)
        control = [key for draw in self.draws for key in draw]
        if self.shuffled_ways:
            control = [key for way in self.shuffled_ways for key in way.members]
        return tuple(dict.fromkeys([self.base, *(self.selected or ()), *stack, *control]))

    def cells(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Every comparison with all preferences that it is judged under, those of others last."""
        others = [(self.judged_by(other), other.asked) for other in self.others]
        for comparison in self.comparisons:
            beside = (key for asked, keys in others if comparison in asked for key in keys)
            yield comparison, tuple(dict.fromkeys((*self.preferences, *beside)))

    def votes(self) -> Iterator[tuple[int, tuple[WeightedWay, ...], Collection[int]]]:
        """Weighted votes to compute: the preference that stands for each, its ways, on what."""
        if self.ways and self.stack is not None:
            yield self.stack, self.ways, self.comparisons
        if self.shuffled_ways and self.shuffled is not None:
            yield self.shuffled[0], self.shuffled_ways, self.comparisons
        for other in self.others:
            if other.ways:
                yield other.preferences[0], other.ways, self.judged_by(other)

    def judged_by(self, other: OtherJudge) -> frozenset[int]:
        """The comparisons that another annotator's judge is asked about."""
        return frozenset(key for key, _winner in self.winners).difference(other.learned_from)


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """The preferences that one scenario is judged under, by id, the base judge's first.

    `control` says from which labels they were distilled, `draw` from which draw of them;
    `scenario_id` is None for all scenarios.
    """

    scenario_id: int | None
    control: str
    preferences: tuple[int, ...]
    draw: int = 0


ORDERS = (Order.ORIGINAL, Order.SWAPPED)
