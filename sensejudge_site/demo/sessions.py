"""The conversations of the demo study, as written in `content/`, and what is measured in them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from math import log2
from pathlib import Path
from typing import Any, Final

from annotation.core.conversations import Message, Speaker
from judging.core.questions import LabelledPair
from judging.services.checks import CheckPair

_WORD: Final = re.compile(r"[^\W_\u4e00-\u9fff]+(?:['’][^\W_]+)?")
_CJK: Final = re.compile(r"[\u4e00-\u9fff]")
_CJK_PER_WORD: Final = 1.5
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|\*|$)|[。！？]|\n")
_MARKED_LINE: Final = re.compile(r"\s*(?:#{1,6}\s|[-*]\s|\d{1,2}[.)]\s|\|(?!\s*-))")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FRIENDLY: Final = re.compile(
    r"[!！]|\b(?:lovely|happy to|enjoy|love|fun|hope|friend\w*|smile|let's|laugh)\b"
    r"|希望|祝您|祝你|放心|一起|咱们|随时|喜欢|开心|呢|哦|啦|哈",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\b(?:for example|for instance|imagine|picture|think of it)\b"
    r"|比如|例如|好比|打个比方|想象|举个例子|就像",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Measures:
    """Counts of one text; `words` and `opening_words` take three Chinese characters as two words.

    `marks` counts heading, list, step and table lines; `opening_words` the first sentence.
    """

    words: float
    opening_words: float
    marks: int
    paragraphs: int
    friendly: int
    examples: int

    @property
    def length(self) -> float:
        """log2(1 + words): twice as long is one more."""
        return log2(1 + self.words)

    @property
    def opening(self) -> float:
        """log2(1 + words of the first sentence)."""
        return log2(1 + self.opening_words)

    @property
    def order(self) -> float:
        """How visibly the text is ordered: log2(1 + marks), and half of log2(1 + paragraphs)."""
        return log2(1 + self.marks) + log2(1 + self.paragraphs) / 2

    @property
    def warmth(self) -> float:
        """log2(1 + exclamation marks and friendly words)."""
        return log2(1 + self.friendly)

    @property
    def vividness(self) -> float:
        """log2(1 + words that announce an example or a picture)."""
        return log2(1 + self.examples)


@lru_cache(maxsize=1024)
def measure(text: str) -> Measures:
    """The counts of a text; code blocks count as length alone."""
    prose = _FENCE.sub("", text).strip()
    opening = next((part for part in _SENTENCE_END.split(prose) if _words(part)), "")
    return Measures(
        words=_words(text),
        opening_words=_words(opening),
        marks=sum(bool(_MARKED_LINE.match(line)) for line in prose.splitlines()),
        paragraphs=len(re.split(r"\n\s*\n", prose)) if prose else 0,
        friendly=len(_FRIENDLY.findall(prose)),
        examples=len(_EXAMPLE.findall(prose)),
    )


def _words(text: str) -> float:
    return len(_WORD.findall(text)) + len(_CJK.findall(text)) / _CJK_PER_WORD


CONTENT: Final = Path(__file__).parent / "content"

TOPICS: Final = ("Math", "Logic", "Code", "QA", "Writing", "Role", "NLU", "Translation")
"""The eight topics of SenseBench (seed 001, section 3.1), each a file of `content/`."""


class Flaw(StrEnum):
    """What is wrong with a response on purpose, so that satisfaction varies."""

    THIN = "THIN"
    SAMEY = "SAMEY"
    CONSTRAINT = "CONSTRAINT"
    WRONG_LANGUAGE = "WRONG_LANGUAGE"
    TRUNCATED = "TRUNCATED"
    UNUSABLE = "UNUSABLE"
    INVENTED = "INVENTED"
    OTHER = "OTHER"


PLAIN_FLAWS: Final = frozenset(
    {Flaw.CONSTRAINT, Flaw.WRONG_LANGUAGE, Flaw.TRUNCATED, Flaw.INVENTED}
)
"""Flaws that make a response the worse one, whatever one's taste."""


