"""What stands beside a judge in an annotator's table: generic rubrics, and baselines of no call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from annotation.core.choices import Order, Verdict
from annotation.models import Comparison, PairwiseLabel
from benchmark.core.decisions import Decisions
from benchmark.core.metrics import longer_wins, majority
from benchmark.core.trust import (
    BASE,
    FIRST,
    LONGER,
    MAJORITY,
    SHORTER,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
)
from benchmark.queries.choices import RUBRICS, AnnotatorChoice, RunChoice, covered
from benchmark.queries.evidence import voice_decisions
from judging.models import JudgeRun, RunStatus


def with_baselines(
    cases: Sequence[JudgedComparison],
    labels: Iterable[HumanLabel],
    run: RunChoice,
    annotator: AnnotatorChoice,
    *,
    rules_alone: bool = False,
) -> tuple[JudgedComparison, ...]:
    """The cases with what else decided on them: rubrics, rules of no judge, other annotators.

    `labels` are the annotator's: they say which response was shown first. With `rules_alone` other
    annotators and rubrics are left out.
    Three queries, and two more where the judge was asked by a rubric as well.
    """
    if not cases:
        return ()
    asked = {case.comparison for case in cases}
    longer = _longer(asked)
    voices: dict[Condition, Mapping[int, Decisions]] = {
        LONGER: longer,
        SHORTER: {key: _flipped(said) for key, said in longer.items()},
        FIRST: {
            one.comparison: {
                Order.COMBINED: Verdict.A if one.shown == Order.ORIGINAL else Verdict.B
            }
            for one in labels
            if one.shown is not None
        },
    }
    if not rules_alone:
        voices |= {MAJORITY: _majority(asked, annotator.id), **_rubrics(run, annotator.id)}
    return tuple(
        replace(
            case,
            decisions={
                **case.decisions,
                **{
                    voice: decided[case.comparison]
                    for voice, decided in voices.items()
                    if case.comparison in decided
                },
            },
        )
        for case in cases
    )


def _longer(comparisons: Collection[int]) -> dict[int, Decisions]:
    rows = Comparison.objects.filter(
        pk__in=comparisons, response_a__text__isnull=False, response_b__text__isnull=False
    ).values_list("pk", "response_a__text", "response_b__text")
    return {
        key: {Order.COMBINED: longer_wins(first or "", second or "")} for key, first, second in rows
    }


def _flipped(said: Decisions) -> Decisions:
    return {order: verdict and verdict.flipped() for order, verdict in said.items()}


def _majority(comparisons: Collection[int], annotator: int) -> dict[int, Decisions]:
    """By comparison, what most other annotators said; of repeated labels the first counts."""
    rows = (
        PairwiseLabel.objects.filter(comparison__in=comparisons)
        .exclude(annotator=annotator)
        .order_by("-repeat_index", "-id")
        .values_list("comparison_id", "annotator_id", "verdict")
    )
    given: dict[int, dict[int, Verdict]] = defaultdict(dict)
    for comparison, other, verdict in rows:
        given[comparison][other] = Verdict(verdict)
    return {key: {Order.COMBINED: majority(said.values())} for key, said in given.items()}


def _rubrics(run: RunChoice, annotator: int) -> dict[Condition, Mapping[int, Decisions]]:
    return {
        Condition(ConditionKind.RUBRIC, prompt): found.decided
        for prompt, key in rubric_runs(run, annotator).items()
        for found in voice_decisions([key], BASE)
    }


def rubric_runs(run: RunChoice, annotator: int) -> dict[str, int]:
    """By prompt, the finished run of the same judge by it that covers most of the labels."""
    rows = (
        JudgeRun.objects.filter(
            dataset=run.dataset,
            annotator=annotator,
            judge=run.judge,
            status=RunStatus.DONE,
            config__prompt__in=RUBRICS,
        )
        .exclude(pk=run.id)
        .annotate(covers=covered())
        .order_by("covers", "pk")
        .values_list("config__prompt", "pk")
    )
    return dict(rows if run.until is None else rows.filter(pk__lte=run.until))
