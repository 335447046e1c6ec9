"""One reading of a text: the counts that every feature is made of, in time linear in its length."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from judging.core.lexical.lexicon import CUES, OPENERS, STOPWORDS, Cue, Words

CJK_UNIT: Final = 0.6
"""One Chinese, Japanese or Korean character in words: about five of them say three words."""
SHINGLE: Final = 4
"""Tokens in a shingle, the unit of repetition and copying."""
_CACHED_LENGTH: Final = 20_000
_CACHED_TEXTS: Final = 2_048

_TOKEN: Final = re.compile(
    r"[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:'[^\W_]+)?|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_CJK_FIRST: Final = "\u3040"
_ENDING: Final = re.compile(r"[.!?](?=\s|$)|[。！？](?![。！？])")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_EMOJI: Final = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\u2b50\u2b55]")
_HEADING: Final = re.compile(r"#{1,6}\s*\S|\*\*[^*]++\*\*[:：]?$|【[^】]++】$")
_NUMBERED: Final = re.compile(
    r"\d{1,3}(?:[.)]\s|[、．）])|[（(]\d{1,2}[)）]|[①-⑳]|[一二三四五六七八九十]{1,3}[、．]"
)
_BULLET: Final = re.compile(r"[-*+•·‣▪●]\s")
_CODE_ENDS: Final = ("{", "}", ";", "};", "});")
_CODE_STARTS: Final = (
    "def ",
    "class ",
    "import ",
    "from ",
    "return ",
    "print(",
    "#include",
    "select ",
    "insert into ",
    "public ",
    "private ",
    "static ",
    "const ",
    "var ",
    "let ",
    "function ",
    "for (",
    "while (",
    "</",
)
_CODE_MARKS: Final = frozenset("(){}=;<>")
_TERMINAL: Final = frozenset(".!?。！？…\"'”’)）]】」》:：;；*`~|>}")
_SHORT_LINE: Final = 12.0


@dataclass(frozen=True, slots=True)
class Anatomy:
    """What one text is made of; counts unless said otherwise.

    `units` are words plus 0.6 for each CJK character, code included. `distinct` is the share of
    four-token shingles that are not repeats, `variety` the share of distinct tokens among the
    first 100. `opens_with` is -1 for a formula, +1 for the result, else 0. `script` is the
    script of most letters ("" without letters). `complete` tells an end from a breaking-off.
    """

    units: float
    sentences: int
    paragraphs: int
    headings: int
    bullets: int
    numbered: int
    bold: int
    table_rows: int
    code_lines: int
    numbers: int
    links: int
    questions: int
    exclamations: int
    emoji: int
    cues: dict[Cue, int]
    opens_with: int
    distinct: float
    variety: float
    complete: bool
    script: str
    terms: frozenset[str]
    shingles: frozenset[int]

    @property
    def items(self) -> int:
        """List items of either kind."""
        return self.bullets + self.numbered


def read(text: str) -> Anatomy:
    """The anatomy of a text; recent short texts are remembered, a judge meets them many times."""
    return _remembered(text) if len(text) <= _CACHED_LENGTH else _read(text)


def mentions(text: str, words: Words) -> bool:
    """Whether any of the words stands in the text."""
    lowered = _lowered(text)
    flat = f" {' '.join(_TOKEN.findall(lowered))} "
    return any(f" {word} " in flat for word in words.en) or any(
        word in lowered for word in words.zh
    )


def _read(text: str) -> Anatomy:
    lowered = _lowered(text)
    tokens = _TOKEN.findall(lowered)
    lines = _Lines(lowered)
    shingles, places = _shingles(tokens)
    cjk = sum(token >= _CJK_FIRST for token in tokens)
    prose = "\n".join(lines.prose)
    return Anatomy(
        units=len(tokens) - cjk + CJK_UNIT * cjk,
        sentences=_sentences(lines.prose),
        paragraphs=lines.paragraphs,
        headings=lines.headings,
        bullets=lines.bullets,
        numbered=lines.numbered,
        bold=prose.count("**") // 2,
        table_rows=lines.table_rows,
        code_lines=lines.code_lines,
        numbers=sum(len(_NUMBER.findall(line)) for line in lines.prose),
        links=prose.count("http://") + prose.count("https://") + prose.count("]("),
        questions=prose.count("?") + prose.count("？"),
        exclamations=prose.count("!") + prose.count("！"),
        emoji=len(_EMOJI.findall(prose)),
        cues=_count_cues(tokens, lowered, has_cjk=cjk > 0),
        opens_with=_opening(lowered),
        distinct=len(shingles) / places if places else 1.0,
        variety=len(set(tokens[:100])) / len(tokens[:100]) if tokens else 0.0,
        complete=lines.complete,
        script=_script(tokens),
        terms=_terms(tokens),
        shingles=shingles,
    )


_remembered = lru_cache(maxsize=_CACHED_TEXTS)(_read)


class _Lines:
    """The lines of a text sorted into prose, lists, headings, tables and code, in one pass."""

    def __init__(self, text: str) -> None:
        self.prose: list[str] = []
        self.paragraphs = self.headings = self.bullets = self.numbered = 0
        self.table_rows = self.code_lines = 0
        self._fenced = False
        last, blank = "", True
        for raw in text.split("\n"):
            line = raw.strip()
            if line.startswith(("```", "~~~")):
                self._fenced = not self._fenced
            elif self._fenced:
                self.code_lines += bool(line)
            elif line:
                self.paragraphs += blank
                self._sort(line)
            blank = not line
            last = line or last
        self.complete = not self._fenced and _ends_well(last)

    def _sort(self, line: str) -> None:
        if line.startswith("|") or line.count("|") >= 2:
            self.table_rows += 1
        elif _HEADING.match(line):
            self.headings += 1
        elif marker := _BULLET.match(line):
            self.bullets += 1
            line = line[marker.end() :]
        elif marker := _NUMBERED.match(line):
            self.numbered += 1
            line = line[marker.end() :]
        elif _is_code(line):
            self.code_lines += 1
            return
        self.prose.append(line)


def _lowered(text: str) -> str:
    return text.lower().replace("’", "'")


def _is_code(line: str) -> bool:
    """Whether a line outside a fence looks like code: how it ends, or a keyword and a mark."""
    return line.endswith(_CODE_ENDS) or (
        line.startswith(_CODE_STARTS) and not _CODE_MARKS.isdisjoint(line)
    )


def _ends_well(line: str) -> bool:
    """Whether the last line of a text looks like an end: a closing mark, or a short line."""
    if not line:
        return False
    closed = line[-1] in _TERMINAL or bool(_EMOJI.match(line[-1]))
    return closed or len(_TOKEN.findall(line[:400])) <= _SHORT_LINE


def _sentences(prose: list[str]) -> int:
    """Sentence ends, counting a line that has none as one sentence."""
    return sum(max(1, len(_ENDING.findall(line))) for line in prose)


def _shingles(tokens: list[str]) -> tuple[frozenset[int], int]:
    """The distinct shingles by hash, and how many places they were taken from."""
    grams = list(zip(*(tokens[shift:] for shift in range(SHINGLE)), strict=False))
    return frozenset(map(hash, grams)), len(grams)


def _count_cues(tokens: list[str], lowered: str, *, has_cjk: bool) -> dict[Cue, int]:
    counts = Counter(tokens)
    flat = f" {' '.join(tokens)} "
    found = {}
    for cue, words in CUES.items():
        total = sum(flat.count(f" {word} ") if " " in word else counts[word] for word in words.en)
        if has_cjk:
            total += sum(lowered.count(word) for word in words.zh)
        found[cue] = total
    return found


def _opening(lowered: str) -> int:
    start = lowered[:_OPENING].lstrip(" \n\t#*>\"'“").removeprefix("the ")
    flat = " ".join(_TOKEN.findall(start)) + " "
    for words, opens in ((OPENERS, -1), (CUES[Cue.ANSWER], 1)):
        if start.startswith(words.zh) or any(flat.startswith(f"{word} ") for word in words.en):
            return opens
    return 0


_OPENING: Final = 60


def _script(tokens: list[str]) -> str:
    """The script of most of the first 400 tokens, five CJK characters counting as three words."""
    weights: dict[str, float] = {}
    for token in tokens[:_SCRIPT_TOKENS]:
        if not token[0].isdecimal():
            name = _script_of(token[0])
            weight = CJK_UNIT if name in _CJK_SCRIPTS else 1.0
            weights[name] = weights.get(name, 0.0) + weight
    return max(sorted(weights), key=weights.__getitem__, default="")


_SCRIPT_TOKENS: Final = 400
_CJK_SCRIPTS: Final = frozenset({"han", "kana", "hangul"})
_SCRIPT_ENDS: Final = (0x0250, 0x0400, 0x0530, 0x3040, 0x3100, 0xA000, 0xD7B0)
_SCRIPTS: Final = ("latin", "greek", "cyrillic", "other", "kana", "han", "hangul", "other")
"""The script of the letters below each end, and of those beyond the last."""


def _script_of(letter: str) -> str:
    return _SCRIPTS[bisect_right(_SCRIPT_ENDS, ord(letter))]


def _terms(tokens: list[str]) -> frozenset[str]:
    """Content terms: English words cut to six letters, and pairs of adjacent CJK characters."""
    return frozenset(_each_term(tokens))


def _each_term(tokens: list[str]) -> Iterator[str]:
    before = ""
    for token in tokens:
        if token >= _CJK_FIRST:
            if before:
                yield before + token
            before = token
        else:
            before = ""
            if len(token) > 2 and token not in STOPWORDS:
                yield token[:6]
