"""Structured replies of LLM judges: repair what is only wrapped badly, refuse the rest.

A turn score needs `classification` 1-5, `reason` and `analysis` (seed 003, appendix H.2).
Reasoning, code fences, curly quotes, numbers written as text and a cut-off end are repaired, as the
released code does; so are Chinese keys and punctuation. A score out of range or a missing field is
never filled in, and a reply that contradicts itself has no score. Of several answers in one reply
the last counts, with no fall-back to an earlier one; an answer that is only quoted does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from annotation.core.choices import SATISFIED_FROM, Reason, Verdict, is_satisfied
from annotation.core.reasoning import without_reasoning
from annotation.core.refusals import Refused
from judging.core.calibration import HIGHEST, LOWEST
from judging.core.quotes import blank_objects, blank_quotes, blank_spans, json_objects

LOWEST_GRADE: Final = 1
HIGHEST_GRADE: Final = 10
GRADE_SCALE: Final = "1-10"
"""What a grade means, as stored with it."""

_MARK: Final = re.compile(r"(?:\[\[|［［)([^\[\]［］]*+)(?:\]\]|］］)")
_LONGEST_MARK: Final = 40
_MARK_NUMBER: Final = re.compile(r"\d{1,2}(?:\.\d{1,4})?", re.ASCII)
_VERDICTS: Final = {"A": Verdict.A, "B": Verdict.B, "C": Verdict.TIE}
_WIDE: Final = str.maketrans("ＡＢＣ０１２３４５６７８９．", "ABC0123456789.")


def parse_bracketed(text: str) -> Verdict | None:
    """The verdict AS SHOWN in the last [[...]], C for a tie; None where it is no verdict."""
    mark = _last_mark(text)
    return None if mark is None else _VERDICTS.get(mark.upper())


def parse_grade(text: str) -> float | None:
    """The grade in the last [[...]]; None where it is no number from 1 to 10."""
    mark = _last_mark(text)
    if mark is None or not _MARK_NUMBER.fullmatch(mark):
        return None
    grade = float(mark)
    return grade if LOWEST_GRADE <= grade <= HIGHEST_GRADE else None


def compare_scores(first: float, second: float) -> Verdict:
    """The response with the higher score; a tie where they are equal."""
    if first == second:
        return Verdict.TIE
    return Verdict.A if first > second else Verdict.B


def _last_mark(text: str) -> str | None:
    answer = blank_objects(blank_quotes(text), stated=_MARK)
    stripped = [str(mark).strip() for mark in _MARK.findall(answer)]
    marks = [mark for mark in stripped if len(mark) <= _LONGEST_MARK]
    return marks[-1].translate(_WIDE) if marks else None


_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what UTF-8 or PostgreSQL cannot hold: lone surrogates and NUL."""
    return _UNSTORABLE.sub("\ufffd", text)


CLASSIFICATION: Final = "classification"
SATISFIED: Final = "satisfied"


class Repair(StrEnum):
    """How a reply was read."""

    NONE = "NONE"
    UNWRAPPED = "UNWRAPPED"
    FIELDS = "FIELDS"


@dataclass(frozen=True, slots=True)
class TurnReply:
    """A scored turn; `reason` is None exactly when the score counts as satisfied."""

    score: int
    reason: Reason | None
    analysis: str
    repair: Repair = Repair.NONE


@dataclass(frozen=True, slots=True)
class ScoreFlag:
    """A yes-or-no field that must agree with the score: yes from `score` on, no below.

    With `only_caps` a yes allows any score, and a no one below `score`.
    """

    name: str
    score: int
    only_caps: bool = False

    def allows(self, said: bool, score: int) -> bool:  # noqa: FBT001 - it is what the field says
        """Whether the field and the score can both hold."""
        return said == (score >= self.score) or (said and self.only_caps)


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The fields of a structured reply, in the order in which the prompt asks for them.

    A `binary` reply has no classification: its first flag, alone, says satisfied (4) or not (3),
    the scores nearest to the boundary (protocols B 2.2).
    """

    flags: tuple[ScoreFlag, ...] = ()
    analysis_first: bool = False
    binary: bool = False

    @property
    def anchor(self) -> str:
        """The field without which an object is no answer."""
        return self.flags[0].name if self.binary else CLASSIFICATION

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field in order."""
        flags = tuple(flag.name for flag in self.flags)
        stated = (*flags, "reason") if self.binary else (*flags, CLASSIFICATION, "reason")
        return ("analysis", *stated) if self.analysis_first else (*stated, "analysis")


