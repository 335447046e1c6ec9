"""What runs came to, as commands print it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection
from typing import Any

from django.db.models import Count

from annotation.core.choices import JudgmentStatus
from judging.core.runs import WITHDRAWN, JudgedTotals, StageName, sum_of_costs
from judging.core.targets import TurnPart
from judging.models import SatisfactionJudgment
from judging.queries.runs import run_progress


def judged_totals(run_id: int) -> JudgedTotals:
    """The judgments of a test run by outcome; grades count by the verdicts that follow."""
    progress = run_progress(run_id)
    stages = [stage for stage in progress.stages if stage.stage is not StageName.GRADE]
    return JudgedTotals(
        judged=sum(stage.done for stage in stages),
        failed=sum(stage.failed for stage in stages),
        unparseable=sum(stage.unparseable for stage in stages),
        calls=progress.calls,
        errors=progress.errors,
        cost=progress.told_cost,
        second_tries=progress.second_tries,
        said=progress.said,
    )


def scored_totals(run_ids: Collection[int]) -> dict[str, Any]:
    """The scores of satisfaction runs together, as scripts read them.

    `scored` counts what was asked for and has a score, `parts` everything with a score by what it
    was to its user; `failed` and `unparseable` count calls without one, `errors` by code with what
    stood in the way before and what was withdrawn. `cost` is None where a part of it is not known.
    """
    rows = SatisfactionJudgment.objects.filter(run__in=run_ids).order_by()
    by_part: dict[str, int] = {}
    without: dict[str, int] = defaultdict(int)
    counted = rows.exclude(error_code__in=WITHDRAWN).values_list("part", "status")
    for part, status, count in counted.annotate(Count("pk")).order_by("part", "status"):
        if status == JudgmentStatus.DONE:
            by_part[part] = count
        else:
            without[status] += count
    progress = [run_progress(run_id) for run_id in run_ids]
    errors = sum((Counter(dict(one.errors)) for one in progress), Counter[str]())
    return {
        "scored": sum(n for part, n in by_part.items() if part != TurnPart.REFERENCE),
        "failed": without[JudgmentStatus.FAILED],
        "unparseable": without[JudgmentStatus.UNPARSEABLE],
        "calls": sum(one.calls for one in progress),
        "second_tries": sum(one.second_tries for one in progress),
        "cost": sum_of_costs((one.calls, one.told_cost) for one in progress),
        "errors": dict(sorted(errors.items())),
        "said": {code: words for one in progress for code, words in one.said.items()},
        "parts": {part.value.lower(): by_part.get(part, 0) for part in TurnPart},
        "runs": list(run_ids),
    }
