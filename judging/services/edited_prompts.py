"""A dataset's own prompts as a run keeps them: whole, so that a later edit changes the next run."""

from __future__ import annotations

from typing import Any

from annotation.models import Dataset
from judging.core.prompt_edits import prompt_book
from judging.models import PromptOverride
from judging.services.judges import EDITED_PROMPTS


def edited_prompts(dataset: Dataset) -> dict[str, Any]:
    """What a run's configuration says of them; nothing where none was edited.

    Raises:
        PromptError: one of them can no longer be used.
    """
    rows = PromptOverride.objects.filter(dataset=dataset).order_by("name", "language")
    book = prompt_book(rows.values_list("name", "language", "text"))
    return {EDITED_PROMPTS: book.to_json()} if book.edited else {}
