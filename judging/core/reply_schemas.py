"""JSON schemas of structured replies, for endpoints that can hold a model to one.

The parsers (`core.structured`) read replies without a schema just as well; a schema spares repairs.
"""

from __future__ import annotations

from judging.core.calibration import HIGHEST, LOWEST
from judging.core.chat import JsonSchema
from judging.core.memory import TEXT_FIELDS
from judging.core.prompts import reason_words
from judging.core.structured import CLASSIFICATION, PLAIN, ReplyForm

_TEXT: dict[str, object] = {"type": "string"}
_IDS: dict[str, object] = {"type": "array", "items": _TEXT}


def turn_schema(language: str, form: ReplyForm = PLAIN) -> JsonSchema:
    """The reply of a scoring prompt, its fields in the order in which the prompt asks for them."""
    known: dict[str, object] = {
        CLASSIFICATION: {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))},
        "reason": {"type": "string", "enum": list(reason_words(language))},
        "analysis": _TEXT,
    }
    return JsonSchema(
        "turn_score", _object({name: known.get(name, {"type": "boolean"}) for name in form.fields})
    )


def phrases_schema() -> JsonSchema:
    """The reply of the prompts that induce rubrics."""
    return JsonSchema("rubrics", _object({"rubrics": {"type": "array", "items": _TEXT}}))


def memory_schema() -> JsonSchema:
    """The reply of the memory prompt: the fields of `core.memory.TEXT_FIELDS`."""
    statement = _object({"text": _TEXT, "turn_ids": _IDS})
    observation = _object({"task_name": _TEXT, "observation": _TEXT, "turn_ids": _IDS})
    lists: dict[str, object] = {
        "user_specific_requirements": {"type": "array", "items": statement},
        "task_specific_observations": {"type": "array", "items": observation},
    }
    return JsonSchema(
        "user_memory", _object({name: lists.get(name, statement) for name in TEXT_FIELDS})
    )


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
