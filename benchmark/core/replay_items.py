"""Which turns candidates answer: all, a sample that knows no label, the paper's hard selection.

Or those of a frozen benchmark that was built of these conversations.

The hard selection (protocols B 2.2, `collect_static_replay`) goes by what the user said of the
original response, so whatever else is put in its place gains by regression to the mean.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from annotation.core.choices import LabelledEnum, Reason
from annotation.core.refusals import Refused, gettext_noop
from annotation.core.splits import rank_of

HARD_BUDGET: Final = 300
HARD_QUOTAS: Final[Mapping[int, int]] = {1: 25, 2: 50, 4: 75}
"""By score how many of HARD_BUDGET turns there are at least."""
FEWEST_CHARACTERS: Final = 20
"""Of a user's message that the paper takes for telling."""
_SPECIFIC: Final = frozenset(Reason) - {Reason.OTHER, Reason.NOT_RECORDED}
_A_BLOCK: Final = 3
_BEST: Final = 5
_SATISFIED: Final = 4
_SMALL_TALK: Final = re.compile(
    # Possessive: of two words with one beginning the longer stands first.
    r"(?:thanks?(?: you)?|thx|many thanks|ok(?:ay)?|yes|no|goodbye|good|great|fine|nice|got it|bye|"
    r"hi|hello|非常|太|很|那|就|我|知道|明白|了解|收到|好|的|了|吧|呢|啊|呀|是|嗯|哦|行|可以|不错|"
    r"没有|没|谢谢|感谢|多谢|你|您|再见|拜拜|满意)++",
    re.IGNORECASE,
)


class ItemRule(LabelledEnum):
    """How the turns of a replay are chosen."""

    ALL = "ALL", gettext_noop("all turns")
    SAMPLE = "SAMPLE", gettext_noop("a random sample, whatever the ratings")
    HARD = "HARD", gettext_noop("the paper's hard selection")
    VERSION = "VERSION", gettext_noop("the dialogues of a frozen benchmark")


class ReplaySelection(NamedTuple):
    """A rule, and how many turns at most, None for all of them; or the name of a version."""

    rule: ItemRule
    size: int | None = None
    version: str = ""

    @property
    def word(self) -> str:
        """As an argument of a command."""
        part = self.version or ("" if self.size is None else str(self.size))
        return self.rule.lower() + (f":{part}" if part else "")


def items_named(word: str) -> ReplaySelection:
    """What an argument names: all, sample:N, hard, hard:N or version:NAME.

    Raises:
        Refused: it is none of these, or N is not 1 or more.
    """
    name, _colon, size = word.partition(":")
    number = int(size) if size.isdecimal() and len(size) < len(str(10**9)) else 0
    if word == "all":
        return ReplaySelection(ItemRule.ALL)
    if word == "hard":
        return ReplaySelection(ItemRule.HARD, HARD_BUDGET)
    if name in ("sample", "hard") and number:
        return ReplaySelection(ItemRule(name.upper()), number)
    if name == "version" and size:
        return ReplaySelection(ItemRule.VERSION, version=size)
    known = "all, sample:N, hard, hard:N, version:NAME"
    raise Refused("replay:items", f"items are one of {known}, not {word!r}")


def frozen_turns(
    turns: Sequence[ReplayTurn], dialogues: Iterable[Mapping[str, Any]]
) -> list[ReplayTurn]:
    """The turns with which the dialogues of a version end; those edited since have no original.

    Args:
        turns: all there are.
        dialogues: each with its session's `key` and its `messages` by role, the request last.
    """
    ends = set()
    for each in dialogues:
        asked = [message["text"] for message in each["messages"] if message["role"] == "user"]
        ends.add((each["key"], len(asked) - 1, asked[-1]))
    return [one for one in turns if (one.session, one.position, one.request) in ends]


