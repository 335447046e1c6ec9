"""How carefully the annotators of a study answer it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count

from annotation.core.choices import Order, StudyKind, Verdict
from annotation.core.quality import (
    FAST_PAIR_SECONDS,
    FAST_REPLY_SECONDS,
    Answered,
    Quality,
    QualityMeasure,
    Yardstick,
    figures_of,
    qualities,
    quality_of,
)
from annotation.core.refusals import Refused
from annotation.models import (
    Claim,
    ClaimState,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Study,
    StudyItem,
    User,
)
from annotation.queries.annotators import names_of
from annotation.queries.gold import study_gold_scores, study_gold_verdicts


@dataclass(frozen=True, slots=True)
class QualityQuestion:
    """What is asked: a study, and below how many seconds an answer is too fast (None: usual)."""

    study: str
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class QualityScope:
    """What a question came to.

    Attributes:
        study: The study's row.
        verdicts: Whether it asks for verdicts, not scores.
        seconds: Below how many seconds an answer is too fast.
        items: How many items it has, by kind.
        names: Of everybody in it or with an answer in it, by number; sorted by name.
    """

    study: Study
    verdicts: bool
    seconds: float
    items: dict[str, int]
    names: dict[int, str]

    @property
    def all_items(self) -> int:
        """Items of every kind."""
        return sum(self.items.values())

    @property
    def gold_wanted(self) -> int:
        """How many gold items the rate asks for."""
        return round(self.study.gold_rate * self.all_items)

    @property
    def repeats_wanted(self) -> int:
        """How many repeats the rate asks for."""
        return round(self.study.repeat_rate * self.all_items)


@dataclass(frozen=True, slots=True)
class AnnotatorQuality:
    """One annotator: figures, skips, and whether they are paused. `part` is None who left."""

    id: int
    name: str
    quality: Quality
    skipped: int
    part: Participation | None


@dataclass(frozen=True, slots=True)
class QualityPage:
    """The figures of a study's annotators, and of all together."""

    scope: QualityScope
    figures: tuple[QualityMeasure, ...]
    annotators: tuple[AnnotatorQuality, ...]
    everybody: Quality
    skipped: int


def quality_page(question: QualityQuestion, *, file_names: bool = False) -> QualityPage:
    """The figures of everybody in a study. Seven queries, whatever its size.

    Args:
        question: Which study, and what is too fast.
        file_names: Whether annotators go by their names in exported labels, which no two share.

    Raises:
        Refused: there is no such study.
    """
    scope, parts = scope_of(question)
    answers = answers_in(scope)
    yardstick = yardstick_of(scope)
    everybody, found = qualities(answers, yardstick, verdicts=scope.verdicts)
    nothing = quality_of([], yardstick, verdicts=scope.verdicts)
    skipped = _skips(scope)
    names = scope.names | (_file_names(scope) if file_names else {})
    return QualityPage(
        scope=scope,
        figures=figures_of(verdicts=scope.verdicts),
        annotators=tuple(
            AnnotatorQuality(
                id=number,
                name=name,
                quality=found.get(number, nothing),
                skipped=skipped.get(number, 0),
                part=parts.get(number),
            )
            for number, name in names.items()
        ),
        everybody=everybody,
        skipped=sum(skipped.values()),
    )


def _file_names(scope: QualityScope) -> dict[int, str]:
    dataset = scope.study.dataset
    people = User.objects.filter(pk__in=scope.names).values_list("pk", "username")
    known = names_of(dataset=dataset)
    return {
        number: known.get(number, username.removeprefix(f"{dataset.slug}:"))
        for number, username in people
    }


def scope_of(question: QualityQuestion) -> tuple[QualityScope, dict[int, Participation]]:
    """The study and the parts of everybody who is in it. Four queries."""
    study = Study.objects.filter(slug=question.study).first()
    if study is None:
        raise Refused("quality:unknown-choice", "no such study")
    verdicts = study.kind == StudyKind.PAIRWISE
    parts = Participation.objects.filter(study=study).select_related("annotator")
    people = {part.annotator_id: part for part in parts}
    here = Claim.objects.filter(item__study=study).values("annotator")
    gone = User.objects.filter(pk__in=here).exclude(pk__in=people)
    names = {number: str(part.annotator) for number, part in people.items()}
    names |= {user.pk: str(user) for user in gone}
    kinds = StudyItem.objects.filter(study=study).values_list("kind").annotate(n=Count("pk"))
    usual = FAST_PAIR_SECONDS if verdicts else FAST_REPLY_SECONDS
    scope = QualityScope(
        study=study,
        verdicts=verdicts,
        seconds=question.seconds or usual,
        items={kind.value: 0 for kind in ItemKind} | dict(kinds.order_by()),
        names=dict(sorted(names.items(), key=lambda named: (named[1].casefold(), named[0]))),
    )
    return scope, people


def answers_in(scope: QualityScope) -> list[Answered]:
    """Every answer of the study in the order given, of people it knows. One query."""
    if scope.verdicts:
        rows = PairwiseLabel.objects.filter(study=scope.study).values_list(
            "pk",
            "annotator",
            "comparison",
            "verdict",
            "repeat_index",
            "shown_order",
            "active_seconds",
            "extra__flag",
        )
        return [
            Answered(
                label, who, target, Verdict(verdict), repeat,
                Order(shown) if shown else None, seconds, bool(flag),
            )
            for label, who, target, verdict, repeat, shown, seconds, flag
            in rows.order_by("pk")
            if who in scope.names
        ]  # fmt: skip
    ratings = SatisfactionLabel.objects.filter(
        study=scope.study, response__isnull=False
    ).values_list(
        "pk",
        "annotator",
        "response",
        "score",
        "repeat_index",
        "active_seconds",
        "extra__flag",
    )
    return [
        Answered(label, who, target, score, repeat, None, seconds, bool(flag))
        for label, who, target, score, repeat, seconds, flag in ratings.order_by("pk")
        if who in scope.names
    ]


def yardstick_of(scope: QualityScope) -> Yardstick:
    """What the answers of a study are measured by. One query."""
    gold = study_gold_verdicts(scope.study) if scope.verdicts else study_gold_scores(scope.study)
    return Yardstick(gold=dict(gold), fast_seconds=scope.seconds)


def _skips(scope: QualityScope) -> dict[int, int]:
    skipped = Claim.objects.filter(item__study=scope.study, state=ClaimState.SKIPPED)
    return dict(skipped.values_list("annotator").annotate(n=Count("pk")).order_by())
