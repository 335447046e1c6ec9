"""Whether a page that was fetched before its item was given out shows what is then given."""

from __future__ import annotations

from hashlib import sha256

from annotation.core.labelling import PairTask


def shown_digest(task: PairTask) -> str:
    """One short text for all that a pair's page shows of its item and asks of it.

    Equal exactly where the item, its texts, their order and the rules are; where in the study one
    is has no part in it. It tells nothing of the item.
    """
    shown = (
        task.place.item,
        task.rules,
        task.system_prompt,
        task.task_context,
        task.dialogue,
        task.question,
        task.first,
        task.second,
    )
    return sha256(repr(shown).encode()).hexdigest()
