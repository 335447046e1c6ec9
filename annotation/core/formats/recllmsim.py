"""RecLLMSim and PersTurnBench: rated conversations, the user being the annotator.

Two layouts hold the same sessions: JSONL, one conversation a line; and a directory of
`User_N/<scenario>/<session>.json`, which RecLLMSim keeps in `human_exp_V2` and PersTurnBench's
release in `data` (there without the questionnaire). Satisfaction is text, hallucination has a third
value, users may send two messages in a row, and a session may end on the user. A reason beside a
score above 3 has no place in the data model and is no ground to refuse the rating: it is kept in
the session's `extra` under `reasons_above_3`, by message.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Hallucination, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, spoken, turns_of
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import RawRow, read_document
from annotation.core.formats.records import (
    Fault,
    LabelDetails,
    QuestionnaireRecord,
    SatisfactionRecord,
    SessionRecord,
    split_profile,
)
from annotation.core.participants import natural_key
from annotation.core.refusals import Refused, gettext_noop

NAME: Final = "recllmsim"

REASONS: Final = {
    "不够细致": Reason.INSUFFICIENT_DETAIL,
    "不够多样": Reason.INSUFFICIENT_DIVERSITY,
    "不满足需求": Reason.REQUIREMENT_UNMET,
    "不可用": Reason.UNUSABLE,
    "其它": Reason.OTHER,
    "其他": Reason.OTHER,
}
_NEEDS: Final = frozenset({"history", "user", "session"})
_SATISFIED: Final = "满意"
_HALLUCINATIONS: Final = {
    "是": Hallucination.YES,
    "否": Hallucination.NO,
    "无法判断": Hallucination.UNSURE,
}
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT, "system": Speaker.SYSTEM}
_INNER: Final = ("human_exp_V2", "data")
_TOLD: Final = (
    "user",
    "scenario",
    "session",
    "chat_model",
    "history",
    "task_context",
    "task_type",
    "profile",
    "questionnaire",
)


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and {"history", "user", "session"} <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One conversation with its ratings."""
    fields.refuse_unplaced(*_TOLD)
    user = fields.annotator("user")
    scenario = fields.short("scenario" if fields.has("scenario") else "task_type", SCENARIO_CHARS)
    key = f"{user}/{scenario}/{_session(fields)}"
    if len(key) > KEY_CHARS:
        reason = gettext_noop("user/scenario/session is longer than %(longest)d characters")
        fields.fault("session", reason, key, longest=KEY_CHARS)
    known, stray = split_profile(fields.mapping("profile"))
    extra = fields.kept(*_TOLD)
    if stray:
        extra["profile"] = stray
    if fields.has("task_type") and fields.data["task_type"] != scenario:
        extra["task_type"] = fields.data["task_type"]
    reasons_above: dict[str, object] = {}
    system_prompt, said = _history(fields, user, reasons_above)
    if reasons_above:
        extra["reasons_above_3"] = reasons_above
    return SessionRecord(
        key=key,
        scenario=scenario,
        turns=turns_of(said),
        user=user,
        system_prompt=system_prompt,
        task_context=fields.text_or("task_context"),
        profile=known,
        extra=extra,
        questionnaires=_questionnaire(fields, user),
    )


def _session(fields: Fields) -> str:
    """The session's name: a number by rights, so that counting it as coerced would mislead."""
    value = fields.data.get("session")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return fields.short("session", 60)


def _history(
    fields: Fields, user: str, aside: dict[str, object]
) -> tuple[str, list[SpokenMessage]]:
    if not isinstance(fields.data.get("history"), list):
        fields.fault(
            "history", gettext_noop("Expected a list of messages"), fields.data.get("history")
        )
        return "", []
    model = fields.text_or("chat_model", longest=MODEL_CHARS)
    system_prompt = ""
    said: list[SpokenMessage] = []
    for place, message in enumerate(fields.items("history")):
        role = _ROLES.get(message.text("role").strip().lower())
        message.refuse_unplaced()
        if role is None or (role is Speaker.SYSTEM and place > 0):
            reason = gettext_noop("Expected user or assistant (system only first)")
            message.fault("role", reason, message.data.get("role"))
        elif role is Speaker.SYSTEM:
            system_prompt = message.text("content")
        elif role is Speaker.USER:
            said.append(spoken(message, "content", role))
        else:
            rating = _rating(message, user, aside)
            said.append(spoken(message, "content", role, model=model, satisfaction=rating))
    return system_prompt, said


