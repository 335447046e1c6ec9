"""What a run would ask and cost, before it starts.

Costs are a range, for nobody knows how long a reply will be. At its low end prompts have the
estimator's tokens at the cheapest price, and replies one; likely figures take the mean length of
the endpoint's replies so far; the high end takes the bounds by which a budget is kept, so that a
run never costs more. A letter is one token at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, NamedTuple

from judging.core.chat import ChatRequest
from judging.core.memory import MemoryTexts, Statement
from judging.core.money import Prices, likely_input_tokens
from judging.core.runs import WRITING, StageName

ASSUMED_REFERENCE: Final = "An answer that is not written yet, of the usual length. " * 24
ASSUMED_PREFERENCE: Final = "A preference that is not written yet, of the usual length. " * 6
"""Stands for a preference that is still to be distilled: about 100 tokens."""
_ASSUMED: Final = Statement("What the history shows of this user, which is not written yet. " * 2)
ASSUMED_MEMORY: Final = MemoryTexts(_ASSUMED, _ASSUMED, _ASSUMED, (_ASSUMED,) * 3, _ASSUMED, ())
"""Stands for the texts of a memory that is still to be built: about 300 tokens."""


WIDE: Final = 10
"""Largest ratio of the ends of a cost range that is of use for planning."""


class TightRequest(NamedTuple):
    """The longest request that a judge gets, which may be longer than its context; all in tokens.

    With its reply it has at least `fewest` tokens, by the densest tokenizer and with a reply of
    one, and up to `most`, by the usual estimate and with the longest reply.
    """

    judge: str
    context: int
    fewest: int
    most: int

    @property
    def is_beyond(self) -> bool:
        """Whether the longest request is too long by any tokenizer: its call fails."""
        return self.fewest > self.context


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """A stage: its questions, those that cost nothing, and what the others would be.

    `stored` counts questions whose reply is there, `equal` those that share the call of another
    one.
    """

    stage: StageName
    questions: int
    stored: int
    equal: int
    calls: int
    input_tokens: int
    most_output_tokens: int
    cost_low: Decimal
    cost_at_most: Decimal

    def likely_output_tokens(self, mean: float | None) -> int | None:
        """Tokens of all replies where they are as long as so far, or as they may be at most.

        None where nobody knows: no reply came yet, and they may be longer than a letter.
        """
        if self.most_output_tokens <= self.calls:
            return self.most_output_tokens
        return None if mean is None else min(round(self.calls * mean), self.most_output_tokens)

    @property
    def is_writing(self) -> bool:
        """Whether preferences or memories are written in it, which another judge may do."""
        return self.stage in WRITING


class WriterRates(NamedTuple):
    """Who writes preferences or memories where the judge does not, and what that costs.

    `mean_output` is the mean length in tokens of that endpoint's replies so far.
    """

    name: str
    prices: Prices
    mean_output: float | None


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """A run that was asked for, stage by stage.

    `prices` and `mean_output`, the mean length of replies so far (None before the first), are those
    of the judge's endpoint; `writer` has those of the stages that another endpoint answers.
    `sampled` says that there were too many questions to write every prompt: the figures of a part,
    scaled. `name` tells a step apart from the others of its run.
    """

    annotator: str
    judge: str
    stages: tuple[StageEstimate, ...]
    prices: Prices
    mean_output: float | None
    sampled: bool
    writer: WriterRates | None = None
    name: str = ""

    @property
    def label(self) -> str:
        """Name of its line."""
        return self.name or ", ".join(filter(None, (self.annotator, self.judge)))

    @property
    def calls(self) -> int:
        """Calls that would be sent, repeated tries not counted."""
        return sum(stage.calls for stage in self.stages)

    @property
    def questions(self) -> int:
        """What would be asked, with what costs nothing."""
        return sum(stage.questions for stage in self.stages)

    @property
    def stored(self) -> int:
        """Questions that cost nothing, for their replies are there."""
        return sum(stage.stored for stage in self.stages)

    @property
    def equal(self) -> int:
        """Questions that cost nothing, for an equal one is asked."""
        return sum(stage.equal for stage in self.stages)

    @property
    def most_output_tokens(self) -> int:
        """Tokens of all replies where each reaches its limit."""
        return sum(stage.most_output_tokens for stage in self.stages)

    @property
    def input_tokens(self) -> int:
        """Tokens of all prompts, by the estimator."""
        return sum(stage.input_tokens for stage in self.stages)

    @property
    def output_tokens(self) -> int | None:
        """Likely tokens of all replies, None without any reply to tell from."""
        written = [_written(stages, mean) for stages, _prices, mean in self._sides]
        known = [one for one in written if one is not None]
        return sum(known) if len(known) == len(written) else None

    @property
    def cost_likely(self) -> Decimal | None:
        """Likely cost; None without prices, or without any reply to tell from."""
        return _sum([_likely(*side) for side in self._sides])

    @property
    def cost_low(self) -> Decimal | None:
        """What it costs where every reply is as short as can be; None without prices."""
        return self._priced([stage.cost_low for stage in self.stages])

    @property
    def cost_at_most(self) -> Decimal | None:
        """What it cannot cost more than, repeated tries not counted; None without prices."""
        return self._priced([stage.cost_at_most for stage in self.stages])

    def _priced(self, costs: Sequence[Decimal]) -> Decimal | None:
        known = all(prices.known for _stages, prices, _mean in self._sides)
        return sum(costs, start=Decimal(0)) if known else None

    @property
    def _sides(self) -> list[_Side]:
        """The stages of each endpoint that would be called; the judge's where none would."""
        judged = _Side(self.stages, self.prices, self.mean_output)
        if self.writer is None:
            return [judged]
        written = tuple(stage for stage in self.stages if stage.is_writing)
        rest = tuple(stage for stage in self.stages if not stage.is_writing)
        sides = [
            _Side(rest, self.prices, self.mean_output),
            _Side(written, self.writer.prices, self.writer.mean_output),
        ]
        return [side for side in sides if any(stage.calls for stage in side.stages)] or sides[:1]

    def to_json(self) -> dict[str, Any]:
        """Dictionary for `--json` output."""
        return {
            "name": self.label,
            "annotator": self.annotator,
            "judge": self.judge,
            "writer": self.judge if self.writer is None else self.writer.name,
            "stages": [
                {
                    "stage": stage.stage.value,
                    "questions": stage.questions,
                    "stored": stage.stored,
                    "equal": stage.equal,
                    "calls": stage.calls,
                    "input_tokens": stage.input_tokens,
                    "output_tokens_at_most": stage.most_output_tokens,
                }
                for stage in self.stages
            ],
            "calls": self.calls,
            "stored": self.stored,
            "equal": self.equal,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "output_tokens_at_most": self.most_output_tokens,
            "cost_low": _number(self.cost_low),
            "cost_likely": _number(self.cost_likely),
            "cost_at_most": _number(self.cost_at_most),
            "sampled": self.sampled,
        }


