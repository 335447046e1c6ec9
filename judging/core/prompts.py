"""Prompts are text files: judging/prompts/<name>.v<version>.<language>.txt, stored with a hash.

A value (what users and models wrote) enters a prompt in one pass, so nothing in it is taken for a
placeholder, and with the prompts' own delimiters neutralised, so nothing in it can end its place,
open another one or change who speaks. What it says stays as it is: a value may name a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from annotation.core.choices import Reason
from annotation.core.refusals import Refused
from judging.core.calibration import LOWEST
from judging.core.memory import ScoreGroup, ScoreStatistics
from judging.core.money import shorten
from judging.core.questions import HistoryTurn, Rubrics
from judging.core.rules import Excerpt
from judging.core.structured import storable

FOLDER: Final = Path(__file__).resolve().parent.parent / "prompts"
LANGUAGES: Final = ("en", "zh")

TAGS: Final = (
    "dialogue",
    "system",
    "user",
    "assistant",
    "response_a",
    "response_b",
    "response",
    "preference",
    "pair",
    "chosen",
    "rejected",
    "profile",
    "memory",
    "task",
    "history",
    "turn",
    "reference",
    "scenario",
    "examples",
    "rubrics",
    "rating",
    "reasons",
)
"""Every tag that prompts are built of."""

_PLACEHOLDER: Final = re.compile(r"\{\{([a-z_]+)\}\}")
_OPENERS: Final = re.compile(
    r"<(?=\s*+(?:/\s*+)?+(?:" + "|".join(TAGS) + r")\b)"  # our own tags, whole or cut short
    r"|<(?=\|[\w/ .-]{1,60}\|>)"  # <|im_start|>, <|eot_id|>, …
    r"|<(?=｜[^<>]{1,60}｜>)"  # the same with full-width bars
    r"|<(?=\s*+(?:/\s*+)?+(?:s|bos|eos|start_of_turn|end_of_turn)\s*+>)"
    r"|<(?=\s*+(?:/\s*+)?+(?:think|thinking|thought|reasoning|scratchpad)\s*+>)"
    r"|<(?=\|channel>|channel\|>)"
    r"|◁(?=/?think▷)"
    r"|<(?=</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|THINK)\])",
    re.IGNORECASE,
)
_HARMLESS: Final = {"<": "‹", "[": "⟦", "◁": "◃"}


class PromptText(str):
    """A text composed of values that are already neutralised; it enters a prompt as it is."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """One version of one prompt in one language."""

    name: str
    version: int
    language: str
    text: str

    @property
    def label(self) -> str:
        """Its file name without the ending, as stored with a run; 0 is an edited version."""
        version = f"v{self.version}" if self.version else "edited"
        return f"{self.name}.{version}.{self.language}"

    @property
    def digest(self) -> str:
        """SHA-256 of the text: two runs with one digest asked the same question."""
        return sha256(self.text.encode()).hexdigest()

    @property
    def placeholders(self) -> frozenset[str]:
        """The names it takes values for."""
        return frozenset(_PLACEHOLDER.findall(self.text))

    def render(self, values: Mapping[str, str]) -> str:
        """The prompt with its values; each is neutralised, unless it is a `PromptText`.

        Raises:
            Refused: the values are not exactly those that the prompt names.
        """
        if values.keys() != self.placeholders:
            wrong = ", ".join(sorted(values.keys() ^ self.placeholders))
            raise Refused("prompt:broken", f"{self.label}: missing or unknown values: {wrong}")
        ready = {
            name: value if isinstance(value, PromptText) else neutralise(value)
            for name, value in values.items()
        }
        return _PLACEHOLDER.sub(lambda found: ready[found.group(1)], self.text)


def neutralise(value: str) -> str:
    """The value with every delimiter opened by another character that looks alike.

    Concerns the prompts' own tags, the control tokens of chat templates and reasoning marks; all
    other text, mark-up and code included, is left alone. Applying it twice changes nothing more.
    Characters that cannot be sent or stored become U+FFFD.
    """
    return storable(_OPENERS.sub(lambda found: _HARMLESS[found.group()], value))


def prompt_language(language: str) -> str:
    """The prompt language for a language code: "zh" for any Chinese, else "en"."""
    return "zh" if language.lower().startswith("zh") else "en"


@cache
def load_prompt(name: str, *, language: str, version: int = 1) -> Prompt:
    """Read a prompt file once.

    Args:
        name: its name, such as "judge_pair".
        language: any language code; see `prompt_language`.
        version: the number after "v".

    Raises:
        Refused: there is no such file.
    """
    found = Prompt(name, version, prompt_language(language), "")
    path = FOLDER / f"{found.label}.txt"
    if not path.is_file():
        raise Refused("prompt:broken", f"there is no prompt {found.label}")
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return Prompt(name, version, found.language, text)


REMIND_VERDICT: Final = "remind_verdict"
REMIND_MARK: Final = "remind_mark"
REMIND_GRADE: Final = "remind_grade"
REMIND_JSON: Final = "remind_json"
REMIND_TEXT: Final = "remind_text"
_REMINDERS: Final = {
    "judge_pair": REMIND_VERDICT,
    "rubric_pair": REMIND_MARK,
    "grade": REMIND_GRADE,
    "build_memory": REMIND_JSON,
    "score": REMIND_JSON,
    "spur": REMIND_JSON,
    "sort": REMIND_JSON,
    "distil": REMIND_TEXT,
    "write_reference": REMIND_TEXT,
    "rephrase": REMIND_TEXT,
}
"""By the beginning of a prompt's name, what asks once more where its reply cannot be read."""


