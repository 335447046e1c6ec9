"""How carefully the annotators of a study answer: gold answers, figures, the rule that pauses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from annotation.core.choices import Order, StudyKind, Verdict
from annotation.core.intervals import independent_share
from annotation.core.labelling import Target
from annotation.core.quality import (
    FAST_PAIR_SECONDS,
    Answered,
    BrokenRule,
    HitShare,
    Quality,
    QualityMeasure,
    UndefinedFigure,
    Yardstick,
    figures_of,
    holding,
    measured,
    qualities,
    quality_of,
)
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    Dataset,
    GoldLabel,
    GoldSource,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Study,
    StudyItem,
    User,
)
from annotation.queries.participants import names_of
from annotation.queries.quality_rules import fast_seconds_of, rules_broken


def gold_verdicts(dataset: Dataset) -> dict[int, Verdict]:
    """The verdict held to be right, by comparison. One query."""
    rows = GoldLabel.objects.filter(comparison__turn__session__dataset=dataset)
    found = holding(rows.values_list("comparison_id", "source", "verdict"))
    return {pair: Verdict(verdict) for pair, verdict in found.items() if verdict is not None}


def gold_scores(dataset: Dataset) -> dict[int, tuple[int, int]]:
    """Session and score held to be right, by response that was really given. One query."""
    rows = GoldLabel.objects.filter(
        response__turn__session__dataset=dataset,
        response__original=True,
        response__text__isnull=False,
    )
    sessions = {}
    answers = []
    for response, session, source, score in rows.values_list(
        "response_id", "response__turn__session_id", "source", "score"
    ):
        sessions[response] = session
        answers.append((response, source, score))
    return {
        response: (sessions[response], score)
        for response, score in holding(answers).items()
        if score is not None
    }


def gold_candidates(study: Study) -> frozenset[int]:
    """The comparisons or sessions that can be gold items of a study. One query.

    A tie is no right answer where nobody may give one. A session is one where a response in it has
    a gold score. Where people talk with a model, nothing is known before.
    """
    if study.kind == StudyKind.PAIRWISE:
        verdicts = gold_verdicts(study.dataset)
        return frozenset(
            comparison
            for comparison, verdict in verdicts.items()
            if study.allow_tie or verdict is not Verdict.TIE
        )
    if study.kind == StudyKind.SATISFACTION:
        return frozenset(session for session, _score in gold_scores(study.dataset).values())
    return frozenset()


def study_gold_verdicts(study: Study) -> dict[int, Verdict]:
    """The verdict held to be right, by comparison, of a study's gold items. One query.

    Ignores gold answers that are ties when the study does not allow ties.
    """
    rows = GoldLabel.objects.filter(
        comparison__study_items__study=study, comparison__study_items__kind=ItemKind.GOLD
    )
    found = holding(rows.values_list("comparison_id", "source", "verdict"))
    return {
        pair: Verdict(verdict)
        for pair, verdict in found.items()
        if verdict is not None and (study.allow_tie or verdict != Verdict.TIE)
    }


def study_gold_scores(study: Study) -> dict[int, int]:
    """The score held to be right, by response, of a study's gold items. One query."""
    rows = GoldLabel.objects.filter(
        response__turn__session__study_items__study=study,
        response__turn__session__study_items__kind=ItemKind.GOLD,
        response__original=True,
    )
    return {
        response: score
        for response, score in holding(rows.values_list("response_id", "source", "score")).items()
        if response is not None and score is not None
    }


def gold_changed(target: Target, *, since: datetime | None) -> bool:
    """Whether anybody said something of an item's gold answer, or took it back, since then."""
    traces = AuditEvent.objects.filter(
        target="goldlabel", **{f"detail__{target.kind.value}": target.id}
    )
    return (traces if since is None else traces.filter(created_at__gt=since)).exists()


def gold_rows(target: Target) -> list[GoldLabel]:
    """What is held to be right of an item, of every source."""
    return list(GoldLabel.objects.filter(**{f"{target.kind.value}_id": target.id}).order_by("pk"))


def manager_gold(target: Target) -> dict[str, str] | None:
    """What a manager holds to be right of an item, as a form shows it; None where nobody did."""
    stored = GoldLabel.objects.filter(
        **{f"{target.kind.value}_id": target.id}, source=GoldSource.MANAGER
    ).first()
    if stored is None:
        return None
    answer = stored.verdict if stored.verdict is not None else str(stored.score)
    return {"answer": answer, "rationale": stored.rationale}


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
    """One annotator: figures, skips, and whether they are paused. `part` is None who left.

    `broken` are the rules of the study that they break.
    """

    id: int
    name: str
    quality: Quality
    skipped: int
    part: Participation | None
    broken: tuple[BrokenRule, ...] = ()

    @property
    def needs_attention(self) -> bool:
        """Whether they are paused, or break a rule."""
        return bool(self.broken or (self.part and self.part.paused_at))


@dataclass(frozen=True, slots=True)
class QualityPage:
    """The figures of a study's annotators, and of all together."""

    scope: QualityScope
    figures: tuple[QualityMeasure, ...]
    annotators: tuple[AnnotatorQuality, ...]
    everybody: Quality
    skipped: int


def quality_page(question: QualityQuestion, *, file_names: bool = False) -> QualityPage:
    """The figures of everybody in a study.

    Seven queries whatever its size, and one for each rule of the study that is on.

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
    broken = rules_broken(scope.study, {key: part.resumed_at for key, part in parts.items()})
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
                broken=broken.get(number, ()),
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
    study = Study.objects.select_related("dataset").filter(slug=question.study).first()
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
    scope = QualityScope(
        study=study,
        verdicts=verdicts,
        seconds=question.seconds or fast_seconds_of(study),
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


def repeatability(dataset: int, annotator: int, scenario: int | None = None) -> HitShare:
    """How many hidden repeats of pairs an annotator answered alike, over all studies. One query.

    Of one scenario, or of all.
    """
    labels = PairwiseLabel.objects.filter(
        study__isnull=False, comparison__turn__session__dataset=dataset, annotator=annotator
    )
    if scenario is not None:
        labels = labels.filter(comparison__turn__session__scenario=scenario)
    rows = labels.values_list("pk", "study", "comparison", "verdict", "repeat_index")
    studies: dict[int | None, list[Answered]] = {}
    for label, study, pair, verdict, repeat in rows:
        answer = Answered(label, annotator, pair, Verdict(verdict), repeat)
        studies.setdefault(study, []).append(answer)
    yardstick = Yardstick(gold={}, fast_seconds=FAST_PAIR_SECONDS)
    again = [
        row
        for answers in studies.values()
        for row in measured(answers, QualityMeasure.REPEATS, yardstick)
    ]
    hits = sum(row.hit for row in again)
    return HitShare(
        hits=hits,
        answers=len(again),
        interval=independent_share(hits, len(again)),
        undefined=None if again else UndefinedFigure.NO_REPEATS,
    )
