"""Tells what a model thought from what it answered, whichever marks are around its reasoning.

Reasoning is a block at the beginning of a text, or on lines of its own further down; a block that
never ends runs to the end of the text. An end mark without a start ends reasoning that began with
the text: chat templates often write the start mark into the prompt. A text that only mentions a
mark, in a code block, in quotes or within a sentence, keeps it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

REASONING: Final = "reasoning"
"""The key of a response's `extra` with what the model thought before it answered."""

REASONING_FIELDS: Final = (
    "reasoning_content",
    REASONING,
    "thinking",
    "thought",
    "reasoning_details",
    "thinking_blocks",
)
"""Names of fields that hold reasoning beside a text; servers send the same under two of them."""

REASONING_PARTS: Final = ("thinking", "reasoning", "thought", "redacted_thinking", "summary_text")
"""Types of the parts of a message that are reasoning."""


class ReasonedText(NamedTuple):
    """A text as answer and reasoning.

    Attributes:
        answer: The pieces of the text that are its answer, an empty line between each two.
        reasoning: Everything else, without the marks around it.
        pieces: Where each piece begins and ends in the text; none where there is no answer.
    """

    answer: str
    reasoning: str
    pieces: tuple[tuple[int, int], ...]


BETWEEN: Final = "\n\n"
"""Stands between two pieces of an answer."""


def split_reasoning(text: str, *, is_growing: bool = False) -> ReasonedText:
    """The answer and the reasoning of a text; a text without reasoning is its own answer.

    Splitting an answer again changes nothing.

    Args:
        text: What a model wrote.
        is_growing: More of it follows: what may still turn out to be reasoning is reasoning.
    """
    if not (any(hint in text for hint in _HINTS) or text.lstrip().startswith(_STRIPPED_START)):
        return ReasonedText(text, "", ((0, len(text)),))
    found = _Splitter(text[: _end_of_answer(text)], is_growing=is_growing).split()
    return found or ReasonedText(text, "", ((0, len(text)),))


def without_reasoning(text: str) -> str:
    """The answer in a text."""
    return split_reasoning(text).answer


def visible_answer(text: str) -> str:
    """What may be shown of an answer that is still being written.

    The beginning of what may become a mark is held back until it is clear.
    """
    answer = split_reasoning(text, is_growing=True).answer.strip()
    begun = answer.lower()
    return "" if any(mark.startswith(begun) for mark in _BEGINNINGS) else answer


def join_reasoning(*parts: object) -> str:
    """Reasoning from several places as one text; what is no text is written as JSON."""
    texts = (part if isinstance(part, str) else _as_json(part) for part in parts if part)
    return BETWEEN.join(filter(None, (text.strip() for text in texts)))


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def reasoning_of(extra: Mapping[str, object] | None) -> str:
    """The reasoning that is kept beside a text, under any name."""
    for name in REASONING_FIELDS if extra else ():
        if found := reasoning_text(extra.get(name)) if extra else "":
            return found
    return ""


