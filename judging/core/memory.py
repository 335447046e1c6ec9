"""User memories: what a user's labelled history says about how they score (seed 003, section 3.2).

The statistics are computed here over the WHOLE history; a judge writes the texts, each statement
with the ids of the turns it rests on (`memory_parsing` reads and validates them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from judging.core.calibration import HIGHEST, LOWEST, history_mean, score_counts
from judging.core.questions import HistoryTurn

SCHEMA_VERSION: Final = 1

TEXT_FIELDS: Final = (
    "scoring_style",
    "four_vs_five_distinction",
    "three_vs_four_distinction",
    "user_specific_requirements",
    "preferred_response_format",
    "task_specific_observations",
)
"""The keys of a judge's texts.

A statement is {"text", "turn_ids"}, or a plain string when it cites nothing;
`user_specific_requirements` is a list of statements and `task_specific_observations` a list of
{"task_name", "observation", "turn_ids"}; the other four are one statement each.
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence or two about the user; empty text means that the history shows nothing."""

    text: str
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """What the history shows about one scenario."""

    task_name: str
    observation: str
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryTexts:
    """The six texts of a memory."""

    scoring_style: Statement
    four_vs_five_distinction: Statement
    three_vs_four_distinction: Statement
    user_specific_requirements: tuple[Statement, ...]
    preferred_response_format: Statement
    task_specific_observations: tuple[Observation, ...]

    def cited(self) -> tuple[str, ...]:
        """Every cited turn id once, in order of first citation."""
        parts: tuple[Statement | Observation, ...] = (
            self.scoring_style,
            self.four_vs_five_distinction,
            self.three_vs_four_distinction,
            *self.user_specific_requirements,
            self.preferred_response_format,
            *self.task_specific_observations,
        )
        return tuple(dict.fromkeys(turn for part in parts for turn in part.turn_ids))

    def words(self) -> tuple[object, ...]:
        """All that is said, without the turns that it rests on; these differ by user."""
        return (
            self.scoring_style.text,
            self.four_vs_five_distinction.text,
            self.three_vs_four_distinction.text,
            tuple(item.text for item in self.user_specific_requirements),
            self.preferred_response_format.text,
            tuple((item.task_name, item.observation) for item in self.task_specific_observations),
        )


@dataclass(frozen=True, slots=True)
class ScenarioScores:
    """Score counts (1-5, lowest first) of one scenario of the history."""

    scenario: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScoreStatistics:
    """A history in numbers: counts of the scores 1-5, lowest first, and where they come from."""

    counts: tuple[int, ...]
    sessions: int
    scenarios: tuple[ScenarioScores, ...]

    @property
    def turns(self) -> int:
        """Number of labelled turns."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """Mean score, None without history."""
        return float(history_mean(self.counts)) if self.turns else None

    @property
    def can_compare_3_vs_4(self) -> bool:
        """Whether the history has scores of 3 and of 4, so that the boundary can be seen."""
        return self.counts[2] > 0 and self.counts[3] > 0

    @property
    def can_compare_4_vs_5(self) -> bool:
        """Whether the history has scores of 4 and of 5."""
        return self.counts[3] > 0 and self.counts[4] > 0


@dataclass(frozen=True, slots=True)
class Memory:
    """A user memory: statistics by code, texts by a judge or a person."""

    statistics: ScoreStatistics
    texts: MemoryTexts


@dataclass(frozen=True, slots=True)
class ScoreGroup:
    """Examples of one score, for the comparison of adjacent scores."""

    score: int
    turns: tuple[HistoryTurn, ...]
    total: int


def statistics(history: Sequence[HistoryTurn]) -> ScoreStatistics:
    """Counts of the whole history, in all and by scenario in order of first appearance."""
    by_scenario: dict[str, list[int]] = {}
    for turn in history:
        by_scenario.setdefault(turn.scenario, []).append(turn.score)
    return ScoreStatistics(
        counts=score_counts([turn.score for turn in history]),
        sessions=len({(turn.scenario, turn.session_key) for turn in history}),
        scenarios=tuple(
            ScenarioScores(name, score_counts(scores)) for name, scores in by_scenario.items()
        ),
    )


def grouped_examples(
    history: Sequence[HistoryTurn], *, per_score: int = 3
) -> tuple[ScoreGroup, ...]:
    """Examples grouped by score, highest first; scores that never occur are left out.

    Within a score the scenarios take turns, and within a scenario the sessions do, each in
    history order, so that a few examples show the breadth of the history.
    """
    groups: list[ScoreGroup] = []
    for score in range(HIGHEST, LOWEST - 1, -1):
        turns = [turn for turn in history if turn.score == score]
        if turns:
            groups.append(ScoreGroup(score, tuple(_spread(turns)[:per_score]), len(turns)))
    return tuple(groups)


def texts_to_json(texts: MemoryTexts) -> dict[str, object]:
    """The canonical form of the texts, as `parse_texts` reads them back."""
    return {
        "scoring_style": _statement_to_json(texts.scoring_style),
        "four_vs_five_distinction": _statement_to_json(texts.four_vs_five_distinction),
        "three_vs_four_distinction": _statement_to_json(texts.three_vs_four_distinction),
        "user_specific_requirements": [
            _statement_to_json(item) for item in texts.user_specific_requirements
        ],
        "preferred_response_format": _statement_to_json(texts.preferred_response_format),
        "task_specific_observations": [
            {
                "task_name": item.task_name,
                "observation": item.observation,
                "turn_ids": list(item.turn_ids),
            }
            for item in texts.task_specific_observations
        ],
    }


def statistics_to_json(stats: ScoreStatistics) -> dict[str, object]:
    """The statistics as stored beside the texts; mean and turns are for readers of the row."""
    return {
        "counts": list(stats.counts),
        "turns": stats.turns,
        "mean": stats.mean,
        "sessions": stats.sessions,
        "scenarios": [
            {"scenario": item.scenario, "counts": list(item.counts)} for item in stats.scenarios
        ],
    }


def content(memory: Memory) -> dict[str, object]:
    """A memory as data: {"version", "statistics", "texts"}, for rows and for `TurnQuestion`."""
    return {
        "version": SCHEMA_VERSION,
        "statistics": statistics_to_json(memory.statistics),
        "texts": texts_to_json(memory.texts),
    }


def render(memory: Memory, language: str) -> str:
    """The memory as the text block of a scoring prompt (seed 003, appendix H.2).

    Citations are left out: they are for people, and a judge that sees no history cannot use them.

    Args:
        memory: statistics and texts.
        language: "zh" or a code that starts with it gives Chinese, everything else English.
    """
    words = _CHINESE if language.startswith("zh") else _ENGLISH
    texts, stats = memory.texts, memory.statistics
    mean = "-" if stats.mean is None else f"{stats.mean:.2f}"
    spread = words.between.join(
        words.share.format(score=score, count=count)
        for score, count in enumerate(stats.counts, start=LOWEST)
    )
    lines = [
        words.style.format(text=texts.scoring_style.text or words.nothing),
        words.mean.format(mean=mean, turns=stats.turns, spread=spread),
        words.baseline.format(text=texts.three_vs_four_distinction.text or words.nothing),
        words.threshold.format(text=texts.four_vs_five_distinction.text or words.nothing),
        words.requirements,
        *_bullets([item.text for item in texts.user_specific_requirements], words.nothing),
        words.form.format(text=texts.preferred_response_format.text or words.nothing),
        words.observations,
        *_bullets(
            [
                words.observation.format(task=item.task_name, text=item.observation)
                for item in texts.task_specific_observations
            ],
            words.nothing,
        ),
    ]
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class _Words:
    """The labels of the block in one language."""

    style: str
    mean: str
    share: str
    between: str
    baseline: str
    threshold: str
    requirements: str
    form: str
    observations: str
    observation: str
    nothing: str


_ENGLISH: Final = _Words(
    style="Scoring style: {text}",
    mean="Historical average score: {mean} over {turns} turns ({spread})",
    share="score {score}: {count}",
    between=", ",
    baseline="Score-4 baseline: {text}",
    threshold="Score-5 threshold: {text}",
    requirements="User-specific requirements:",
    form="Preferred response format: {text}",
    observations="Task-specific observations:",
    observation="{task}: {text}",
    nothing="the history does not show it",
)
_CHINESE: Final = _Words(
    style="评分风格：{text}",
    mean="历史平均分：{mean}，共 {turns} 轮（{spread}）",
    share="{score}分×{count}",
    between=" / ",
    baseline="4分基线：{text}",
    threshold="5分门槛：{text}",
    requirements="用户特定要求：",
    form="偏好回复形式：{text}",
    observations="任务特定观察：",
    observation="{task}：{text}",
    nothing="历史中没有体现",
)


def _bullets(texts: Sequence[str], nothing: str) -> list[str]:
    return [f"- {text}" for text in texts] or [f"- {nothing}"]


def _statement_to_json(statement: Statement) -> dict[str, object]:
    return {"text": statement.text, "turn_ids": list(statement.turn_ids)}


def _spread(turns: Sequence[HistoryTurn]) -> list[HistoryTurn]:
    """Turns of one score in round-robin order over scenarios, then over sessions."""
    scenarios: dict[str, dict[str, list[HistoryTurn]]] = {}
    for turn in turns:
        scenarios.setdefault(turn.scenario, {}).setdefault(turn.session_key, []).append(turn)
    return _round_robin([_round_robin(list(sessions.values())) for sessions in scenarios.values()])


def _round_robin(queues: Sequence[Sequence[HistoryTurn]]) -> list[HistoryTurn]:
    longest = max(len(queue) for queue in queues)
    return [queue[place] for place in range(longest) for queue in queues if place < len(queue)]


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """Turns of other scenarios rated since, rated otherwise since, and taken back since.

    `is_emptied` tells that none is left, so that nothing could be written anew.
    """

    added: int = 0
    changed: int = 0
    removed: int = 0
    is_emptied: bool = False

    @property
    def turns(self) -> int:
        """How many turns in all."""
        return self.added + self.changed + self.removed


def history_change(before: Mapping[str, int], now: Mapping[str, int]) -> HistoryChange | None:
    """The difference of two histories by turn id and score; None where there is none."""
    change = HistoryChange(
        added=len(now.keys() - before.keys()),
        changed=sum(now[turn] != score for turn, score in before.items() if turn in now),
        removed=len(before.keys() - now.keys()),
        is_emptied=not now,
    )
    return change if change.turns else None


def history_of_evidence(evidence: Mapping[str, object]) -> dict[str, int]:
    """Turn ids to scores of the history that a memory was written from, as its row keeps it."""
    by_score = evidence.get("by_score")
    if not isinstance(by_score, dict):
        return {}
    return {str(turn): int(score) for score, turns in by_score.items() for turn in turns}
