"""Length bias and self-preference of a judge and an annotator, from stored rows."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models.functions import Length

from annotation.models import Comparison
from benchmark.core.leanings import Leanings, ResponsePair, leanings
from benchmark.core.trust import BASE, SELECTED, Case, HumanLabel
from benchmark.queries.choices import DatasetChoice, RunChoice
from judging.models import JudgeRun


def leanings_of(
    cases: Collection[Case],
    labels: Collection[HumanLabel],
    *,
    dataset: DatasetChoice,
    run: RunChoice | None,
    seed: int,
) -> Leanings:
    """The leanings of a run's judge and an annotator. Two queries.

    Args:
        cases: what the run decided on the annotator's comparisons.
        labels: all of the annotator's labels.
        dataset: that they are of.
        run: whose judge; None where none has decided.
        seed: of every bootstrap.
    """
    wanted = {case.comparison for case in cases} | {label.comparison for label in labels}
    return leanings(
        cases,
        labels,
        pairs_of(dataset, wanted),
        voices=(BASE, SELECTED),
        judge=_judge_name(run) if run else "",
        seed=seed,
    )


def pairs_of(dataset: DatasetChoice, wanted: Collection[int]) -> dict[int, ResponsePair]:
    """Who wrote the responses of some comparisons, and how long they are. One query."""
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id).values_list(
        "pk",
        "response_a__model",
        "response_b__model",
        Length("response_a__text"),
        Length("response_b__text"),
    )
    return {pk: ResponsePair(*told) for pk, *told in rows.iterator() if pk in wanted}


def _judge_name(run: RunChoice) -> str:
    """The judge's model where it is an endpoint, else its name."""
    row = JudgeRun.objects.filter(pk=run.id).values_list("judge", "endpoint__model").first()
    return "" if row is None else row[1] or row[0]