def with_reminders(names: Sequence[str]) -> list[str]:
    """Names of prompts, and of those that ask once more for their replies, each once.

    One letter is never asked for again, and a response to a turn is nobody's to put right.
    """
    found = [
        reminder
        for name in names
        for beginning, reminder in _REMINDERS.items()
        if name.startswith(beginning) and "_letter" not in name
    ]
    return list(dict.fromkeys([*names, *found]))


MARK: Final = " […] "
"""Stands where the middle of an example was left out; a response under judgment is never cut."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The labels of the blocks in one language."""

    omitted: str
    unknown: str
    group: str
    turn: str
    reason: str
    statistics: str
    share: str
    between: str
    satisfied: str
    dissatisfied: str
    example: str
    likes: str
    dislikes: str
    reasons: Mapping[Reason, str]


_WORDS: Final = {
    "en": _Words(
        omitted="[{count} earlier messages are not shown]",
        unknown="not known",
        group="Score {score} ({shown} of {total} turns):",
        turn="{alias}, score {score}, task: {task}",
        reason="Reason given: {reason}",
        statistics="Turns: {turns}; sessions: {sessions}; average {mean:.2f}; {shares}.",
        share="score {score}: {count}",
        between=", ",
        satisfied="satisfied",
        dissatisfied="dissatisfied",
        example="Score {score}, task: {task}",
        likes="Satisfied:",
        dislikes="Dissatisfied:",
        reasons={
            Reason.INSUFFICIENT_DETAIL: "insufficient detail",
            Reason.INSUFFICIENT_DIVERSITY: "insufficient diversity",
            Reason.REQUIREMENT_UNMET: "failure to satisfy the requirement",
            Reason.UNUSABLE: "unusable",
            Reason.OTHER: "other",
        },
    ),
    "zh": _Words(
        omitted="[更早的 {count} 条消息未显示]",
        unknown="未知",
        group="{score} 分（共 {total} 条，列出 {shown} 条）：",
        turn="{alias}，{score} 分，任务：{task}",
        reason="不满意原因：{reason}",
        statistics="共 {sessions} 次会话、{turns} 轮，平均分 {mean:.2f}；{shares}。",
        share="{score} 分 {count} 轮",
        between="，",
        satisfied="满意",
        dissatisfied="不满意",
        example="{score} 分，任务：{task}",
        likes="满意：",
        dislikes="不满意：",
        reasons={
            Reason.INSUFFICIENT_DETAIL: "不够细致",
            Reason.INSUFFICIENT_DIVERSITY: "不够多样",
            Reason.REQUIREMENT_UNMET: "不满足需求",
            Reason.UNUSABLE: "不可用",
            Reason.OTHER: "其它",
        },
    ),
}


@dataclass(frozen=True, slots=True)
class PairExcerpt:
    """A labelled pair as an example: its conversation cut to a window."""

    dialogue: Excerpt
    chosen: str
    rejected: str


def dialogue_block(shown: Excerpt, *, language: str, tokens: int | None = None) -> PromptText:
    """A conversation, each message inside the tag of its role.

    Messages are whole, or shortened to about `tokens` each.
    """
    lines = [
        f"<{message.role.value}>\n{_part(message.text, tokens)}\n</{message.role.value}>"
        for message in shown.messages
    ]
    if shown.omitted:
        lines.insert(0, _WORDS[language].omitted.format(count=shown.omitted))
    return PromptText("\n".join(lines))


def pairs_block(pairs: Sequence[PairExcerpt], *, tokens: int, language: str) -> PromptText:
    """Several labelled pairs; each message and each response is shortened to about `tokens`."""
    return PromptText(
        "\n\n".join(
            "<pair>\n<dialogue>\n"
            f"{dialogue_block(pair.dialogue, language=language, tokens=tokens)}\n</dialogue>\n"
            f"<chosen>\n{_part(pair.chosen, tokens)}\n</chosen>\n"
            f"<rejected>\n{_part(pair.rejected, tokens)}\n</rejected>\n"
            "</pair>"
            for pair in pairs
        )
    )