PLAIN: Final = ReplyForm()

REASON_WORDS: Final[dict[str, Reason]] = {
    "不够细致": Reason.INSUFFICIENT_DETAIL,
    "不够多样": Reason.INSUFFICIENT_DIVERSITY,
    "不满足需求": Reason.REQUIREMENT_UNMET,
    "不可用": Reason.UNUSABLE,
    "其它": Reason.OTHER,
    "其他": Reason.OTHER,
    "insufficient detail": Reason.INSUFFICIENT_DETAIL,
    "insufficient diversity": Reason.INSUFFICIENT_DIVERSITY,
    "failure to satisfy the requirement": Reason.REQUIREMENT_UNMET,
    "requirement unmet": Reason.REQUIREMENT_UNMET,
    "unusable": Reason.UNUSABLE,
    "other": Reason.OTHER,
}
"""Reasons as the prompts name them, Chinese and English."""

_STRAIGHT: Final = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "｛": "{", "｝": "}"}
)
_OTHER_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    CLASSIFICATION: ("score", "评分", "分数", "得分"),
    SATISFIED: ("满意", "是否满意"),
    "reason": ("原因", "理由"),
    "analysis": ("分析",),
}
"""What models call a field instead, most of them in Chinese."""
_TRUTH: Final[Mapping[object, bool]] = {
    **dict.fromkeys((True, "true", "yes", "是"), True),
    **dict.fromkeys((False, "false", "no", "否"), False),
}
_WIDE_COLON: Final = re.compile(r'"\s*+：')
_WIDE_COMMA: Final = re.compile(r'(?<=["\w\]])\s*+，\s*+(?=")')
_NUMBER: Final = r"""["']?(-?\d++(?:\.\d++)?)"""
_WORD: Final = r"""["']([^"'\n]*+)["']"""
_YES_OR_NO: Final = r"""["']?(true|false|yes|no|是|否)"""
_REST: Final = r"""["'](.*)"""
_TAIL_REVERSED: Final = re.compile(r"""\s*+(?:```)?+[\s,，}\]]*+["']?+""")


def parse_turn(text: str, form: ReplyForm = PLAIN, *, judged: str = "") -> TurnReply:
    """Reads a score of a turn, or of a session.

    Args:
        text: the reply.
        form: the fields that were asked for.
        judged: the texts that the judge was shown; see `stated`.

    Raises:
        Refused: no answer, a score outside 1-5, a field missing, or a contradiction.
    """
    reply = without_reasoning(text)
    answer = stated(reply, key=form.anchor, judged=judged)
    found, rest = _last(answer, key=form.anchor)
    if found is None or _pattern(form.anchor).search(rest):
        return _from_fields(_loose_fields(answer, form), form, Repair.FIELDS)
    return _from_fields(found, form, Repair.NONE if _is_bare(reply) else Repair.UNWRAPPED)


def stated(text: str, *, key: str, judged: str = "") -> str:
    """Blanks what a reply only quotes, byte for byte.

    That are block quotes, JSON objects that stand in the judged texts too, and code blocks if `key`
    is named outside of them: many models set their answer in one.
    """
    plain = blank_quotes(text, code=False)
    outside = blank_quotes(text)
    answer = outside if _pattern(key).search(outside.translate(_STRAIGHT)) else plain
    repeated = {_written(judged, each) for each in json_objects(judged) if key in each[0]}
    spans = [each[1:] for each in json_objects(answer) if _written(answer, each) in repeated]
    return blank_spans(answer, spans)


def _written(text: str, found: tuple[dict[str, object], int, int]) -> str:
    """An object's text without white space."""
    _value, start, end = found
    return "".join(text[start:end].split())


def last_object(text: str, *, key: str) -> dict[str, object] | None:
    """Returns the last complete JSON object with `key` that a reply states, or None.

    Code fences and text around it do not matter, quotes do not count (see `stated`). Only if
    nothing reads as it is are curly quotes taken for straight ones: within a text they are ordinary
    characters.
    """
    return _last(stated(text, key=key), key=key)[0]


def normalise_reason(score: int, reason: str) -> Reason | None:
    """None for a satisfied score; otherwise the named reason, OTHER where none is known."""
    if is_satisfied(score):
        return None
    word = " ".join(reason.strip().casefold().replace("_", " ").split())
    return REASON_WORDS.get(word, Reason.OTHER)


