"""The paper's split of users into training and test (seed 003, released code; protocols B 2.2).

A user takes part with conversations in at least two scenarios: one to be judged, another as
history. The draw is scikit-learn's GroupShuffleSplit, written out so that nothing heavy is
imported to read a file: the sorted names are permuted by NumPy's legacy generator, the first
ceil(.8 n) are the test users and the next floor(.2 n) the training users.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import Final

from numpy.random import RandomState

from annotation.core.formats.records import SessionRecord

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