def history_block(
    groups: Sequence[ScoreGroup], *, aliases: Mapping[str, str], tokens: int, language: str
) -> PromptText:
    """Rated turns grouped by score; a turn takes about `tokens`.

    `aliases` gives each turn id the name under which it may be cited, so that no id of a row
    reaches a prompt.
    """
    words = _WORDS[language]
    parts: list[str] = []
    for group in groups:
        parts.append(
            words.group.format(score=group.score, shown=len(group.turns), total=group.total)
        )
        parts.extend(_turn(turn, aliases[turn.turn_id], tokens, words) for turn in group.turns)
    return PromptText("\n\n".join(parts))


def turns_block(turns: Sequence[HistoryTurn], *, tokens: int, language: str) -> PromptText:
    """Rated turns one after another, without a name to cite; a turn takes about `tokens`."""
    words = _WORDS[language]
    return PromptText(
        "\n\n".join(
            _rated(
                turn,
                words.example.format(score=turn.score, task=_line(turn.scenario)),
                tokens,
                words,
            )
            for turn in turns
        )
    )


def reasons_block(reasons: Sequence[str]) -> PromptText:
    """Reasons as a list, a line each."""
    return PromptText("\n".join(f"- {_line(reason)}" for reason in reasons))


def rubrics_block(rubrics: Rubrics | None, *, language: str) -> PromptText:
    """Numbered rubrics of both classes: S1, S2 … for satisfied, D1, D2 … for dissatisfied."""
    words = _WORDS[language]
    lines: list[str] = []
    if rubrics is not None:
        for heading, letter, texts in (
            (words.likes, "S", rubrics.satisfied),
            (words.dislikes, "D", rubrics.dissatisfied),
        ):
            numbered = (f"{letter}{at}. {_line(text)}" for at, text in enumerate(texts, start=1))
            lines += [heading, *(numbered if texts else [words.unknown])]
    return PromptText("\n".join(lines) or words.unknown)


def rating_word(*, satisfied: bool, language: str) -> str:
    """The class of a rating."""
    words = _WORDS[language]
    return words.satisfied if satisfied else words.dissatisfied


def statistics_line(stats: ScoreStatistics, *, language: str) -> str:
    """The counts and the mean of a history that has at least one turn."""
    words = _WORDS[language]
    shares = words.between.join(
        words.share.format(score=score, count=count)
        for score, count in enumerate(stats.counts, start=LOWEST)
    )
    return words.statistics.format(
        turns=stats.turns, sessions=stats.sessions, mean=stats.mean, shares=shares
    )


def profile_text(profile: Mapping[str, object], *, language: str) -> str:
    """A profile as lines "field: value"; fields without a value are left out."""
    words = _WORDS[language]
    lines = [f"{name}: {text}" for name, value in profile.items() if (text := _flat(value, words))]
    return "\n".join(lines) or words.unknown


def text_or_unknown(text: str, *, language: str) -> str:
    """The text, or the words for "not known" where it is blank."""
    return text if text.strip() else _WORDS[language].unknown


def _turn(turn: HistoryTurn, alias: str, tokens: int, words: _Words) -> str:
    heading = words.turn.format(alias=alias, score=turn.score, task=_line(turn.scenario))
    return _rated(turn, heading, tokens, words)


def _rated(turn: HistoryTurn, heading: str, tokens: int, words: _Words) -> str:
    lines = ["<turn>", heading]
    if turn.task_context.strip():
        lines.append(f"<task>\n{_part(turn.task_context, tokens // 6)}\n</task>")
    if turn.dialogue:
        for message in turn.dialogue:
            role, share = message.role.value, tokens * 3 // 4 // len(turn.dialogue)
            lines.append(f"<{role}>\n{_part(message.text, share)}\n</{role}>")
    else:
        lines.append(f"<user>\n{_part(turn.user_message, tokens // 4)}\n</user>")
        lines.append(f"<assistant>\n{_part(turn.response, tokens // 2)}\n</assistant>")
    if turn.reason is not None and turn.reason in words.reasons:
        lines.append(words.reason.format(reason=words.reasons[turn.reason]))
    return "\n".join([*lines, "</turn>"])


def _line(text: str) -> str:
    return neutralise(" ".join(text.split()))


def reason_words(language: str) -> tuple[str, ...]:
    """The reasons as the scoring prompt names them, "satisfied" first."""
    words = _WORDS[language]
    return (words.satisfied, *words.reasons.values())


def _part(text: str, tokens: int | None) -> str:
    return neutralise(text if tokens is None else shorten(text, tokens=tokens, mark=MARK))


def _flat(value: object, words: _Words) -> str:
    if isinstance(value, Mapping):
        pairs = [(name, _flat(item, words)) for name, item in value.items()]
        return words.between.join(f"{name} {text}" for name, text in pairs if text)
    if isinstance(value, list | tuple):
        return words.between.join(text for item in value if (text := _flat(item, words)))
    return "" if value is None else " ".join(str(value).split())
