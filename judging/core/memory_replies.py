"""A judge's memory in the words of its prompt, turned back to the turn ids of the history."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.core.refusals import Refused
from judging.core.memory import TEXT_FIELDS
from judging.core.memory_parsing import parse_texts
from judging.core.structured import last_object


def read_memory(reply: str, *, aliases: Mapping[str, str]) -> dict[str, object]:
    """The texts of a memory, each citation turned from its alias into the turn's id.

    Args:
        reply: what the model said.
        aliases: alias by turn id, as the prompt named the turns. What cites anything else is
            kept as a citation that no history has, so that whoever stores the texts counts it.

    Raises:
        Refused: no JSON object, or not in the form of `core.memory.TEXT_FIELDS`.
    """
    found = last_object(reply, key="scoring_style")
    if found is None:
        raise Refused("memory:unparseable", "the reply holds no memory")
    ids = {alias: turn_id for turn_id, alias in aliases.items()}
    texts: dict[str, object] = {
        name: _with_ids(found[name], ids) for name in TEXT_FIELDS if name in found
    }
    parse_texts(texts, turn_ids=aliases)
    return texts


def _with_ids(value: object, ids: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_with_ids(item, ids) for item in value]
    if isinstance(value, dict) and isinstance(value.get("turn_ids"), list):
        return value | {"turn_ids": [_turn_id(item, ids) for item in value["turn_ids"]]}
    return value


def _turn_id(cited: object, ids: Mapping[str, str]) -> object:
    if not isinstance(cited, str):
        return cited if not isinstance(cited, int) else f"unknown {cited}"
    return ids.get(cited.strip(" []()").upper(), f"unknown {cited}")