class ReplayTurn(NamedTuple):
    """A turn that could be answered anew in a user's stead.

    `position` is its place in the session, from 0; `score` and `reason` are what the user said of
    the original response, None where they did not rate it.
    """

    user: int
    scenario: str
    session: str
    position: int
    request: str
    score: int | None = None
    reason: Reason | None = None


def chosen_turns(turns: Sequence[ReplayTurn], choice: ReplaySelection, *, seed: int) -> list[int]:
    """The places of the turns that are replayed, in ascending order.

    Args:
        turns: all there are.
        choice: which of them.
        seed: of a sample; whatever the ratings, equal seeds draw equal turns.
    """
    if choice.size is None:
        return list(range(len(turns)))
    if choice.rule is ItemRule.HARD:
        return sorted(_hard(turns, choice.size))

    drawn = sorted(
        range(len(turns)),
        key=lambda at: rank_of(
            str(seed), turns[at].session, str(turns[at].position), str(turns[at].user)
        ),
    )
    return sorted(drawn[: choice.size])


def is_substantive(request: str) -> bool:
    """Whether a message asks for something: it is more than thanks, assent, greeting or farewell.

    The released code's own list of such words is not known; this one is ours.
    """
    words = re.sub(r"[\W_]+", " ", request).strip()
    return bool(words) and not all(_SMALL_TALK.fullmatch(word) for word in words.split())


def hard_points(turn: ReplayTurn) -> float | None:
    """What a turn is worth to the hard selection; None where it is not eligible.

    Not eligible are unrated turns, the first of a session, and small talk that satisfied.
    """
    if turn.score is None or turn.position < 1:
        return None
    telling = is_substantive(turn.request)
    if not telling and turn.score >= _SATISFIED:
        return None
    return (
        3.0 * (turn.score < _SATISFIED)
        + 2.0 * (turn.score in (3, 4))
        + 1.5 * (turn.reason in _SPECIFIC)
        + (1.0 if telling else -1.5)
        + 1.0 * (len(turn.request) >= FEWEST_CHARACTERS)
        - 0.5 * (turn.score == _BEST)
    )


def _hard(turns: Sequence[ReplayTurn], budget: int) -> set[int]:
    """The best turn of each user, then the quotas of scores, then whatever has most points.

    One a session at most, three a block, of these one with the best score. A smaller budget than
    the paper's has smaller quotas.
    """
    points = {at: worth for at, one in enumerate(turns) if (worth := hard_points(one)) is not None}
    ordered = sorted(points, key=lambda at: (-points[at], turns[at][:4]))
    taken = _Taken(turns, budget)
    for at in ordered:
        if turns[at].user not in taken.users:
            taken.add(at)
    for score, quota in HARD_QUOTAS.items():
        for at in (at for at in ordered if turns[at].score == score):
            if taken.scores[score] < quota * budget // HARD_BUDGET:
                taken.add(at)
    for at in ordered:
        taken.add(at)
    return taken.places


class _Taken:
    """What was selected so far, and what its limits leave room for."""

    def __init__(self, turns: Sequence[ReplayTurn], budget: int) -> None:
        self._turns = turns
        self._budget = budget
        self.places: set[int] = set()
        self.users: set[int] = set()
        self.scores: Counter[int | None] = Counter()
        self._sessions: set[tuple[int, str]] = set()
        self._blocks: Counter[tuple[int, str]] = Counter()
        self._best: set[tuple[int, str]] = set()

    def add(self, at: int) -> None:
        """Takes a turn where there is room for it."""
        one = self._turns[at]
        session, block = (one.user, one.session), (one.user, one.scenario)
        is_best = one.score == _BEST
        if (
            len(self.places) >= self._budget
            or session in self._sessions
            or self._blocks[block] >= _A_BLOCK
            or (is_best and block in self._best)
        ):
            return
        self.places.add(at)
        self.users.add(one.user)
        self.scores[one.score] += 1
        self._sessions.add(session)
        self._blocks[block] += 1
        if is_best:
            self._best.add(block)
