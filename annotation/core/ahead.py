"""Whether a page that was fetched before its item was given out shows what is then given."""

from __future__ import annotations

from hashlib import blake2b

from annotation.core.labelling import PairTask


def shown_digest(task: PairTask, *, key: bytes) -> str:
    """One short text for all that a pair's page shows of its item and asks of it.

    Equal exactly where the item, its texts, their order and the rules are; where in the study one
    is has no part in it. Whoever lacks the key cannot try item numbers until one fits.
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
    return blake2b(repr(shown).encode(), key=key, digest_size=32).hexdigest()
