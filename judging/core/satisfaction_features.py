"""What a learned evaluator reads of a turn: numbers of its text and of what came before it.

A passage is a response with its request and the earlier turns of its session. It is read the
same way whether it stands in a user's history or is to be scored, and it holds no label, so no
label can reach a feature. Nothing after the response is read: what the user says next is not
known when a response is judged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np

from annotation.core.choices import LabelledEnum
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.intervals import FloatArray
from annotation.core.refusals import gettext_noop
from judging.core.lexical.features import FEATURES as LEXICAL
from judging.core.lexical.features import Feature, measure
from judging.core.questions import HistoryTurn
from judging.core.retrieval import ScoringTarget

SIZE: Final = 2**14
"""Hash buckets."""
CHARACTERS: Final = 3_000
"""Of a response; what follows says little new and costs time."""
MIN_TEXTS: Final = 3
"""A pair seen in fewer training texts is left out."""

Sparse = Any
"""A scipy.sparse matrix in CSR form; scipy carries no types."""


@dataclass(frozen=True, slots=True)
class TextSpace:
    """Weights of the hash buckets, learned from training texts without any label."""

    weights: FloatArray

    def vectors(self, counted: Sparse) -> Sparse:
        """Unit vectors of counted texts (n x SIZE); a text of unseen pairs alone is zero.

        A count n weighs 1 + ln n, times the bucket's weight.
        """
        from scipy import sparse

        scaled = counted.copy()
        scaled.data = (1.0 + np.log(scaled.data)) * self.weights[scaled.indices]
        rows = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
        norms = np.sqrt(np.bincount(rows, weights=scaled.data**2, minlength=scaled.shape[0]))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        return (sparse.diags(inverse) @ scaled).tocsr()


def passage_text(user_message: str, response: str) -> str:
    """The text of a turn: the request twice, then the response (as the nearest baseline has it)."""
    return f"{user_message} {user_message} {response[:CHARACTERS]}"


def counted(texts: Sequence[str]) -> Sparse:
    """How often each hash bucket occurs in each text, CSR of shape n x SIZE."""
    from scipy import sparse
    from sklearn.feature_extraction.text import HashingVectorizer

    if not texts:
        return sparse.csr_matrix((0, SIZE))
    return HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 2),
        n_features=SIZE,
        alternate_sign=False,
        norm=None,
    ).transform(texts)


def text_space(counts: Sparse) -> TextSpace:
    """Inverse document frequencies: ln((1 + n) / (1 + texts with it)) + 1, 0 where rare."""
    texts = counts.shape[0]
    found = np.bincount(counts.indices, minlength=SIZE)
    weights = np.log((1.0 + texts) / (1.0 + found)) + 1.0
    return TextSpace(np.where(found >= min(MIN_TEXTS, texts), weights, 0.0))


class Group(LabelledEnum):
    """What moves a prediction, as a person reads it."""

    LEVEL = "level", gettext_noop("general scoring of this user")
    LENGTH = "length", gettext_noop("response length")
    STRUCTURE = "structure", gettext_noop("structure: lists, headings, tables")
    STYLE = "style", gettext_noop("style")
    CONTENT = "content", gettext_noop("content: numbers, examples, steps")
    REQUEST = "request", gettext_noop("the request")
    POSITION = "position", gettext_noop("position in the conversation")
    CONTINUITY = "continuity", gettext_noop("connection to earlier turns")
    SCENARIO = "scenario", gettext_noop("the scenario")
    WORDING = "wording", gettext_noop("wording close to responses rated before")


@dataclass(frozen=True, slots=True)
class Passage:
    """One response in its session; `before` are the earlier requests and responses, in order."""

    scenario: str
    session_key: str
    task_context: str
    user_message: str
    response: str
    before: tuple[tuple[str, str], ...] = ()


Values = tuple[float, ...]

_OF_LEXICAL: Final = {
    Group.LENGTH: {Feature.LENGTH, Feature.SENTENCE_LENGTH, Feature.PARAGRAPHS},
    Group.STRUCTURE: {
        Feature.STRUCTURE,
        Feature.LISTS,
        Feature.HEADINGS,
        Feature.BOLD,
        Feature.TABLES,
        Feature.STEPS,
        Feature.CODE,
    },
    Group.CONTENT: {
        Feature.EXAMPLES,
        Feature.NUMBERS,
        Feature.SOURCES,
        Feature.REASONS,
        Feature.OPTIONS,
        Feature.CAUTIONS,
        Feature.CLOSENESS,
        Feature.FIT,
        Feature.LANGUAGE,
        Feature.ECHO,
        Feature.REFUSAL,
        Feature.COMPLETENESS,
    },
}
_OWN: Final[dict[str, Group]] = {
    "characters": Group.LENGTH,
    "lines": Group.STRUCTURE,
    "line_length": Group.LENGTH,
    "longer_than_request": Group.LENGTH,
    "longer_than_previous": Group.LENGTH,
    "longer_than_earlier": Group.LENGTH,
    "request_characters": Group.REQUEST,
    "request_lines": Group.REQUEST,
    "request_questions": Group.REQUEST,
    "request_numbers": Group.REQUEST,
    "request_complains": Group.REQUEST,
    "request_wants_more": Group.REQUEST,
    "request_thanks": Group.REQUEST,
    "request_asks": Group.REQUEST,
    "request_repeats": Group.REQUEST,
    "request_within_task": Group.REQUEST,
    "task_within_request": Group.REQUEST,
    "position": Group.POSITION,
    "first": Group.POSITION,
    "second": Group.POSITION,
    "previous_characters": Group.CONTINUITY,
    "like_previous": Group.CONTINUITY,
    "new_against_earlier": Group.CONTINUITY,
    "takes_up_request": Group.CONTENT,
    "covers_task": Group.CONTENT,
    "covers_task_at_first": Group.CONTENT,
    "task_covered_so_far": Group.CONTENT,
}
NAMES: Final = (*(feature.value for feature in LEXICAL), *_OWN)
"""The features, in the order of what `features_of` returns."""


def _group_of(feature: Feature) -> Group:
    return next((group for group, own in _OF_LEXICAL.items() if feature in own), Group.STYLE)


GROUPS: Final = (*(_group_of(feature) for feature in LEXICAL), *_OWN.values())
"""The group of each feature, in the order of NAMES."""

_COMPLAINTS: Final = (
    *("不对", "不是", "错", "没有", "不够", "太", "重新", "不行", "不满意", "不符合", "不想"),
    *("不要", "不需要", "不好", "但是", "可是", "怎么", "为什么", "还是", "不喜欢", "不合适"),
    *("过于", "无法", "wrong", "not what", "incorrect", "too ", "again", "but ", "don't", "cannot"),
)
_WISHES: Final = (
    *("具体", "详细", "更", "再", "其他", "还有", "补充", "细化", "完善", "调整", "修改", "换"),
    *("增加", "加入", "改", "more", "detail", "specific", "other", "add ", "change", "instead"),
)
_THANKS: Final = (
    *("谢谢", "感谢", "好的", "可以", "很好", "不错", "满意", "明白", "嗯", "行"),
    *("thank", "great", "good", "perfect", "okay"),
)
_QUESTIONS: Final = (
    *("推荐", "怎么", "如何", "什么", "哪", "吗", "多少", "请", "帮我", "给我", "建议"),
    *("recommend", "how ", "what ", "which ", "please", "suggest"),
)
_DIGITS: Final = re.compile(r"\d+")
_SPACE: Final = re.compile(r"\s+")


def passages(
    turns: Sequence[ScoringTarget | HistoryTurn], *, scenario: str = ""
) -> tuple[Passage, ...]:
    """The turns of some sessions, each with the turns of its session given before it.

    A session's turns stand in their order. Of several responses to one turn, which targets
    tell by their position, none is an earlier turn of another. Targets that bring the turns before
    them are read alone, so that nothing that is scored beside them moves them.

    Args:
        turns: of history, or targets.
        scenario: of the targets; a turn of history knows its own.
    """
    earlier: dict[str, list[ScoringTarget | HistoryTurn]] = {}
    found: list[Passage] = []
    for turn in turns:
        before = earlier.setdefault(turn.session_key, [])
        brought = turn.earlier if isinstance(turn, ScoringTarget) else None
        found.append(
            Passage(
                scenario=turn.scenario if isinstance(turn, HistoryTurn) else scenario,
                session_key=turn.session_key,
                task_context=turn.task_context,
                user_message=turn.user_message,
                response=turn.response,
                before=brought
                if brought is not None
                else tuple(
                    (one.user_message, one.response)
                    for one in before
                    if not _of_one_turn(one, turn)
                ),
            )
        )
        before.append(turn)
    return tuple(found)


def session_passages(
    sessions: Sequence[ScoringTarget | HistoryTurn], *, scenario: str = ""
) -> tuple[Passage, ...]:
    """Whole conversations as passages: the last response with its request, and what led to it.

    A request without a response, at the end, and empty responses are left out.

    Args:
        sessions: of history, or targets, at session level.
        scenario: of the targets; a session of history knows its own.
    """
    found = []
    for one in sessions:
        said, where = one.dialogue, scenario
        if isinstance(one, HistoryTurn):
            where = one.scenario
        elif one.response:
            said = (*said, Message(Speaker.ASSISTANT, one.response))
        *before, (request, response) = _exchanges(said) or [("", "")]
        found.append(
            Passage(
                scenario=where,
                session_key=one.session_key,
                task_context=one.task_context,
                user_message=request,
                response=response,
                before=tuple(before),
            )
        )
    return tuple(found)


def _exchanges(said: Dialogue) -> list[tuple[str, str]]:
    """Each response with all that the user wrote since the one before it."""
    found: list[tuple[str, str]] = []
    asked: list[str] = []
    for message in said:
        if message.role is Speaker.USER:
            asked.append(message.text)
        elif message.role is Speaker.ASSISTANT and message.text:
            found.append(("\n".join(asked), message.text))
            asked = []
    return found


def _of_one_turn(one: ScoringTarget | HistoryTurn, other: ScoringTarget | HistoryTurn) -> bool:
    return (
        isinstance(one, ScoringTarget)
        and isinstance(other, ScoringTarget)
        and one.position == other.position
    )


def features_of(passage: Passage) -> Values:
    """The features of a passage, in the order of NAMES; counts and lengths as log2(1 + n)."""
    request = (Message(Speaker.USER, passage.user_message),)
    return (*measure(passage.response, request), *_own(passage))


def _own(passage: Passage) -> Values:
    asked, answer = passage.user_message, passage.response
    length, request_length = _log(len(answer)), _log(len(asked))
    answer_grams, asked_grams = _bigrams(answer), _bigrams(asked)
    task_grams = _bigrams(passage.task_context)
    earlier = [_log(len(text)) for _, text in passage.before]
    previous = passage.before[-1][1] if passage.before else ""
    seen = frozenset[str]().union(*(_bigrams(text) for _, text in passage.before))
    lowered = asked.lower()
    lines = answer.count("\n")
    covered = _overlap(answer_grams, task_grams)
    first = float(not passage.before)
    return (
        length,
        _log(lines),
        _log(len(answer) / (1 + lines)),
        length - request_length,
        length - earlier[-1] if earlier else 0.0,
        length - sum(earlier) / len(earlier) if earlier else 0.0,
        request_length,
        _log(asked.count("\n")),
        float(asked.count("？") + asked.count("?")),
        _log(len(_DIGITS.findall(asked))),
        _count(lowered, _COMPLAINTS),
        _count(lowered, _WISHES),
        _count(lowered, _THANKS),
        _count(lowered, _QUESTIONS),
        max((_alike(asked_grams, _bigrams(text)) for text, _ in passage.before), default=0.0),
        _share(asked_grams, task_grams),
        _share(task_grams, asked_grams),
        _log(len(passage.before)),
        first,
        float(len(passage.before) == 1),
        earlier[-1] if earlier else 0.0,
        _alike(answer_grams, _bigrams(previous)),
        1.0 - _share(answer_grams, seen),
        _share(asked_grams, answer_grams),
        covered,
        covered * first,
        _share(task_grams, answer_grams | seen),
    )


def _log(count: float) -> float:
    return math.log2(1.0 + count)


def _count(lowered: str, words: Iterable[str]) -> float:
    return _log(sum(lowered.count(word) for word in words))


@lru_cache(maxsize=4_096)
def _bigrams(text: str) -> frozenset[str]:
    """The distinct pairs of adjacent characters, white space left out."""
    dense = _SPACE.sub("", text)
    return frozenset(map("".join, pairwise(dense)))


def _share(some: frozenset[str], among: frozenset[str]) -> float:
    """Share (0-1) of `some` that stands in `among`; 0 where there is nothing."""
    return len(some & among) / len(some) if some else 0.0


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Common bigrams as a share (0-1) of the smaller set."""
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Common bigrams as a share (0-1) of all."""
    union = len(one | other)
    return len(one & other) / union if union else 0.0
