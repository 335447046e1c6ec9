"""Structured replies of LLM judges: repair what is only wrapped badly, refuse the rest.

A turn score needs `classification` 1-5, `reason` and `analysis` (seed 003, appendix H.2).
Reasoning, code fences, curly quotes, numbers written as text and a cut-off end are repaired, as the
released code does. A score out of range or a missing field is never filled in. Of several answers
in one reply the last stands, with no fall-back to an earlier one.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, cast

from annotation.core.choices import Reason, is_satisfied
from judging.core.calibration import HIGHEST, LOWEST


class UnparseableScoreError(ValueError):
    """A reply carries no usable score."""

    code = "score:unparseable"


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

_THINKING_END: Final = "</think>"
_THINKING_START: Final = "<think>"
_FENCE: Final = re.compile(r"^\s*```[A-Za-z]*\s*|\s*```\s*$")
_CURLY: Final = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"})
_SCORE: Final = re.compile(r"""["']classification["']\s*[:：]\s*["']?(-?\d+(?:\.\d+)?)""")
_REASON: Final = re.compile(r"""["']reason["']\s*[:：]\s*["']([^"'\n]*)["']""")
_ANALYSIS: Final = re.compile(r"""["']analysis["']\s*[:：]\s*["'](.*)""", re.DOTALL)
_TAIL: Final = re.compile(r"""["']?[\s,}\]]*(?:```)?\s*$""")


def parse_turn(text: str) -> TurnReply:
    """Read a turn score.

    Raises:
        UnparseableScoreError: no answer, a score outside 1-5, or a field missing.
    """
    answer = without_reasoning(text)
    found, end = _last(answer, key="classification")
    if found is None or _SCORE.search(answer.translate(_CURLY), end):
        return _from_fields(_loose_fields(answer), Repair.FIELDS)
    return _from_fields(found, Repair.NONE if _is_bare(answer) else Repair.UNWRAPPED)


def without_reasoning(text: str) -> str:
    """The reply after the last end of reasoning; "" where the reasoning never ended."""
    _, ended, after = text.rpartition(_THINKING_END)
    answer = after if ended else text
    return answer.partition(_THINKING_START)[0]


def last_object(text: str, *, key: str) -> dict[str, object] | None:
    """The last complete JSON object of a reply that has `key`; None where there is none.

    Code fences and text around it do not matter. Only where nothing reads as it stands are curly
    quotes taken for straight ones: within a text they are ordinary characters.
    """
    return _last(text, key=key)[0]


def normalise_reason(score: int, reason: str) -> Reason | None:
    """None for a satisfied score; otherwise the named reason, OTHER where none is known."""
    if is_satisfied(score):
        return None
    word = " ".join(reason.strip().casefold().replace("_", " ").split())
    return REASON_WORDS.get(word, Reason.OTHER)


def _last(text: str, *, key: str) -> tuple[dict[str, object] | None, int]:
    """The last complete object with `key` and where it ends."""
    for candidate in (text, text.translate(_CURLY)):
        objects = [(found, end) for found, end in _objects(candidate) if key in found]
        if objects:
            return objects[-1]
    return None, 0


def _objects(text: str) -> list[tuple[dict[str, object], int]]:
    """Every complete top-level JSON object with its end, in order."""
    decoder = json.JSONDecoder(strict=False)
    found: list[tuple[dict[str, object], int]] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            found.append((value, end))
        start = text.find("{", end)
    return found


def _is_bare(answer: str) -> bool:
    """Whether the reply is one JSON object and nothing else."""
    try:
        return isinstance(json.loads(answer), dict)
    except ValueError:
        return False


def _loose_fields(answer: str) -> dict[str, object]:
    """Fields of the last answer that is no valid JSON: quotes inside a text, or a cut-off end."""
    plain = _FENCE.sub("", answer.translate(_CURLY))
    starts = [match.start() for match in _SCORE.finditer(plain)]
    if not starts:
        raise UnparseableScoreError("the reply names no classification")
    fields: dict[str, object] = {}
    for name, pattern in (("classification", _SCORE), ("reason", _REASON), ("analysis", _ANALYSIS)):
        match = pattern.search(plain, starts[-1])
        if match:
            fields[name] = match.group(1)
    if "analysis" in fields:
        fields["analysis"] = _TAIL.sub("", str(fields["analysis"]))
    return fields


def _from_fields(fields: dict[str, object], repair: Repair) -> TurnReply:
    score = _score(fields.get("classification"))
    if "reason" not in fields:
        raise UnparseableScoreError("reason is missing")
    reason, analysis = fields["reason"], fields.get("analysis")
    if reason is None and is_satisfied(score):
        reason = ""
    if not isinstance(reason, str):
        raise UnparseableScoreError("reason is not a text")
    if not isinstance(analysis, str) or not analysis.strip():
        raise UnparseableScoreError("analysis is missing")
    return TurnReply(score, normalise_reason(score, reason), analysis.strip(), repair)


def _score(value: object) -> int:
    """An integer 1-5, also written "4", 4.0 or "4.0"; true is not a number."""
    if isinstance(value, str) and re.fullmatch(r"\d(\.0+)?", value.strip()):
        value = float(value)
    if isinstance(value, bool) or value not in range(LOWEST, HIGHEST + 1):
        raise UnparseableScoreError(f"classification is not a whole number {LOWEST}-{HIGHEST}")
    return int(cast("float", value))