@dataclass(frozen=True, slots=True)
class Total:
    """Several runs together; money is None where a part of it is not known."""

    questions: int
    calls: int
    stored: int
    equal: int
    cost_low: Decimal | None
    cost_likely: Decimal | None
    cost_at_most: Decimal | None
    sampled: bool
    only_letters: bool

    @property
    def is_too_wide(self) -> bool:
        """Whether no likely cost is known and the most is over `WIDE` times the least."""
        if self.cost_likely is not None or self.cost_low is None or self.cost_at_most is None:
            return False
        return self.cost_at_most > WIDE * self.cost_low


def total_of(estimates: Sequence[RunEstimate]) -> Total:
    """The sums over some runs; those that call nobody cost nothing."""
    asking = [one for one in estimates if one.calls]
    return Total(
        questions=sum(one.questions for one in estimates),
        calls=sum(one.calls for one in estimates),
        stored=sum(one.stored for one in estimates),
        equal=sum(one.equal for one in estimates),
        cost_low=_sum([one.cost_low for one in asking]),
        cost_likely=_sum([one.cost_likely for one in asking]),
        cost_at_most=_sum([one.cost_at_most for one in asking]),
        sampled=any(one.sampled for one in estimates),
        only_letters=all(one.most_output_tokens <= one.calls for one in asking),
    )


def estimates_as_json(estimates: Sequence[RunEstimate]) -> dict[str, Any]:
    """Some runs with their sums, for scripts; a sum is null where a part is not known."""
    total = total_of(estimates)
    return {
        "calls": total.calls,
        "stored": total.stored,
        "equal": total.equal,
        "cost_low": _number(total.cost_low),
        "cost_likely": _number(total.cost_likely),
        "cost_at_most": _number(total.cost_at_most),
        "runs": [one.to_json() for one in estimates],
    }


class _Side(NamedTuple):
    """What one endpoint is asked."""

    stages: tuple[StageEstimate, ...]
    prices: Prices
    mean_output: float | None


def _written(stages: Sequence[StageEstimate], mean_output: float | None) -> int | None:
    written = [one.likely_output_tokens(mean_output) for one in stages]
    known = [one for one in written if one is not None]
    return sum(known) if len(known) == len(written) else None


def _likely(
    stages: Sequence[StageEstimate], prices: Prices, mean_output: float | None
) -> Decimal | None:
    written = _written(stages, mean_output)
    if written is None or not prices.known:
        return None
    read = sum(stage.input_tokens for stage in stages)
    return prices.of_tokens(input_tokens=read, output_tokens=written)


def _sum(parts: Sequence[Decimal | None]) -> Decimal | None:
    known = [part for part in parts if part is not None]
    return sum(known, start=Decimal(0)) if len(known) == len(parts) else None


def stage_estimate(
    stage: StageName,
    *,
    questions: int,
    looked_at: int,
    requests: Sequence[ChatRequest],
    unasked: int,
    prices: Prices,
) -> StageEstimate:
    """A stage from some of its questions.

    Args:
        stage: which.
        questions: how many it has.
        looked_at: how many of them were tried out.
        requests: the calls that those would make.
        unasked: how many of those need no judge: a text is missing, and they get an error code.
        prices: what a call costs.
    """
    scale = questions / looked_at if looked_at else 0.0
    distinct = list({one.key(): one for one in requests}.values())
    calls = round(len(distinct) * scale)
    equal = round((len(requests) - len(distinct)) * scale)
    return StageEstimate(
        stage=stage,
        questions=questions,
        stored=max(questions - calls - equal - round(unasked * scale), 0),
        equal=equal,
        calls=calls,
        input_tokens=round(sum(map(likely_input_tokens, distinct)) * scale),
        most_output_tokens=round(sum(one.sampling.max_tokens for one in distinct) * scale),
        cost_low=sum(map(prices.at_least, distinct), start=Decimal(0)) * Decimal(scale),
        cost_at_most=sum(map(prices.at_most, distinct), start=Decimal(0)) * Decimal(scale),
    )


def spread(count: int, *, most: int) -> range:
    """At most so many places out of `count`, evenly apart."""
    return range(0, count, max(1, -(-count // most)))


def _number(money: Decimal | None) -> float | None:
    return None if money is None else float(money)
