"""Reference answers that came with the data, among a record's other fields.

They stand under `reference:` and the name of who wrote them, where a file of them was imported, or
under `reference`, where they came with the record itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def reference_for(extras: Iterable[Mapping[str, object]], *, position: int) -> str:
    """The first reference answer that some records carry; "" where none does.

    A text is the answer to the whole item. A list holds one a turn (MT-Bench): those up to the
    compared turn are shown together, for the later ones rest on the earlier.

    Args:
        extras: other fields of records, the nearest to the comparison first.
        position: of the compared turn, from 0.
    """
    for extra in extras:
        imported = sorted(key for key in extra if key.startswith("reference:"))
        for key in (*imported, "reference"):
            found = _text(extra.get(key), position)
            if found:
                return found
    return ""


def _text(told: object, position: int) -> str:
    if isinstance(told, str):
        return told.strip()
    if not isinstance(told, list):
        return ""
    turns = [each.strip() if isinstance(each, str) else "" for each in told[: position + 1]]
    if len(turns) <= position or not turns[position]:
        return ""  # the earlier turns' answers say nothing of this one
    if len(turns) == 1:
        return turns[0]
    return "\n\n".join(f"[{place}] {text}" for place, text in enumerate(turns, start=1) if text)
