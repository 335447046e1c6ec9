"""The sentences of a user memory that are not preferences: style, complaints, usual answers.

Each is written from numbers and read back from its words, so that a person may edit them. What
is a preference ("Prefers short answers.") stands in `vocabulary`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from annotation.core.choices import Reason


@dataclass(frozen=True, slots=True)
class UsualAnswer:
    """What this user's rated answers usually run to; None where the text does not say."""

    words: int | None = None
    marks: int | None = None


@dataclass(frozen=True, slots=True)
class _Language:
    """The sentences in one language; `styles` from the most lenient to the strictest."""

    styles: tuple[str, str, str, str]
    style: str
    usual: str
    higher: str
    lower: str
    same: str
    complaints: Mapping[Reason, str]


_ENGLISH: Final = _Language(
    styles=("leniently", "moderately", "rather strictly", "strictly"),
    style="Scores {style}: {mean:.1f} on average over {turns} turns, most often {mode}.",
    usual=(
        "Usual length: {words} words. "
        "Usual number of headings, list items, bold spans and table rows: {marks}."
    ),
    higher="Scores {gap:.1f} higher here than elsewhere ({turns} turns).",
    lower="Scores {gap:.1f} lower here than elsewhere ({turns} turns).",
    same="Scores as elsewhere ({turns} turns).",
    complaints=MappingProxyType(
        {
            Reason.INSUFFICIENT_DETAIL: "Complains of too little detail.",
            Reason.INSUFFICIENT_DIVERSITY: "Complains of too little choice.",
            Reason.REQUIREMENT_UNMET: "Complains of missed requirements.",
            Reason.UNUSABLE: "Complains of answers that are of no use.",
        }
    ),
)
_CHINESE: Final = _Language(
    styles=("偏宽松", "中等", "偏严格", "严格"),
    style="评分{style}：{turns}轮平均{mean:.1f}分，最常给{mode}分。",
    usual="通常长度：{words}个词。通常的标题、列表项、加粗和表格行：{marks}处。",
    higher="比其他场景高{gap:.1f}分（{turns}轮）。",
    lower="比其他场景低{gap:.1f}分（{turns}轮）。",
    same="与其他场景相同（{turns}轮）。",
    complaints=MappingProxyType(
        {
            Reason.INSUFFICIENT_DETAIL: "抱怨不够细致。",
            Reason.INSUFFICIENT_DIVERSITY: "抱怨不够多样。",
            Reason.REQUIREMENT_UNMET: "抱怨不满足需求。",
            Reason.UNUSABLE: "抱怨不可用。",
        }
    ),
)
_STYLE_FROM: Final = (4.4, 4.0, 3.6)
"""Mean scores from which the first three styles are said (seed 003's released code)."""

_WORDS: Final = re.compile(r"(?:length: |长度：) ?(\d{1,6})")
_MARKS: Final = re.compile(r"(?:rows: |表格行：) ?(\d{1,6})")


def style(counts: Sequence[int], *, language: str) -> str:
    """The scoring style of a history with at least one score; `counts` of 1-5, lowest first."""
    words, turns = _of(language), sum(counts)
    mean = sum(score * count for score, count in enumerate(counts, start=1)) / turns
    place = next((at for at, bound in enumerate(_STYLE_FROM) if mean >= bound), len(_STYLE_FROM))
    mode = max(range(1, len(counts) + 1), key=lambda score: (counts[score - 1], score))
    return words.style.format(style=words.styles[place], mean=mean, turns=turns, mode=mode)


def observation(gap: float, *, turns: int, language: str) -> str:
    """How one scenario's mean differs from the mean of the others."""
    words = _of(language)
    rounded = round(gap, 1)
    if rounded == 0:
        return words.same.format(turns=turns)
    sentence = words.higher if rounded > 0 else words.lower
    return sentence.format(gap=abs(rounded), turns=turns)


def complaint(reason: Reason, *, language: str) -> str | None:
    """The sentence for a reason, None for one that says nothing about answers."""
    return _of(language).complaints.get(reason)


def complaints_in(text: str) -> tuple[Reason, ...]:
    """The reasons that a text names, in the order of the text."""
    lowered = text.lower()
    found = {
        lowered.find(sentence.lower().rstrip(".。")): reason
        for language in (_ENGLISH, _CHINESE)
        for reason, sentence in language.complaints.items()
    }
    return tuple(found[place] for place in sorted(found) if place >= 0)


def usual_answer(*, words: int, marks: int, language: str) -> str:
    """The sentences that say what a usual answer is."""
    return _of(language).usual.format(words=words, marks=marks)


def usual_answer_in(text: str) -> UsualAnswer:
    """What a text says of the usual answer."""
    words, marks = _WORDS.search(text), _MARKS.search(text)
    return UsualAnswer(
        words=int(words.group(1)) if words else None, marks=int(marks.group(1)) if marks else None
    )


def _of(language: str) -> _Language:
    return _CHINESE if language.startswith("zh") else _ENGLISH
