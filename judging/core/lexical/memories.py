"""The sentences of a user memory that are not preferences, written and read back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from annotation.core.choices import Reason
from annotation.core.conversations import Message, Speaker
from judging.core.calibration import score_counts
from judging.core.lexical.distil import SALIENCE
from judging.core.lexical.features import FEATURES, SPREADS, Feature, Measures, measure
from judging.core.lexical.vocabulary import ParsedSentence, Strength, speakable, write
from judging.core.questions import HistoryTurn


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


_FORM: Final = frozenset(
    {
        Feature.STRUCTURE,
        Feature.LISTS,
        Feature.HEADINGS,
        Feature.BOLD,
        Feature.TABLES,
        Feature.STEPS,
        Feature.PARAGRAPHS,
        Feature.CODE,
    }
)
_FEW: Final = 2
"""Turns that a score group needs, statements of a text, turns cited from each side."""
_CITED: Final = 3
_DOUBT: Final = 8.0
"""Pairs of turns (harmonic) at which a difference is believed by half."""
_SLIGHT: Final = 0.15
_PLAIN: Final = 0.35
_STRONG: Final = 0.7


@dataclass(frozen=True, slots=True)
class _Measured:
    """A rated turn with its features."""

    turn: HistoryTurn
    values: Measures


def write_texts(history: Sequence[HistoryTurn], *, language: str) -> dict[str, object]:
    """The texts of a memory, with the keys of `core.memory.TEXT_FIELDS`.

    Args:
        history: at least one labelled turn of the user, none of the target scenario.
        language: "zh" or a code that starts with it gives Chinese, everything else English.
    """
    turns = [_Measured(turn, _measured(turn)) for turn in history]
    low, four, five = (
        [each for each in turns if each.turn.score in scores] for scores in ({1, 2, 3}, {4}, {5})
    )
    mostly = Counter(turn.score for turn in history).most_common(1)[0][0]
    return {
        "scoring_style": _statement(
            style(score_counts([t.score for t in history]), language=language),
            [turn for turn in history if turn.score == mostly],
        ),
        "four_vs_five_distinction": _distinction(five, four, language),
        "three_vs_four_distinction": _distinction(four, low, language),
        "user_specific_requirements": _complaints(history, language),
        "preferred_response_format": _form(turns, low, four, five, language),
        "task_specific_observations": _observations(history, language),
    }


def _measured(turn: HistoryTurn) -> Measures:
    return measure(turn.response, (Message(Speaker.USER, turn.user_message),))


def _statement(text: str, turns: Sequence[HistoryTurn]) -> dict[str, object]:
    return {"text": text, "turn_ids": [turn.turn_id for turn in turns[:_CITED]]}


def _distinction(
    better: Sequence[_Measured], worse: Sequence[_Measured], language: str
) -> dict[str, object]:
    return _said(_differences(better, worse), better, worse, language)


def _form(
    turns: Sequence[_Measured],
    low: Sequence[_Measured],
    four: Sequence[_Measured],
    five: Sequence[_Measured],
    language: str,
) -> dict[str, object]:
    """The usual answer, and what of its form goes with the user's higher scores."""
    better, worse = ([*four, *five], low) if len(low) >= _FEW else (five, four)
    said = _said(_differences(better, worse, among=_FORM), better, worse, language)
    usual = usual_answer(
        words=_typical(turns, Feature.LENGTH),
        marks=_typical(turns, Feature.STRUCTURE),
        language=language,
    )
    between = "" if language.startswith("zh") else " "
    return {**said, "text": f"{said['text']}{between}{usual}".strip()}


def _typical(turns: Sequence[_Measured], feature: Feature) -> int:
    """The geometric mean of a count that is measured as log2(1 + count)."""
    place = FEATURES.index(feature)
    return round(2 ** (sum(each.values[place] for each in turns) / len(turns)) - 1)


def _differences(
    better: Sequence[_Measured],
    worse: Sequence[_Measured],
    *,
    among: Collection[Feature] = FEATURES,
) -> list[ParsedSentence]:
    """What the better turns have more or less of, the most telling first.

    A difference of means counts in usual spreads, times how often people decide by the property,
    times n / (n + 8) with n = n1 n2 / (n1 + n2): few turns say little.
    """
    if len(better) < _FEW or len(worse) < _FEW:
        return []
    pairs = len(better) * len(worse) / (len(better) + len(worse))
    belief = pairs / (pairs + _DOUBT)
    found: list[tuple[float, ParsedSentence]] = []
    for place, feature in enumerate(FEATURES):
        gap = (_mean(better, place) - _mean(worse, place)) / SPREADS[place]
        value = gap * SALIENCE[feature] * belief
        sign = 1 if value > 0 else -1
        if feature in among and abs(value) >= _SLIGHT and speakable(feature, sign):
            found.append((abs(value), ParsedSentence(feature, sign, _strength(abs(value)))))
    return [statement for _, statement in sorted(found, key=lambda item: -item[0])[:_FEW]]


def _mean(turns: Sequence[_Measured], place: int) -> float:
    return sum(each.values[place] for each in turns) / len(turns)


def _strength(value: float) -> Strength:
    if value >= _STRONG:
        return Strength.STRONG
    return Strength.PLAIN if value >= _PLAIN else Strength.SLIGHT


def _said(
    statements: Sequence[ParsedSentence],
    better: Sequence[_Measured],
    worse: Sequence[_Measured],
    language: str,
) -> dict[str, object]:
    """The statements as a text that cites the turns which show the first of them best."""
    if not statements:
        return {"text": "", "turn_ids": []}
    first = statements[0]
    place = FEATURES.index(first.feature)

    def most(turns: Sequence[_Measured], sign: int) -> list[str]:
        shown = sorted(turns, key=lambda each: -sign * each.values[place])
        return [each.turn.turn_id for each in shown[:_FEW]]

    cited = [*most(better, first.sign), *most(worse, -first.sign)]
    return {"text": write(statements, language), "turn_ids": cited}


def _complaints(history: Sequence[HistoryTurn], language: str) -> list[dict[str, object]]:
    """The reasons of low scores, the most frequent first."""
    counts = Counter(turn.reason for turn in history if turn.reason is not None)
    said = []
    for reason, _ in counts.most_common():
        text = complaint(reason, language=language)
        if text is not None:
            said.append(_statement(text, [turn for turn in history if turn.reason is reason]))
    return said


def _observations(history: Sequence[HistoryTurn], language: str) -> list[dict[str, object]]:
    """How each scenario's scores differ from the others', in order of first appearance."""
    said: list[dict[str, object]] = []
    for scenario in dict.fromkeys(turn.scenario for turn in history):
        here = [turn for turn in history if turn.scenario == scenario]
        elsewhere = [turn for turn in history if turn.scenario != scenario]
        if elsewhere:
            gap = _mean_score(here) - _mean_score(elsewhere)
            text = observation(gap, turns=len(here), language=language)
            said.append(
                {
                    "task_name": scenario,
                    "observation": text,
                    "turn_ids": [turn.turn_id for turn in here[:_CITED]],
                }
            )
    return said


def _mean_score(turns: Sequence[HistoryTurn]) -> float:
    return sum(turn.score for turn in turns) / len(turns)
