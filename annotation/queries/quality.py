"""How carefully the annotators of a study answer: gold answers, figures, the rule that pauses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count

from annotation.core.choices import Order, StudyKind, Verdict
from annotation.core.intervals import independent_share
from annotation.core.labelling import Target
from annotation.core.quality import (
    FAST_PAIR_SECONDS,
    FAST_REPLY_SECONDS,
    Answered,
    HitShare,
    Measured,
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
from annotation.queries.sql import rows_of


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

    Since the study was made a tie may have come to be held right: not where nobody may give one.
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


_PAIRS_OF_GOLD: Final = """
SELECT label.id, label.comparison_id, label.verdict, gold.source, gold.verdict
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_pairwiselabel label ON label.annotator_id = claim.annotator_id
    AND label.comparison_id = item.comparison_id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.comparison_id = item.comparison_id
WHERE claim.annotator_id = %(annotator)s AND claim.state = 'DONE'
AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_REPLIES_OF_GOLD: Final = """
SELECT label.id, label.response_id, label.score, gold.source, gold.score
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_turn turn ON turn.session_id = item.session_id
JOIN annotation_response response ON response.turn_id = turn.id
JOIN annotation_satisfactionlabel label ON label.annotator_id = claim.annotator_id
    AND label.response_id = response.id AND label.study_id = item.study_id
    AND label.repeat_index = 0
JOIN annotation_goldlabel gold ON gold.response_id = response.id
WHERE claim.annotator_id = %(annotator)s AND claim.state = 'DONE'
AND item.study_id = %(study)s AND item.kind = 'GOLD'
"""
_PAIRS_AGAIN: Final = """
SELECT label.id, label.comparison_id, label.verdict, label.repeat_index, first.verdict
FROM annotation_pairwiselabel label
JOIN annotation_pairwiselabel first ON first.annotator_id = label.annotator_id
    AND first.comparison_id = label.comparison_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.annotator_id = %(annotator)s AND label.study_id = %(study)s
AND label.repeat_index > 0
"""
_REPLIES_AGAIN: Final = """
SELECT label.id, label.response_id, label.score, label.repeat_index, first.score
FROM annotation_satisfactionlabel label
JOIN annotation_satisfactionlabel first ON first.annotator_id = label.annotator_id
    AND first.response_id = label.response_id AND first.study_id = label.study_id
    AND first.repeat_index = 0
WHERE label.annotator_id = %(annotator)s AND label.study_id = %(study)s
AND label.repeat_index > 0
"""
_SINCE: Final = "AND label.created_at > %(since)s"


def rule_rows(
    study: Study, annotator_id: int, *, kind: str, since: datetime | None
) -> list[Measured]:
    """An annotator's answers to gold items, or to repeats, given after a moment. One query."""
    pairs = study.kind == StudyKind.PAIRWISE
    values: dict[str, Any] = {"annotator": annotator_id, "study": study.pk}
    if since is not None:
        values["since"] = since
    if kind == ItemKind.GOLD:
        statement = _PAIRS_OF_GOLD if pairs else _REPLIES_OF_GOLD
        return _of_gold(_rows(statement, values), annotator_id, ties=study.allow_tie)
    statement = _PAIRS_AGAIN if pairs else _REPLIES_AGAIN
    return _of_repeats(_rows(statement, values), annotator_id)


def _rows(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    return rows_of(f"{statement} {_SINCE}" if "since" in values else statement, **values)


def _of_gold(rows: list[tuple[Any, ...]], annotator_id: int, *, ties: bool) -> list[Measured]:
    """Each label once, however many sources say what is right; a tie only where one may be said."""
    answers = {
        label: Answered(label, annotator_id, target, _value(value))
        for label, target, value, _source, _said in rows
    }
    gold = holding((target, source, _value(said)) for _label, target, _value_, source, said in rows)
    right = {target: said for target, said in gold.items() if ties or said is not Verdict.TIE}
    yardstick = Yardstick(gold=right, fast_seconds=FAST_REPLY_SECONDS)
    return measured(answers.values(), QualityMeasure.GOLD, yardstick)


def _of_repeats(rows: list[tuple[Any, ...]], annotator_id: int) -> list[Measured]:
    again = [
        Answered(label, annotator_id, target, _value(value), repeat)
        for label, target, value, repeat, _said in rows
    ]
    firsts = [
        Answered(label, annotator_id, target, _value(said))
        for label, target, _value_, _repeat, said in rows
    ]
    yardstick = Yardstick(gold={}, fast_seconds=FAST_REPLY_SECONDS)
    return measured([*firsts, *again], QualityMeasure.REPEATS, yardstick)


def _value(stored: str | int) -> Verdict | int:
    """A stored verdict or score."""
    return Verdict(stored) if isinstance(stored, str) else stored
