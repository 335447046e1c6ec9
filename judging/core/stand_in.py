"""The choice of what stands in for an annotator (protocols A1.6).

It is the base judge, unless another is right on two of ten dev pairs more that it did not learn
from: ten pairs say little, and the best of several on them says less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from annotation.core.refusals import gettext_noop
from judging.core.rules import Combine

MARGIN: Final = 0.2
"""Smallest lead in leave-one-out accuracy over the base judge: 2 of 10 pairs."""
STANDS_IN: Final = "stands_in"
"""Key of the choice in a stored selection."""
_ROUNDING: Final = 1e-9


def exceeds(accuracy: float, base: float | None) -> bool:
    """Whether an accuracy exceeds the base judge's by the margin; True without a base judge.

    Args:
        accuracy: 0..1, on dev pairs that were left out.
        base: the base judge's on the same pairs.
    """
    return base is None or accuracy - base >= MARGIN - _ROUNDING


@dataclass(frozen=True, slots=True)
class StandInChoice:
    """The choice, and the leave-one-out accuracies (0..1) on `pairs` dev pairs that it rests on.

    `base` is the base judge's, `subset` the selected set's, `stack` the weighted vote's, None where
    there is none. `optimistic` says that the vote's is too high: what its weights were learned from
    knew the pair. Without `base` nothing is known but the choice.
    """

    choice: Combine
    pairs: int = 0
    base: float | None = None
    subset: float | None = None
    stack: float | None = None
    optimistic: bool = False

    @classmethod
    def of(
        cls,
        *,
        base: float,
        subset: float,
        stack: float | None = None,
        pairs: int,
        optimistic: bool = False,
    ) -> StandInChoice:
        """Chooses the base judge, or what exceeds it by the margin: the vote, or a set without one.

        If the vote exceeds it, a set that is better still is chosen. A set beside a vote that does
        not is never chosen: so chosen, it lost to the base judge on data with nothing personal.
        """
        choice = Combine.SUBSET if stack is None else Combine.STACK
        if not exceeds(subset if stack is None else stack, base):
            choice = Combine.BASE
        elif stack is not None and subset > stack:
            choice = Combine.SUBSET
        return cls(choice, pairs, base, subset, stack, optimistic)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> StandInChoice:
        """Reads what `stored` returned."""
        return cls(**{**stored, "choice": Combine(stored["choice"])})

    @property
    def stored(self) -> dict[str, Any]:
        """Dictionary for JSON."""
        return {**asdict(self), "choice": self.choice.value}

    @property
    def reason(self) -> tuple[str, dict[str, str]]:
        """Reason as a sentence to translate, with its numbers of right dev pairs."""
        if self.base is None:
            return _PLAIN[self.choice], {}
        return _REASONS[self.choice, self.stack is not None], {
            "base": self._right(self.base),
            "set": self._right(self.subset),
            "vote": self._right(self.stack),
            "n": str(self.pairs),
            "more": self._right(MARGIN),
        }

    def _right(self, share: float | None) -> str:
        return "" if share is None else f"{share * self.pairs:.1f}".removesuffix(".0")


_PLAIN: Final = {
    Combine.BASE: gettext_noop(
        "The base judge stands in: on dev pairs nothing else was clearly better."
    ),
    Combine.STACK: gettext_noop("The weighted vote stands in."),
    Combine.SUBSET: gettext_noop("The selected preferences stand in."),
}
_REASONS: Final = {
    (Combine.BASE, False): gettext_noop(
        "The base judge stands in: the selected preferences were right on %(set)s of %(n)s dev "
        "pairs, the base judge on %(base)s; at least %(more)s more are required."
    ),
    (Combine.BASE, True): gettext_noop(
        "The base judge stands in: the weighted vote was right on %(vote)s of %(n)s dev pairs, the "
        "base judge on %(base)s; at least %(more)s more are required."
    ),
    (Combine.STACK, True): gettext_noop(
        "The weighted vote stands in: it was right on %(vote)s of %(n)s dev pairs, the selected "
        "preferences on %(set)s, the base judge on %(base)s; at least %(more)s more than the base "
        "judge are required."
    ),
    (Combine.SUBSET, False): gettext_noop(
        "The selected preferences stand in: they were right on %(set)s of %(n)s dev pairs, the "
        "base judge on %(base)s; at least %(more)s more are required."
    ),
    (Combine.SUBSET, True): gettext_noop(
        "The selected preferences stand in: they were right on %(set)s of %(n)s dev pairs, the "
        "weighted vote on %(vote)s, the base judge on %(base)s; at least %(more)s more than the "
        "base judge are required."
    ),
}
"""Keys: the choice, and whether there was a weighted vote."""
