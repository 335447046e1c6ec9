"""The development and test parts of a scenario: one split for all annotators (protocols A1.1)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from numpy.random import RandomState

from annotation.core.choices import LabelledEnum
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

DEFAULT_DEV_SIZE: Final = 10
DEFAULT_SEED: Final = 42


class SplitSampling(LabelledEnum):
    """How the development part is drawn.

    DEFAULT: a draw that depends on dataset, scenario, size and seed; kept in file order.
    PAPER: `random.seed(seed); random.sample(range(n), k)` as in the code of seed 001, in the
    order drawn, equal for all scenarios of one size. It takes k whenever n >= k.
    """

    DEFAULT = "DEFAULT", gettext_noop("by dataset, size and seed")
    PAPER = "PAPER", gettext_noop("as in the paper's code")


@dataclass(frozen=True, slots=True)
class SplitItem:
    """One comparison as the split sees it.

    Texts are compared for equality alone, so a hash serves as well; None is a text that is not
    available.
    """

    comparison_id: int
    turn_id: int
    text_a: str | None
    text_b: str | None


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """What a split depends on besides the items, stored with every run that uses it."""

    dataset: str
    scenario: str
    size: int = DEFAULT_DEV_SIZE
    seed: int = DEFAULT_SEED
    sampling: SplitSampling = SplitSampling.DEFAULT

    def __post_init__(self) -> None:
        """Refuses a size that could never leave a development part.

        Raises:
            ValueError: the size is below 1.
        """
        if self.size < 1:
            message = f"the dev split needs at least one comparison, not {self.size}"
            raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Split:
    """Comparison ids by part; `collapsed` are repetitions, which are in neither part."""

    dev: tuple[int, ...]
    test: tuple[int, ...]
    collapsed: tuple[int, ...]
    settings: SplitSettings


def split(items: Sequence[SplitItem], settings: SplitSettings) -> Split:
    """Splits one scenario's comparisons, given in file order, ties included.

    A scenario of n < 2k comparisons gives floor(n/2) to dev, so that none is ever dropped.
    """
    standing, collapsed = _collapse(items)
    positions = _draw(len(standing), settings)
    drawn = set(positions)
    return Split(
        dev=tuple(standing[position] for position in positions),
        test=tuple(one for position, one in enumerate(standing) if position not in drawn),
        collapsed=tuple(collapsed),
        settings=settings,
    )


def _collapse(items: Sequence[SplitItem]) -> tuple[list[int], list[int]]:
    """Ids that stand and ids that repeat an earlier turn and unordered pair of texts.

    Texts that are not available are not known to be equal, so such items stand.
    """
    seen: set[tuple[int, str, str]] = set()
    standing: list[int] = []
    collapsed: list[int] = []
    for item in items:
        if item.text_a is None or item.text_b is None:
            standing.append(item.comparison_id)
            continue
        low, high = sorted((item.text_a, item.text_b))
        key = (item.turn_id, low, high)
        (collapsed if key in seen else standing).append(item.comparison_id)
        seen.add(key)
    return standing, collapsed


def _draw(count: int, settings: SplitSettings) -> list[int]:
    """Positions of the development part."""
    size = settings.size
    if settings.sampling is SplitSampling.PAPER:
        # Below k the released code loses the scenario from both parts; none is lost here.
        return random.Random(settings.seed).sample(
            range(count), size if count >= size else count // 2
        )
    size = size if count >= 2 * size else count // 2
    return sorted(random.Random(_seed(settings)).sample(range(count), size))


def _seed(settings: SplitSettings) -> int:
    """A seed that differs by dataset, scenario and size, the same on every machine."""
    parts = (settings.dataset, settings.scenario, str(settings.size), str(settings.seed))
    return int.from_bytes(hashlib.sha256("\x1f".join(parts).encode()).digest(), "big")


TRAIN_SHARE: Final = 0.2
SEED: Final = 42


@dataclass(frozen=True, slots=True)
class UserSplit:
    """Names of users by part, each sorted as text; `neither` have conversations in one scenario."""

    train: tuple[str, ...]
    test: tuple[str, ...]
    neither: tuple[str, ...]


def split_users(
    sessions: Iterable[tuple[str, str]], *, train_share: float = TRAIN_SHARE, seed: int = SEED
) -> UserSplit:
    """Splits the users of some sessions; their order and number do not matter.

    Args:
        sessions: (user, scenario) of each conversation.
        train_share: share of the users for training, above 0 and below 1; the rest is the test.
        seed: of the draw, from 0 to 2^32 - 1.

    Raises:
        ValueError: the share is out of range, or there are too few users for two parts.
    """
    if not 0 < train_share < 1:
        raise ValueError(f"the training share must be between 0 and 1, not {train_share}")
    scenarios: dict[str, set[str]] = {}
    for user, scenario in sessions:
        scenarios.setdefault(user, set()).add(scenario)
    drawn = sorted(user for user, own in scenarios.items() if len(own) > 1)
    tests, trains = ceil((1 - train_share) * len(drawn)), floor(train_share * len(drawn))
    if not trains:
        message = (
            f"a training share of {train_share:g} selects none of the {len(drawn)} users with "
            "conversations in two or more scenarios"
        )
        raise ValueError(message)
    order = [drawn[place] for place in RandomState(seed).permutation(len(drawn))]
    return UserSplit(
        train=tuple(sorted(order[tests : tests + trains])),
        test=tuple(sorted(order[:tests])),
        neither=tuple(sorted(user for user, own in scenarios.items() if len(own) == 1)),
    )


def conversations(records: Iterable[SessionRecord]) -> Iterator[tuple[str, str]]:
    """User and scenario of each conversation, rated or not, as `split_users` wants them.

    Conversations that are nobody's own take no part.
    """
    return ((record.user, record.scenario) for record in records if record.user is not None)
