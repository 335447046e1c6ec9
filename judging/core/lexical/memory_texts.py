"""The texts of a user memory, from contrasts between the user's own score groups.

What sets the answers that got a 5 apart from those that got a 4, and a 4 from a 3 or less, is
said in the sentences of the vocabulary, each with the turns that show it best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.dialogue import Message, Speaker
from judging.core.calibration import score_counts
from judging.core.lexical import memory_phrases
from judging.core.lexical.distil import SALIENCE
from judging.core.lexical.features import FEATURES, SPREADS, Feature, Measures, measure
from judging.core.lexical.vocabulary import ParsedSentence, Strength, speakable, write
from judging.core.questions import HistoryTurn

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
            memory_phrases.style(score_counts([t.score for t in history]), language=language),
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
    usual = memory_phrases.usual_answer(
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
        text = memory_phrases.complaint(reason, language=language)
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
            text = memory_phrases.observation(gap, turns=len(here), language=language)
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