def _last(text: str, *, key: str) -> tuple[dict[str, object] | None, str]:
    """The last complete object with `key`, and what follows it with its quotes straight."""
    for candidate in (text, text.translate(_STRAIGHT), _renamed(text)):
        objects = [(found, end) for found, _start, end in json_objects(candidate) if key in found]
        if objects:
            found, end = objects[-1]
            return found, candidate[end:].translate(_STRAIGHT)
    return None, ""


def _renamed(text: str) -> str:
    """The text with straight quotes, narrow punctuation between fields, and our own field names."""
    plain = _WIDE_COMMA.sub(", ", _WIDE_COLON.sub('":', text.translate(_STRAIGHT)))
    for name, others in _OTHER_NAMES.items():
        plain = re.sub(rf'"(?:{"|".join(others)})"\s*+:', f'"{name}":', plain)
    return plain


def _is_bare(answer: str) -> bool:
    """Whether the reply is one JSON object and nothing else."""
    try:
        return isinstance(json.loads(answer), dict)
    except (ValueError, RecursionError):
        return False


def _pattern(name: str, value: str = "") -> re.Pattern[str]:
    """A field by any of its names, and its value."""
    names = "|".join((name, *_OTHER_NAMES.get(name, ())))
    return re.compile(rf"""["'](?:{names})["']\s*+[:：]\s*+{value}""", re.DOTALL | re.IGNORECASE)


def _loose_fields(answer: str, form: ReplyForm) -> dict[str, object]:
    """Fields of the last answer that is no valid JSON: quotes inside a text, or a cut-off end.

    A field is looked for after the one that makes an answer, then before it.
    """
    plain = answer.translate(_STRAIGHT)
    starts = [match.start() for match in _pattern(form.anchor).finditer(plain)]
    if not starts:
        raise Refused("score:unparseable", f"the reply names no {form.anchor}")
    start = starts[-1]
    opened = max(0, plain.rfind("{", 0, start))
    values = {CLASSIFICATION: _NUMBER, "reason": _WORD, "analysis": _REST}
    fields: dict[str, object] = {}
    for name in form.fields:
        pattern = _pattern(name, values.get(name, _YES_OR_NO))
        match = pattern.search(plain, start) or pattern.search(plain, opened, start)
        if match:
            fields[name] = match.group(1)
    if "analysis" in fields:
        backwards = str(fields["analysis"])[::-1]
        tail = _TAIL_REVERSED.match(backwards)
        fields["analysis"] = backwards[tail.end() if tail else 0 :][::-1]
    return fields


def _from_fields(fields: dict[str, object], form: ReplyForm, repair: Repair) -> TurnReply:
    said = [(flag, _truth(fields.get(flag.name), flag.name)) for flag in form.flags]
    if form.binary:
        score = SATISFIED_FROM if said[0][1] else SATISFIED_FROM - 1
    else:
        score = _score(fields.get(CLASSIFICATION))
    for flag, yes in said:
        if not flag.allows(yes, score):
            raise Refused("score:unparseable", f"{flag.name} contradicts the score")
    if "reason" not in fields:
        raise Refused("score:unparseable", "reason is missing")
    reason, analysis = fields["reason"], fields.get("analysis")
    if reason is None and is_satisfied(score):
        reason = ""
    if not isinstance(reason, str):
        raise Refused("score:unparseable", "reason is not a text")
    if not isinstance(analysis, str) or not analysis.strip():
        raise Refused("score:unparseable", "analysis is missing")
    return TurnReply(score, normalise_reason(score, reason), analysis.strip(), repair)


def _truth(value: object, name: str) -> bool:
    """Yes or no, also written as a word; a number is neither."""
    word = value.strip().casefold() if isinstance(value, str) else value
    if not isinstance(word, bool | str) or word not in _TRUTH:
        raise Refused("score:unparseable", f"{name} is neither yes nor no")
    return _TRUTH[word]


def _score(value: object) -> int:
    """An integer 1-5, also written "4", 4.0 or "4.0"; true is not a number."""
    if isinstance(value, str) and re.fullmatch(r"\d(\.0+)?", value.strip()):
        value = float(value)
    if isinstance(value, bool) or value not in range(LOWEST, HIGHEST + 1):
        raise Refused(
            "score:unparseable", f"classification is not a whole number {LOWEST}-{HIGHEST}"
        )
    return int(cast("float", value))
