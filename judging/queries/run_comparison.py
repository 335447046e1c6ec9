"""What a run made of one comparison: the texts, every reply in both orders, and grades."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from annotation.core.choices import Order
from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.core.judge_modes import JudgePrompt
from judging.core.pair_texts import PairTexts
from judging.core.pairwise_settings import settings_from_config
from judging.models import JudgeRun, Judgment, Preference, ResponseScore, RunKind
from judging.queries.comparisons import texts_of


@dataclass(frozen=True, slots=True)
class Side:
    """A judgment as it was shown, in one order."""

    order: Order
    judgment: Judgment | None


@dataclass(frozen=True, slots=True)
class PreferenceJudgments:
    """The judgments of a comparison under one preference, the original order first.

    A verdict recorded for both orders together is the only side.
    """

    preference: Preference
    sides: tuple[Side, ...]


@dataclass(frozen=True, slots=True)
class JudgedComparisonPage:
    """A comparison as a run judged it: the texts, and every reply in both orders.

    `grades` are those of A and B where the run graded responses, else empty.
    """

    run: JudgeRun
    comparison: Comparison
    texts: PairTexts | None
    judgments: Sequence[PreferenceJudgments]
    grades: Sequence[ResponseScore | None] = ()

    @property
    def rubric(self) -> bool:
        """Whether the judge was asked by a rubric instead of the paper's prompt."""
        return settings_from_config(self.run.config).prompt is not JudgePrompt.PERSONAL


def comparison_page(run_id: int, comparison_id: int) -> JudgedComparisonPage:
    """What one run made of one comparison.

    Raises:
        Refused: the run did not judge it.
    """
    rows = list(
        Judgment.objects.filter(run=run_id, comparison=comparison_id)
        .select_related("preference", "call")
        .order_by("preference__position", "preference_id", "order")
    )
    if not rows:
        raise Refused("run:unknown")
    grouped: dict[int, list[Judgment]] = defaultdict(list)
    for row in rows:
        grouped[row.preference_id].append(row)
    run = JudgeRun.objects.select_related("dataset", "annotator").get(pk=run_id)
    comparison = Comparison.objects.select_related("turn__session__scenario").get(pk=comparison_id)
    return JudgedComparisonPage(
        run=run,
        comparison=comparison,
        texts=texts_of([comparison_id]).get(comparison_id),
        judgments=[
            PreferenceJudgments(given[0].preference, _sides(given)) for given in grouped.values()
        ],
        grades=_grades(run, comparison) if run.kind == RunKind.GRADE else (),
    )


def _grades(run: JudgeRun, comparison: Comparison) -> tuple[ResponseScore | None, ...]:
    sides = (comparison.response_a_id, comparison.response_b_id)
    rows = ResponseScore.objects.filter(run=run, response__in=sides).select_related("call")
    found = {row.response_id: row for row in rows}
    return tuple(found.get(side) for side in sides)


def _sides(given: Sequence[Judgment]) -> tuple[Side, ...]:
    by_order = {row.order: row for row in given}
    if by_order.keys() == {Order.COMBINED}:
        return (Side(Order.COMBINED, by_order[Order.COMBINED]),)
    return tuple(Side(order, by_order.get(order)) for order in (Order.ORIGINAL, Order.SWAPPED))