@dataclass(frozen=True, slots=True)
class WrittenResponse:
    """One response; `flaw_note` says in a sentence what the flaw is."""

    model: str
    text: str
    flaw: Flaw | None = None
    flaw_note: str = ""


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """One user message; earlier turns have one response, the last turn has the candidates."""

    user_message: str
    responses: tuple[WrittenResponse, ...]


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """One conversation; `original` names the model that answered on the original line."""

    key: str
    topic: str
    subcategory: str
    language: str
    task_context: str
    system_prompt: str
    original: str
    turns: tuple[WrittenTurn, ...]

    def original_line(self) -> tuple[WrittenResponse, ...]:
        """The response of each turn that the conversation went on with."""
        return tuple(
            next(each for each in turn.responses if each.model == self.original)
            for turn in self.turns
        )


def written_sessions() -> tuple[WrittenSession, ...]:
    """All conversations, topic by topic, in the order of the files."""
    return tuple(
        _session(topic, data)
        for topic in TOPICS
        for data in json.loads((CONTENT / f"{topic.lower()}.json").read_text("utf-8"))["sessions"]
    )


def _session(topic: str, data: Mapping[str, Any]) -> WrittenSession:
    return WrittenSession(
        key=data["key"],
        topic=topic,
        subcategory=data["subcategory"],
        language=data["language"],
        task_context=data["task_context"],
        system_prompt=data.get("system_prompt", ""),
        original=data["original"],
        turns=tuple(
            WrittenTurn("\n".join(turn["user"]), tuple(map(_response, turn["responses"])))
            for turn in data["turns"]
        ),
    )


def _response(data: Mapping[str, Any]) -> WrittenResponse:
    flaw = data.get("flaw", {})
    return WrittenResponse(
        model=data["model"],
        text="\n".join(data["text"]),
        flaw=Flaw(flaw["kind"]) if flaw else None,
        flaw_note=flaw.get("note", ""),
    )


PAIRS_A_LANGUAGE: Final = 2
CLOSE_PAIRS_A_LANGUAGE: Final = 3


def check_pairs() -> list[CheckPair]:
    """The shortest conversations of each language, each with its shortest and longest response.

    The shorter response is chosen.
    """
    return [
        CheckPair(_pair(session), language)
        for language in ("en", "zh")
        for session in _shortest(language)[:PAIRS_A_LANGUAGE]
    ]


def close_pairs() -> list[WrittenSession]:
    """The shortest conversations of each language, each with the two responses nearest in length.

    A judge that weighs length is not sure of them, so what an attempt adds can show.
    """
    return [
        _close_pair(session)
        for language in ("en", "zh")
        for session in _shortest(language)[:CLOSE_PAIRS_A_LANGUAGE]
    ]


def _shortest(language: str) -> list[WrittenSession]:
    sessions = [session for session in written_sessions() if session.language == language]
    return sorted(sessions, key=lambda session: (_length(session), session.key))


def _close_pair(session: WrittenSession) -> WrittenSession:
    *earlier, last = session.turns
    ordered = sorted(last.responses, key=lambda response: len(response.text))
    closest = min(pairwise(ordered), key=lambda pair: len(pair[1].text) - len(pair[0].text))
    return replace(session, turns=(*earlier, replace(last, responses=closest)))


def _pair(session: WrittenSession) -> LabelledPair:
    *earlier, last = session.turns
    messages = [Message(Speaker.SYSTEM, session.system_prompt)] if session.system_prompt else []
    for turn in earlier:
        messages += [
            Message(Speaker.USER, turn.user_message),
            Message(Speaker.ASSISTANT, turn.responses[0].text),
        ]
    messages.append(Message(Speaker.USER, last.user_message))
    texts = sorted((response.text for response in last.responses), key=len)
    return LabelledPair(tuple(messages), chosen=texts[0], rejected=texts[-1])


def _length(session: WrittenSession) -> int:
    pair = _pair(session)
    return sum(len(message.text) for message in pair.dialogue) + len(pair.chosen + pair.rejected)
