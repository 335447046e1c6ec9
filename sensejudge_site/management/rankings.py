"""How alike rankings are, for `manage.py leaderboard`: with a file, and between annotators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

from annotation.core.formats.reading import open_text
from annotation.core.refusals import Refused
from benchmark.core.rank_agreement import LEAST_MODELS, RankAgreement, read_reference
from benchmark.queries.boards import annotators_page, part_of
from sensejudge_site.management.parsing import INPUT_WRONG, counted

MOST_REFERENCE_CHARS: Final = 2**20


def reference_of(path: Path | None) -> dict[str, float]:
    """Scores of models by a file; none without one.

    Raises:
        Refused: it is too long, or no reference.
    """
    if path is None:
        return {}
    with open_text(path) as stream:
        text = stream.read(MOST_REFERENCE_CHARS + 1)
    if len(text) > MOST_REFERENCE_CHARS:
        message = f"{path} is longer than {MOST_REFERENCE_CHARS:,} characters"
        raise Refused("reference:invalid", message)
    return read_reference(text)


def in_words(found: RankAgreement | None) -> str:
    """Both measures in words."""
    if found is None:
        return f"fewer than {LEAST_MODELS} models in common"
    told = (
        ("Kendall", found.kendall, found.kendall_interval),
        ("Spearman", found.spearman, found.spearman_interval),
    )
    parts = [
        f"{name} {'-' if value is None else f'{value:.2f}'}"
        + (f" ({interval.low:.2f} to {interval.high:.2f})" if interval else "")
        for name, value, interval in told
    ]
    return f"{', '.join(parts)}, {counted(found.models, 'model')}"


def between_annotators(options: dict[str, Any]) -> str:
    """How annotators' rankings differ, as lines or as JSON."""
    if options["dataset"] is None:
        message = "--between-annotators needs --dataset"
        raise CommandError(message, returncode=INPUT_WRONG)
    part = {name: options[name] for name in ("scenario", "language")}
    settings = {"seed": options["seed"], "draws": options["bootstrap"]}
    page = annotators_page(part_of(options["dataset"], part), **settings)
    found = page.found
    if options["json"]:
        rows = [
            {
                "annotator": row.annotator,
                "models": list(row.models),
                "ranks": list(row.ranks),
                "first": row.first,
                "comparisons": row.comparisons,
                "sessions": row.sessions,
            }
            for row in found.rows
        ]
        fields = {
            "annotators": rows,
            "agreement": page.records(),
            "too_few": list(found.few),
            "left_out": list(found.more),
        }
        return json.dumps(fields, ensure_ascii=False)
    lines = [
        f"{row.annotator}: {row.told(' > ')}{_first_in(row.first)}, "
        f"{counted(row.comparisons, 'comparison')}; like all others: {in_words(row.others)}"
        for row in found.rows
    ]
    lines += [f"{one} | {other}: {in_words(pair)}" for (one, other), pair in found.pairs.items()]
    for word, names in (("too few sessions or models", found.few), ("left out", found.more)):
        if names:
            lines.append(f"{word}: {', '.join(names)}")
    return "\n".join(lines or ["nobody has labelled this dataset"])


def _first_in(share: float | None) -> str:
    return "" if share is None else f" (first in {share:.0%} of the draws)"