def reasoning_text(value: object) -> str:
    """The text of a field or part that holds reasoning: a string, or a list of parts with one."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        found = (value.get(name) for name in ("thinking", "text", "reasoning", "summary"))
        return next((reasoning_text(each) for each in found if each), "")
    if isinstance(value, Sequence):
        # Lists within lists may be as deep as a file likes: one level of parts is all there is.
        parts = (each for each in value if isinstance(each, str | Mapping))
        return "".join(each if isinstance(each, str) else _part_text(each) for each in parts)
    return ""


def _part_text(part: Mapping[str, object]) -> str:
    found = (part.get(name) for name in ("thinking", "text", "reasoning", "summary"))
    return next((each for each in found if isinstance(each, str)), "")


class _Kind(NamedTuple):
    """One manner of marking reasoning.

    Attributes:
        opens: Pattern of the mark that begins it.
        closes: Pattern of the mark that ends it.
        at_head: Whether it can only begin a text: its marks are words that people use as well.
        may_lack_end: Whether it may go on to the end of the text.
        may_lack_start: Whether it may begin with the text, without a mark.
    """

    opens: str
    closes: str
    at_head: bool = False
    may_lack_end: bool = True
    may_lack_start: bool = True


def _tag(names: str) -> tuple[str, str]:
    """The patterns of an XML tag, as it is or escaped."""
    opens = rf"(?i:<(?:{names})(?:\s[^<>\n]{{0,80}}+)?+>|&lt;(?:{names})&gt;)"
    return opens, rf"(?i:</\s?+(?:{names})\s?+>|&lt;/(?:{names})&gt;)"


_HEADER: Final = (
    r"(?:<\|end\|>\s*+)?+(?:<\|start\|>assistant)?+<\|channel\|>\s?+(?:{channel})"
    r"[^<\n]{{0,120}}+(?:<\|constrain\|>[\w ]{{0,40}}+)?+<\|message\|>"
)
_STRIPPED: Final = "stripped"
_STRIPPED_START: Final = "analysis"
_KINDS: Final[Mapping[str, _Kind]] = {
    "think": _Kind(*_tag("(?:seed:|mm:|longcat_)?think")),
    "thinking": _Kind(*_tag("(?:ant_?)?thinking"), at_head=True),
    "thought": _Kind(*_tag("thoughts?"), at_head=True),
    "reasoning": _Kind(*_tag("reasoning"), at_head=True),
    "scratchpad": _Kind(*_tag("scratchpad"), at_head=True),
    "mistral": _Kind(r"\[THINK\]", r"\[/THINK\]"),
    "kimi": _Kind("◁think▷", "◁/think▷"),
    "begin_of": _Kind(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    "start_of": _Kind(r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    "channel": _Kind(r"<\|channel>thought\b", r"<channel\|>"),
    "unused": _Kind(r"<unused94>thought\b", r"<unused95>", may_lack_start=False),
    "details": _Kind(
        r"<details type=\"reasoning\"[^<>\n]{0,200}+>", "</details>", may_lack_start=False
    ),
    "harmony": _Kind(
        _HEADER.format(channel="analysis|commentary"), _HEADER.format(channel="final")
    ),
    _STRIPPED: _Kind(
        r"analysis(?=\w)", r"assistantfinal(?!i[sz]|ity|ly)", at_head=True, may_lack_end=False
    ),
    "granite": _Kind(
        "Here(?: is|'s|’s) my thought process:",
        "Here(?: is|'s|’s) my response:",
        at_head=True,
        may_lack_end=False,
        may_lack_start=False,
    ),
    "apriel": _Kind(
        "Here are my reasoning steps:",
        r"\[BEGIN FINAL RESPONSE\]",
        at_head=True,
        may_lack_end=False,
    ),
}
_FENCE: Final = "fence"
_MARKS: Final = re.compile(
    "|".join(
        [
            *(f"(?P<{name}>{kind.opens})" for name, kind in _KINDS.items()),
            *(f"(?P<end_{name}>{kind.closes})" for name, kind in _KINDS.items()),
            rf"(?P<{_FENCE}>```++|~~~++)",
        ]
    )
)
_HINTS: Final = (
    *("hink", "HINK", "hought", "HOUGHT", "reasoning", "Reasoning", "REASONING"),
    *("cratchpad", "SCRATCHPAD", "<unused95>", "<channel|>", "<|message|>", "assistantfinal"),
    "[BEGIN FINAL RESPONSE]",
)
"""A text with none of them has no mark; looking for them costs a hundredth of looking for marks."""
_BEGINNINGS: Final = (
    *("<think>", "<thinking>", "<thought>", "<reasoning>", "<scratchpad>", "[think]", "◁think▷"),
    *("<|begin_of_thought|>", "<|start_thinking|>", "<|channel>thought", "<unused94>thought"),
    '<details type="reasoning"',
    *(
        f"{start}<|channel|>{channel}<|message|>"
        for start in ("", "<|start|>assistant")
        for channel in ("analysis", "commentary", "final")
    ),
    _STRIPPED_START,
    *("here is my thought process:", "here's my thought process:", "here are my reasoning steps:"),
)
_THINKS_ALOUD: Final = re.compile(
    r"(?:We|The|User|I|Need|Let|They|This|It|So|Okay|Ok|Must|Just)(?=[ ,'’])"
)
"""How reasoning goes on after the word `analysis`, if a server took the marks around it out."""
_QUOTES: Final = frozenset("`'\"“”‘’「」『』《》«»")
_SENTENCE_ENDS: Final = frozenset(".!?:;,)*_…。！？：；，）")
_WRAPPERS: Final = (
    *(("<answer>", "</answer>"), ("<response>", "</response>"), ("<output>", "</output>")),
    *(("<|begin_of_solution|>", "<|end_of_solution|>"), ("<|START_RESPONSE|>", "<|END_RESPONSE|>")),
)
_LAST_MARKS: Final = ("<|return|>", "<|end|>", "<|call|>", "[END FINAL RESPONSE]")


class _Mark(NamedTuple):
    """A mark as it stands in a text; `begins` and `ends` say whether its line does with it."""

    start: int
    end: int
    name: str
    is_end: bool
    begins: bool
    ends: bool


class _Splitter:
    """Goes through the marks of one text once."""

    def __init__(self, text: str, *, is_growing: bool) -> None:
        self._text = text
        self._is_growing = is_growing
        self._marks = _find_marks(text)
        self._cuts: list[tuple[int, int]] = []
        self._used: list[tuple[int, int]] = []
        self._mentioned: Counter[str] = Counter()
        self._at = 0  # everything before is decided
        self._is_fresh = True  # nothing but blanks since the last cut, or the start
        self._is_head = True  # no answer so far
        self._shortest_open_fence: dict[str, int] = {}
        self._ends: dict[str, list[_Mark]] = {}
        self._clear_ends: dict[str, list[_Mark]] = {}
        for mark in self._marks:
            if mark.is_end:
                self._ends.setdefault(mark.name, []).append(mark)
                if not self._is_quoted(mark):
                    self._clear_ends.setdefault(mark.name, []).append(mark)

    def split(self) -> ReasonedText | None:
        """The answer and the reasoning; None where there is no reasoning."""
        for number, mark in enumerate(self._marks):
            if mark.start < self._at:
                continue
            if self._text[self._at : mark.start].strip():
                self._is_fresh = self._is_head = False
            self._read(number, mark)
        if not self._cuts:
            return None
        pieces = self._unwrapped(self._pieces())
        answer = BETWEEN.join(self._text[start:end] for start, end in pieces)
        return ReasonedText(answer, self._reasoning(), tuple(pieces))

    def _read(self, number: int, mark: _Mark) -> None:
        if mark.name == _FENCE:
            self._pass_by(self._end_of_code(number, mark))
        elif mark.is_end:
            if self._ends_reasoning(mark):
                self._cut(0, mark.end, mark)
                self._mentioned.clear()
                self._is_head = True
            else:
                self._mentioned[mark.name] = max(0, self._mentioned[mark.name] - 1)
                self._pass_by(mark.end)
        elif self._begins_reasoning(mark):
            end = self._end_of(mark)
            self._cut(mark.start, end.end if end else len(self._text), mark, end)
        else:
            self._mentioned[mark.name] += 1
            self._pass_by(mark.end)

    def _pass_by(self, end: int) -> None:
        self._at = end
        self._is_fresh = self._is_head = False

    def _cut(self, start: int, end: int, *marks: _Mark | None) -> None:
        if start == 0:
            self._cuts.clear()
        self._cuts.append((start, end))
        self._used += [(mark.start, mark.end) for mark in marks if mark]
        self._at = end
        self._is_fresh = True

    def _begins_reasoning(self, mark: _Mark) -> bool:
        kind = _KINDS[mark.name]
        if kind.at_head and not self._is_head:
            return False
        before = self._text[mark.start - 1 : mark.start]
        is_attached = before in _SENTENCE_ENDS or (before.isascii() and before.isalnum())
        is_attached = is_attached or (mark.name == "harmony" and before == ">")
        if not (self._is_fresh or mark.begins or is_attached):
            return False
        if kind.may_lack_end or self._is_growing or self._end_of(mark):
            return True
        return mark.name == _STRIPPED and bool(_THINKS_ALOUD.match(self._text, mark.end))

    def _end_of(self, mark: _Mark) -> _Mark | None:
        """The mark that ends a block: the first that is not quoted, else the last of all."""
        clear = self._clear_ends.get(mark.name, [])
        place = bisect_left(clear, mark.end, key=_start_of)
        if place < len(clear):
            return clear[place]
        last = self._ends.get(mark.name, [])[-1:] if _KINDS[mark.name].may_lack_end else []
        return last[0] if last and last[0].start >= mark.end else None

    def _ends_reasoning(self, mark: _Mark) -> bool:
        """Whether an end mark without a start is one, and not only mentioned."""
        kind = _KINDS[mark.name]
        if not kind.may_lack_start or self._is_quoted(mark):
            return False
        before = self._text[mark.start - 1 : mark.start] if mark.start else "\n"
        after = self._text[mark.end : mark.end + 1] or "\n"
        begins = mark.begins or self._is_fresh
        if mark.name == _STRIPPED:
            is_apart = begins or before in _SENTENCE_ENDS or before in "]}"
            goes_on = mark.end < len(self._text) and after != " " and not after.islower()
            return is_apart and goes_on
        if self._mentioned[mark.name] > 0:
            return begins and mark.ends and not kind.at_head
        if begins or mark.ends:
            return True
        if before.isspace():
            return not after.isspace() and after not in _SENTENCE_ENDS
        return not (_is_wide(before) and _is_wide(after))

    def _is_quoted(self, mark: _Mark) -> bool:
        before = self._text[max(mark.start - 1, 0) : mark.start]
        return bool(before) and before in _QUOTES and self._text[mark.end : mark.end + 1] in _QUOTES

    def _end_of_code(self, number: int, mark: _Mark) -> int:
        """Where a code block ends; where none begins or it never ends, the end of its mark."""
        if not (mark.begins or self._is_fresh):
            return mark.end
        sign, length = self._text[mark.start], mark.end - mark.start
        if length >= self._shortest_open_fence.get(sign, length + 1):
            return mark.end
        for place in range(number + 1, len(self._marks)):
            other = self._marks[place]
            is_fence = other.name == _FENCE and other.begins and other.ends
            if is_fence and self._text[other.start] == sign and other.end - other.start >= length:
                return other.end
        self._shortest_open_fence[sign] = length
        return mark.end

    def _pieces(self) -> list[tuple[int, int]]:
        """What was not cut, without the blanks around it."""
        found = []
        at = 0
        for start, end in [*self._cuts, (len(self._text), len(self._text))]:
            found.append(_without_blanks(self._text, at, start))
            at = end
        return [(start, end) for start, end in found if start < end]

    def _unwrapped(self, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The only piece without the marks that some models put around an answer."""
        start, end = pieces[0] if len(pieces) == 1 else (0, 0)
        for opens, closes in _WRAPPERS:
            inner = start + len(opens), end - len(closes)
            if (
                self._text.startswith(opens, start, end)
                and self._text.endswith(closes, inner[0], end)
                and self._text.count(opens, start, end) == 1
                and not self._has_marks(*inner)
            ):
                start, end = _without_blanks(self._text, *inner)
                return [(start, end)] if start < end else []
        return pieces

    def _has_marks(self, start: int, end: int) -> bool:
        place = bisect_left(self._marks, start, key=_start_of)
        return place < len(self._marks) and self._marks[place].start < end

    def _reasoning(self) -> str:
        """What was cut, without the marks."""
        found = []
        used = iter([*sorted(self._used), (len(self._text), len(self._text))])
        mark = next(used)
        for start, end in self._cuts:
            at = start
            while mark[0] < end:
                found.append(self._text[at : mark[0]])
                at = mark[1]
                mark = next(used)
            found.append(self._text[at:end])
        return join_reasoning(*found)


