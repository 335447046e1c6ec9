"""Edited prompts: published as versions, and kept whole by each run that asks them."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.db import IntegrityError, transaction

from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Dataset, User
from judging.core.prompt_edits import edit_faults, plain_text, prompt_book
from judging.models import ModelEndpoint, PromptOverride
from judging.queries.prompts import (
    EDITED_PROMPTS,
    PromptOwner,
    newest_version,
    owner_of,
    owner_of_row,
    prompt_line,
    prompts_in_force,
)


def edited_prompts(
    dataset: Dataset,
    *,
    annotator: User | None,
    endpoint: ModelEndpoint | None,
    rated: bool = False,
) -> dict[str, Any]:
    """What a run's configuration says of them; nothing where none was edited, or none is asked.

    Args:
        dataset: of the run.
        annotator: whose labels the run is about; None for everybody's.
        endpoint: who is asked; None for a judge that is asked by no prompt.
        rated: the run is about ratings; else about comparisons.

    Raises:
        Refused: one of them can no longer be used.
    """
    if endpoint is None:
        return {}
    in_force = prompts_in_force(owner_of(dataset, annotator=annotator, rated=rated))
    rows = [in_force[key] for key in sorted(in_force)]
    if not rows:
        return {}
    book = prompt_book((row.name, row.language, row.text) for row in rows)
    told = [
        {**stored, "of": owner_of_row(row).name, "version": row.version}
        for stored, row in zip(book.to_json(), rows, strict=True)
    ]
    return {EDITED_PROMPTS: told}


def publish_prompt(
    owner: PromptOwner, *, name: str, language: str, text: str, since: int, by: User
) -> int:
    """Puts an edited text into force for the owner's new runs; its version.

    Args:
        owner: whose.
        name: of the prompt.
        language: "en" or "zh".
        text: the whole of it.
        since: the owner's last version when it was written; 0 for none.
        by: who publishes.

    Raises:
        Refused: the text would break the judge; it is what is asked already; `since` is not the
            owner's last version.
    """
    plain = plain_text(text)
    if faults := edit_faults(name, language, plain):
        raise Refused("prompt:refused", faults=faults)
    if plain == prompt_line(owner, name, language).text:
        raise Refused("prompt:unchanged")
    return _add(owner, name, language, plain, since, by)


def restore_prompt(owner: PromptOwner, *, name: str, language: str, since: int, by: User) -> int:
    """Takes the owner's own text back, so that the released one, or the dataset's, is asked again.

    Raises:
        Refused: there is no such prompt; the owner has no text of its own; `since` is not the
            owner's last version.
    """
    line = prompt_line(owner, name, language)
    if line.edited is None or line.inherited:
        raise Refused("prompt:unchanged")
    return _add(owner, name, language, "", since, by)


def _add(owner: PromptOwner, name: str, language: str, text: str, since: int, by: User) -> int:
    if newest_version(owner, name, language) != since:
        raise Refused("prompt:outdated")
    try:
        with transaction.atomic():
            PromptOverride.objects.create(
                **owner.columns,
                name=name,
                language=language,
                version=since + 1,
                text=text,
                digest=sha256(text.encode()).hexdigest() if text else "",
                created_by=by,
            )
            AuditEvent.objects.create(
                actor=by,
                action=f"{owner.kind}.prompt",
                target=owner.kind,
                target_id=owner.row.pk,
                detail={"prompt": f"{name}.{language}", "version": since + 1},
            )
    except IntegrityError as error:  # somebody else was quicker by less than a moment
        raise Refused("prompt:outdated") from error
    return since + 1
