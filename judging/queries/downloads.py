"""Which exports of a dataset have a row."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, F, OuterRef, Q
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.models import Comparison, Dataset, GoldLabel, PairwiseLabel, Response, Session, Turn
from judging.core.structured import GRADE_SCALE
from judging.models import (
    GeneratedResponse,
    InducedRubric,
    Judgment,
    Preference,
    PreferenceKind,
    PreferenceSet,
    ResponseScore,
    SatisfactionJudgment,
    UserMemory,
)

_HERE = "turn__session__dataset"


def filled_exports(dataset: Dataset) -> frozenset[str]:
    """Returns the kinds of exports of verdicts and replies that have a row of a dataset.

    Those of `judging.exports.EXPORTS`, and `preference_pairs`. One query.
    """
    rows = _of_runs() | _of_peers()
    has_rows = [Exists(each) for each in rows.values()]
    found = Dataset.objects.filter(pk=dataset.pk).values_list(*has_rows).get()
    return frozenset(kind for kind, has_row in zip(rows, found, strict=True) if has_row)


def _teaching() -> QuerySet[Any]:
    """Comparisons of two different texts on which a person or a judge decided."""
    own = {"comparison": OuterRef("pk"), "verdict__in": [Verdict.A, Verdict.B]}
    decided = Exists(PairwiseLabel.objects.filter(**own)) | Exists(Judgment.objects.filter(**own))
    texts = Q(response_a__text__isnull=False, response_b__text__isnull=False)
    return Comparison.objects.filter(
        texts, decided, turn__session__dataset=OuterRef("pk"), turn__user_message__isnull=False
    ).exclude(response_a__text=F("response_b__text"))


def _of_runs() -> dict[str, QuerySet[Any]]:
    run = {"run__dataset": OuterRef("pk")}
    return {
        "preference_pairs": _teaching(),
        "judgments": Judgment.objects.filter(**run),
        "preferences": Preference.objects.filter(
            Q(dataset=OuterRef("pk")) | Q(run__dataset=OuterRef("pk"))
        ),
        "preference_sets": PreferenceSet.objects.filter(dataset=OuterRef("pk")),
        "memories": UserMemory.objects.filter(**run),
        "satisfaction_judgments": SatisfactionJudgment.objects.filter(**run),
        "rubrics": InducedRubric.objects.filter(**run),
        "generated_responses": GeneratedResponse.objects.filter(**run),
    }


def _of_peers() -> dict[str, QuerySet[Any]]:
    """The rows behind the layouts of other projects, on the conditions of `exports.peers`."""
    compared = {f"comparison__{_HERE}": OuterRef("pk")}
    labels = PairwiseLabel.objects.filter(**compared, repeat_index=0)
    answers = Response.objects.filter(**{_HERE: OuterRef("pk")}, text__isnull=False).exclude(
        model=""
    )
    judged = Judgment.objects.filter(**compared, preference__kind=PreferenceKind.EMPTY).exclude(
        status=JudgmentStatus.PENDING
    )
    scored = ResponseScore.objects.filter(
        **{f"response__{_HERE}": OuterRef("pk")}, scale=GRADE_SCALE
    ).exclude(status=JudgmentStatus.PENDING)
    texts = Q(comparison__response_a__text__isnull=False)
    texts &= Q(comparison__response_b__text__isnull=False)
    asked = Turn.objects.filter(session=OuterRef("pk"))
    gold = GoldLabel.objects.filter(texts, **compared, comparison__turn__user_message__isnull=False)
    return {
        "mtbench_questions": Session.objects.filter(
            Exists(asked), ~Exists(asked.filter(user_message=None)), dataset=OuterRef("pk")
        ),
        "mtbench_answers": answers.filter(Q(variant="") | Q(variant__startswith="choice ")),
        "mtbench_votes": labels,
        "mtbench_pairs": judged.filter(order__in=[Order.ORIGINAL, Order.SWAPPED]),
        "mtbench_singles": scored,
        "alpaca_outputs": answers.filter(_alone("turn__session")),
        "alpaca_annotations": judged.filter(texts, _alone("comparison__turn__session")),
        "arena_battles": labels,
        "rewardbench": gold.exclude(verdict=Verdict.TIE),
    }


def _alone(session: str) -> Q:
    """Whether a session has one turn alone, whose request is there, and no system prompt."""
    turns = Turn.objects.filter(session=OuterRef(session))
    others = turns.filter(Q(position__gt=0) | Q(user_message=None))
    return Q(~Exists(others), **{f"{session}__system_prompt": ""})
