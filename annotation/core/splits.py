"""The development and test parts of what an annotator labelled (protocols A1.1).

Comparisons of one session share texts, so they are never on both sides: sessions are drawn, each
gives one development comparison, and its other comparisons are in neither part.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor
from statistics import median
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

DEFAULT_DEV_SIZE: Final = 10
DEFAULT_SEED: Final = 42
FEW_DEV_PAIRS: Final = 5
"""Where the median scenario has fewer development pairs, all scenarios are one."""


class SplitSampling(LabelledEnum):
    """How the development part is drawn.

    DEFAULT: sessions in which the annotator named a winner, by the rank of their keys.
    PAPER: `random.seed(seed); random.sample(range(n), k)` over comparisons as in the code of seed
    001, whoever labelled them, in the order drawn. It takes k whenever n >= k, and comparisons of
    one session may be on both sides.
    """

    DEFAULT = "DEFAULT", gettext_noop("conversations in which the annotator named a winner")
    PAPER = "PAPER", gettext_noop("comparisons, as in the paper's code")


class Pooling(LabelledEnum):
    """Whether each scenario has a development part and a set of its own."""

    AUTO = "AUTO", gettext_noop("by scenario, or over all where scenarios have few pairs")
    SCENARIO = "SCENARIO", gettext_noop("by scenario")
    ALL = "ALL", gettext_noop("over all scenarios")


@dataclass(frozen=True, slots=True)
class SplitItem:
    """One comparison as the split sees it.

    Texts are compared for equality alone, so a hash serves as well; None is a text that is not
    available. `session` and `key` are the keys of the session and of the comparison.
    """

    comparison_id: int
    turn_id: int
    text_a: str | None
    text_b: str | None
    session: str
    key: str


@dataclass(frozen=True, slots=True)
class SplitSettings:
    """What a split depends on besides the items; stored with every run that uses it."""

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
    """Comparison ids by part, each in file order (paper sampling: dev in the order drawn).

    Repetitions, and the other comparisons of a session that gave a development pair, are in neither
    part.
    """

    dev: tuple[int, ...]
    test: tuple[int, ...]


def split(
    items: Sequence[SplitItem], settings: SplitSettings, *, winners: Collection[int]
) -> Split:
    """Splits comparisons given in file order.

    n sessions with a winner give min(k, floor(n/2)) development pairs, so that no scenario is ever
    dropped.

    Args:
        items: of one scenario, or of all that are pooled.
        settings: how many sessions are drawn, and how.
        winners: the comparisons in which the annotator named a winner.
    """
    standing = _standing(items)
    if settings.sampling is SplitSampling.PAPER:
        dev = _as_in_the_paper([item.comparison_id for item in standing], settings)
    else:
        dev = _by_rank([item for item in standing if item.comparison_id in winners], settings)
    return Split(dev, left_to_test(items, dev, settings.sampling))


def left_to_test(
    items: Sequence[SplitItem], dev: Collection[int], sampling: SplitSampling
) -> tuple[int, ...]:
    """What a development part leaves to test, in file order.

    Args:
        items: they may have come after the development part was drawn.
        dev: the comparisons in it, of these items and of others.
        sampling: how it was drawn.
    """
    drawn = frozenset(dev)
    standing = _standing(items)
    if sampling is SplitSampling.PAPER:
        return tuple(one.comparison_id for one in standing if one.comparison_id not in drawn)
    sessions = {item.session for item in items if item.comparison_id in drawn}
    return tuple(item.comparison_id for item in standing if item.session not in sessions)


def dev_pairs(sessions: int, *, size: int) -> int:
    """How many development pairs so many sessions with a winner give."""
    return size if sessions >= 2 * size else sessions // 2


def is_pooled(sessions: Mapping[int, int], pooling: Pooling, *, size: int) -> bool:
    """Whether one development part is drawn over all scenarios (protocols A1.1).

    A size below FEW_DEV_PAIRS asks for no more pairs than itself.

    Args:
        sessions: by scenario, those in which the annotator named a winner.
        pooling: what was asked for.
        size: development pairs of a scenario that has enough sessions.
    """
    if pooling is not Pooling.AUTO:
        return pooling is Pooling.ALL
    pairs = [dev_pairs(count, size=size) for count in sessions.values() if count]
    return len(pairs) > 1 and median(pairs) < min(FEW_DEV_PAIRS, size)


def sessions_to_own_parts(sessions: Mapping[int, int], *, size: int) -> int:
    """How many more sessions with a winner give the scenarios development parts of their own.

    They are added where most are already; 0 where nothing is pooled.

    Args:
        sessions: by scenario, those in which the annotator named a winner.
        size: as for `is_pooled`.
    """
    counts = {scenario: count for scenario, count in sessions.items() if count}
    wanted = 2 * min(FEW_DEV_PAIRS, size)
    while is_pooled(counts, Pooling.AUTO, size=size):
        fullest = max((each for each in counts if counts[each] < wanted), key=counts.__getitem__)
        counts[fullest] += 1
    return sum(counts.values()) - sum(sessions.values())


def rank_of(*keys: str) -> tuple[int, tuple[str, ...]]:
    """What sessions and comparisons are ordered by: the sha256 of their keys, then the keys."""
    digest = hashlib.sha256("\x1f".join(keys).encode()).digest()
    return int.from_bytes(digest, "big"), keys


def _standing(items: Sequence[SplitItem]) -> list[SplitItem]:
    """Those that do not repeat an earlier turn and unordered pair of texts.

    Texts that are not available are not known to be equal, so such items stand.
    """
    seen: set[tuple[int, str, str]] = set()
    standing: list[SplitItem] = []
    for item in items:
        if item.text_a is None or item.text_b is None:
            standing.append(item)
            continue
        low, high = sorted((item.text_a, item.text_b))
        key = (item.turn_id, low, high)
        if key not in seen:
            standing.append(item)
        seen.add(key)
    return standing


def _by_rank(items: Sequence[SplitItem], settings: SplitSettings) -> tuple[int, ...]:
    """The comparison of lowest rank of each of the sessions of lowest rank, in file order."""
    seed = str(settings.seed)
    first: dict[str, SplitItem] = {}
    for item in sorted(items, key=lambda one: rank_of(seed, one.session, one.key)):
        first.setdefault(item.session, item)
    sessions = sorted(first, key=lambda session: rank_of(seed, session))
    drawn = {
        first[session].comparison_id
        for session in sessions[: dev_pairs(len(sessions), size=settings.size)]
    }
    return tuple(item.comparison_id for item in items if item.comparison_id in drawn)


def _as_in_the_paper(ids: Sequence[int], settings: SplitSettings) -> tuple[int, ...]:
    # Below k the released code loses the scenario from both parts; none is lost here.
    size = settings.size if len(ids) >= settings.size else len(ids) // 2
    return tuple(random.Random(settings.seed).sample(ids, size))


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
    from numpy.random import RandomState  # here alone: every command imports this file

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
