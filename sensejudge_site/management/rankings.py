"""What `manage.py leaderboard` says beside ratings: draws, mean grades, how alike rankings are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError

from annotation.core.formats.reading import open_text
from annotation.core.refusals import Refused
from benchmark.core.grades import GradeMean, ModelGrades
from benchmark.core.rank_agreement import LEAST_MODELS, RankAgreement, read_reference
from benchmark.core.ranking import Ranking
from benchmark.queries.boards import annotators_page, part_of
from benchmark.queries.grades import GradesPage, dataset_grades
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


def draws_told(ranking: Ranking) -> str:
    """How many draws the intervals rest on, or why there are none."""
    if ranking.units.uneven:
        few = "one session holds" if ranking.units.one_holds_most else "a few sessions hold"
        return f"no intervals: {few} most of the comparisons"
    if ranking.units.few:
        return f"too few sessions for intervals: about {ranking.units.missing} more are needed"
    if ranking.ties_alone:
        return "no intervals: in every comparison both models got as many verdicts"
    if not ranking.draws:
        return "no intervals: --bootstrap 0"
    return (
        f"{ranking.bounded_draws:,} of {counted(ranking.draws, 'bootstrap draw')} "
        f"with finite ratings, seed {ranking.seed}"
    )


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
        f"{row.annotator}: {row.told('>')}{_first_in(row.first)}, "
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


def grades(options: dict[str, Any]) -> str:
    """The mean grade of each model, as lines or as JSON."""
    if options["dataset"] is None:
        raise CommandError("--grades needs --dataset", returncode=INPUT_WRONG)
    page = dataset_grades(options["dataset"], judge=options["judge"])
    if options["json"]:
        return json.dumps(_grade_fields(page), ensure_ascii=False)
    width = max((len(each.model) for each in page.models), default=5)
    lines = [_grade_line(each, width) for each in page.models]
    by = f"by {page.run.judge}, run {page.run.pk}" if page.run else ""
    return "\n".join([*lines, f"{by}; intervals by session, none for fewer than ten"])


def _grade_fields(page: GradesPage) -> dict[str, object]:
    return {
        "judge": page.run and page.run.judge,
        "run": page.run and page.run.pk,
        "unnamed": page.unnamed,
        "models": [
            {
                "model": each.model,
                **each.score.record(),
                "turns": [{"turn": turn, **it.record()} for turn, it in each.turns.items()],
                "scenarios": [
                    {"scenario": name, **it.record()} for name, it in each.scenarios.items()
                ],
            }
            for each in page.models
        ],
    }


def _grade_line(each: ModelGrades, width: int) -> str:
    turns = "  ".join(f"turn {turn} {_grade(found)}" for turn, found in each.turns.items())
    lost = f"{each.score.unreadable} unreadable, {each.score.failed} without a reply"
    return f"{each.model:<{width}}  {_grade(each.score)}  {turns}  {lost}"


def _grade(found: GradeMean) -> str:
    if found.mean is None:
        return "-"
    ends = found.mean.interval
    told = f"{found.mean.value:.2f}"
    return f"{told} ({ends.low:.2f} to {ends.high:.2f})" if ends else told