def _rating(message: Fields, user: str, aside: dict[str, object]) -> tuple[SatisfactionRecord, ...]:
    """The rating of one assistant message; none where nobody rated it."""
    hallucination = _hallucination(message)
    if not _given(message, "satisfaction"):
        if _given(message, "reason") or hallucination is not None:
            message.fault(
                "satisfaction", gettext_noop("Missing, although a reason or hallucination is given")
            )
        return ()
    score = message.whole("satisfaction", 1, 5)
    reason = _reason(message)
    if score >= SATISFIED_FROM and reason is not None:
        aside[message.path] = message.data["reason"]
        reason = None
    elif score < SATISFIED_FROM and reason is None:
        reason = Reason.NOT_RECORDED
    return (SatisfactionRecord(LabelDetails(user), score, reason, hallucination),)


def _given(message: Fields, name: str) -> bool:
    value = message.data.get(name)
    return value is not None and not (isinstance(value, str) and not value.strip())


def _reason(message: Fields) -> Reason | None:
    if not _given(message, "reason"):
        return None
    value = message.text("reason").strip()
    if value == _SATISFIED:
        return None
    if value not in REASONS:
        reason = gettext_noop("Expected one of %(words)s")
        message.fault("reason", reason, value, words="、".join(REASONS))
    return REASONS.get(value)


def _hallucination(message: Fields) -> Hallucination | None:
    if not _given(message, "hallucination"):
        return None
    value = message.text("hallucination").strip()
    if value not in _HALLUCINATIONS:
        reason = gettext_noop("Expected one of %(words)s")
        message.fault("hallucination", reason, value, words="、".join(_HALLUCINATIONS))
    return _HALLUCINATIONS.get(value)


def _questionnaire(fields: Fields, user: str) -> tuple[QuestionnaireRecord, ...]:
    answers = tuple(item.data for item in fields.items("questionnaire"))
    return (QuestionnaireRecord(user, answers),) if answers else ()


# The directory layout --------------------------------------------------------------------------


def read_directory(root: Path) -> Iterator[RawRow]:
    """The session files under `root` (or its human_exp_V2 or data), in numeric order.

    Raises:
        Refused: there is no User_N/<scenario>/<session>.json.
    """
    places = [*(root / name for name in _INNER if (root / name).is_dir()), root]
    files = next((found for found in map(_session_files, places) if found), [])
    if not files:
        raise Refused(
            "import:unreadable", f"{root.name}: no files User_N/<scenario>/<session>.json"
        )
    for number, path in enumerate(files, start=1):
        yield _session_file(number, path)


def _session_files(base: Path) -> list[Path]:
    found = (path for path in base.glob("*/*/*.json") if not path.name.startswith("."))
    return sorted(found, key=_place)


def _place(path: Path) -> tuple[tuple[tuple[int, int, str], ...], ...]:
    """User_2 before User_10, 2.json before 10.json."""
    return tuple(natural_key(name) for name in (path.parts[-3], path.parts[-2], path.stem))


def _session_file(number: int, path: Path) -> RawRow:
    told = {"user": path.parts[-3], "scenario": path.parts[-2], "session": path.stem}
    name = "/".join(told.values())
    row = read_document(path, number)
    if row.fault is not None:
        return replace(row, fault=replace(row.fault, field=name))
    if not isinstance(row.value, dict):
        return RawRow(number, fault=Fault(number, name, gettext_noop("Expected a JSON object")))
    return RawRow(number, {**row.value, **told})


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("RecLLMSim (JSONL)"),
        line=gettext_noop(
            "Conversations of users with a model, each reply rated from 1 to 5, with "
            "task and user profile."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
        read_directory=read_directory,
    ),
)
