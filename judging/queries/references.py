"""Reference answers that were imported with the data, by comparison and by response."""

from __future__ import annotations

from collections.abc import Collection

from annotation.models import Comparison, Response
from judging.core.references import reference_for


def comparison_references(comparison_ids: Collection[int]) -> dict[int, str]:
    """The reference answer of each comparison, "" where it has none. One query."""
    rows = Comparison.objects.filter(pk__in=comparison_ids).values_list(
        "pk", "extra", "turn__session__extra", "turn__position"
    )
    return {
        key: reference_for((own, session), position=position)
        for key, own, session, position in rows
    }


def response_references(response_ids: Collection[int]) -> dict[int, str]:
    """The reference answer for what each response answers, "" where there is none. One query."""
    rows = Response.objects.filter(pk__in=response_ids).values_list(
        "pk", "turn__session__extra", "turn__position"
    )
    return {key: reference_for((session,), position=position) for key, session, position in rows}
