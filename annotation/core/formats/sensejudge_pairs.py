"""The `pair` line of the project's own format: one comparison written flat.

The context is `prompt` (one user message) or `dialogue` (messages ending on the user). Pairs of the
same context share one turn. A line carries one label in its own fields or several under `labels`,
or none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from annotation.core.dialogue import Speaker
from annotation.core.formats.fields import (
    KEY_CHARS,
    MODEL_CHARS,
    SCENARIO_CHARS,
    VARIANT_CHARS,
    Fields,
)
from annotation.core.formats.messages import SpokenMessage, turns_of
from annotation.core.formats.records import (
    ComparisonRecord,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.formats.sensejudge_labels import DETAILS, VERDICT, verdict, verdicts
from annotation.core.refusals import gettext_noop

_PAIR: Final = (
    "type",
    "session",
    "scenario",
    "system_prompt",
    "task_context",
    "prompt",
    "dialogue",
    "comparison",
    "position",
    "model_a",
    "variant_a",
    "text_a",
    "model_b",
    "variant_b",
    "text_b",
    "labels",
)
_ROLES: Final = {"user": Speaker.USER, "assistant": Speaker.ASSISTANT}


def parse(fields: Fields) -> SessionRecord:
    """One pair as a session whose last turn holds the comparison."""
    fields.refuse_unknown(*_PAIR, *DETAILS, *VERDICT)
    scenario = fields.short("scenario", SCENARIO_CHARS)
    system_prompt = fields.text_or("system_prompt")
    task_context = fields.text_or("task_context")
    messages = _context(fields)
    told = [f"{message.role}:{message.text}" for message in messages]
    key = content_key(scenario, system_prompt, task_context, *told)
    turns = turns_of(messages)
    if turns:
        a, b = _candidate(fields, "a"), _candidate(fields, "b")
        if (a.model, a.variant, a.text) == (b.model, b.variant, b.text):
            if b.variant:
                fields.fault("variant_b", gettext_noop("A and B are the same response"), b.variant)
            b = replace(b, variant="B")
        last = TurnRecord(turns[-1].user_message, (a, b), (_comparison(fields, a, b),))
        turns = (*turns[:-1], last)
    return SessionRecord(
        key=fields.short("session", KEY_CHARS) if fields.has("session") else key,
        scenario=scenario,
        turns=turns,
        system_prompt=system_prompt,
        task_context=task_context,
    )


def _context(fields: Fields) -> list[SpokenMessage]:
    if fields.has("prompt") == fields.has("dialogue"):
        fields.fault("dialogue", gettext_noop("Give either prompt or dialogue"))
        return []
    if fields.has("prompt"):
        return [SpokenMessage(Speaker.USER, fields.text("prompt"))]
    messages = []
    for item in fields.items("dialogue"):
        item.refuse_unknown("role", "content")
        role = item.text("role")
        if role not in _ROLES:
            item.fault("role", gettext_noop("Expected user or assistant"), role)
        messages.append(SpokenMessage(_ROLES.get(role, Speaker.USER), item.text("content")))
    if not messages or messages[-1].role is not Speaker.USER:
        fields.fault(
            "dialogue", gettext_noop("Must end with the user message that both responses answer")
        )
    return messages


def _candidate(fields: Fields, side: str) -> ResponseRecord:
    name = f"text_{side}"
    if name not in fields.data:
        fields.fault(name, gettext_noop("Missing (use null if the text is not available)"))
    return ResponseRecord(
        key=side,
        text=fields.text(name) if fields.has(name) else None,
        model=fields.text_or(f"model_{side}", longest=MODEL_CHARS),
        variant=fields.text_or(f"variant_{side}", longest=VARIANT_CHARS),
    )


def _comparison(fields: Fields, a: ResponseRecord, b: ResponseRecord) -> ComparisonRecord:
    content = (a.model, a.variant, a.text or "", b.model, b.variant, b.text or "")
    return ComparisonRecord(
        key=fields.short("comparison", KEY_CHARS)
        if fields.has("comparison")
        else content_key(*content),
        a="a",
        b="b",
        position=fields.whole_or_none("position", 0, 2**31 - 1),
        labels=_labels(fields),
    )


def _labels(fields: Fields) -> tuple[PairwiseRecord, ...]:
    flat = fields.has("verdict") or fields.has("annotator")
    if flat and fields.has("labels"):
        fields.fault("labels", gettext_noop("Duplicates a label in the line's own fields"))
    return (verdict(fields),) if flat else verdicts(fields, "labels")