def _start_of(mark: _Mark) -> int:
    return mark.start


def _without_blanks(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _end_of_answer(text: str) -> int:
    """Where a text ends without the marks that close a message."""
    end = len(text.rstrip())
    while last := next((mark for mark in _LAST_MARKS if text.endswith(mark, 0, end)), ""):
        end = _without_blanks(text, 0, end - len(last))[1]
    return end


def _is_wide(character: str) -> bool:
    """Whether it is a letter of a script that puts no spaces between words."""
    return character.isalnum() and not character.isascii()


def _find_marks(text: str) -> list[_Mark]:
    found: list[_Mark] = []
    matches = [*_MARKS.finditer(text)]
    starts = [match.start() for match in matches[1:]] + [len(text)]
    at = 0
    for match, following in zip(matches, starts, strict=False):
        name = match.lastgroup or ""
        before, after = text[at : match.start()], text[match.end() : following]
        line = before.rpartition("\n")
        rest, newline, _ = after.partition("\n")
        found.append(
            _Mark(
                match.start(),
                match.end(),
                name.removeprefix("end_"),
                name.startswith("end_"),
                begins=not line[2].strip() and bool(line[1] or at == 0),
                ends=not rest.strip() and bool(newline or following == len(text)),
            )
        )
        at = match.end()
    return found
