"""One session, or one comparison, with everything about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from django.db.models import Prefetch

from annotation.core.choices import Verdict
from annotation.core.datasets import (
    ComparisonPage,
    ComparisonRow,
    GoldRow,
    LabelRow,
    MessageView,
    Questionnaire,
    RatingRow,
    ResponseView,
    SessionPage,
    TurnView,
    answers_of,
    facts_of,
)
from annotation.models import (
    Comparison,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Turn,
)
from annotation.queries.annotators import names_of

_GOLD = Prefetch("gold_labels", GoldLabel.objects.order_by("pk"))
_RATINGS = Prefetch("labels", SatisfactionLabel.objects.select_related("study").order_by("pk"))


def session_page(session_id: int) -> SessionPage | None:
    """A session with its turns, responses, comparisons and labels; None where there is none."""
    responses = (
        Response.objects.select_related("continues")
        .order_by("position", "pk")
        .prefetch_related(_RATINGS, _GOLD)
    )
    comparisons = (
        Comparison.objects.select_related("response_a", "response_b")
        .order_by("position", "pk")
        .prefetch_related(Prefetch("labels", PairwiseLabel.objects.order_by("pk")))
    )
    turns = Turn.objects.order_by("position").prefetch_related(
        Prefetch("responses", responses), Prefetch("comparisons", comparisons)
    )
    answers = SessionQuestionnaire.objects.order_by("pk")
    session = (
        Session.objects.filter(pk=session_id, dataset__staged_at__isnull=True)
        .select_related("dataset", "scenario")
        .prefetch_related(
            Prefetch("turns", turns), _RATINGS, _GOLD, Prefetch("questionnaires", answers)
        )
        .first()
    )
    if session is None:
        return None
    names = names_of(dataset=session.dataset)
    return SessionPage(
        id=session.pk,
        number=session.position + 1,
        key=session.key,
        dataset=session.dataset.slug,
        dataset_name=session.dataset.name,
        scenario=session.scenario.name,
        user=names.get(session.original_user_id or 0, ""),
        language=session.language,
        system_prompt=session.system_prompt,
        task_context=session.task_context,
        profile=facts_of(session.profile_snapshot),
        extra=facts_of(session.extra),
        turns=tuple(_turn(turn, names) for turn in session.turns.all()),
        ratings=_ratings(session.labels.all(), names),
        gold=_gold(session.gold_labels.all()),
        questionnaires=tuple(
            Questionnaire(names[each.annotator_id], answers_of(each.answers))
            for each in session.questionnaires.all()
        ),
    )


def comparison_page(comparison_id: int) -> ComparisonPage | None:
    """A comparison with the dialogue before it and its labels; None where there is none."""
    comparison = (
        Comparison.objects.filter(pk=comparison_id, turn__session__dataset__staged_at__isnull=True)
        .select_related(
            "turn__session__dataset",
            "turn__session__scenario",
            "response_a__continues",
            "response_b__continues",
        )
        .first()
    )
    if comparison is None:
        return None
    turn = comparison.turn
    session = turn.session
    names = names_of(dataset=session.dataset)
    labels = comparison.labels.select_related("study").order_by("pk")
    return ComparisonPage(
        id=comparison.pk,
        key=comparison.key,
        session_id=session.pk,
        session_number=session.position + 1,
        dataset=session.dataset.slug,
        dataset_name=session.dataset.name,
        scenario=session.scenario.name,
        system_prompt=session.system_prompt,
        task_context=session.task_context,
        turn=turn.position + 1,
        dialogue=_dialogue(turn),
        a=_response(comparison.response_a, names, rated=False),
        b=_response(comparison.response_b, names, rated=False),
        labels=tuple(_label(label, names) for label in labels),
        gold=_gold(comparison.gold_labels.order_by("pk")),
        extra=facts_of(comparison.extra),
    )


def _dialogue(turn: Turn) -> tuple[MessageView, ...]:
    """The messages up to the user's of this turn, earlier answers being the originals."""
    originals = Response.objects.filter(original=True)
    before = Turn.objects.filter(session=turn.session_id, position__lte=turn.position)
    messages = []
    for each in before.order_by("position").prefetch_related(Prefetch("responses", originals)):
        if each.user_message is not None:
            messages.append(MessageView(by_user=True, text=each.user_message))
        if each.pk != turn.pk:
            messages += [MessageView(by_user=False, text=one.text) for one in each.responses.all()]
    return tuple(messages)


def _turn(turn: Turn, names: dict[int, str]) -> TurnView:
    return TurnView(
        number=turn.position + 1,
        user_message=turn.user_message,
        responses=tuple(_response(each, names) for each in turn.responses.all()),
        comparisons=tuple(_comparison(each) for each in turn.comparisons.all()),
    )


def _response(response: Response, names: dict[int, str], *, rated: bool = True) -> ResponseView:
    return ResponseView(
        id=response.pk,
        model=response.model,
        variant=response.variant,
        text=response.text,
        original=response.original,
        continues="" if response.continues is None else response.continues.model,
        ratings=_ratings(response.labels.all(), names) if rated else (),
        gold=_gold(response.gold_labels.all()) if rated else (),
    )


def _comparison(comparison: Comparison) -> ComparisonRow:
    counted = Counter(Verdict(label.verdict) for label in comparison.labels.all())
    return ComparisonRow(
        id=comparison.pk,
        key=comparison.key,
        model_a=comparison.response_a.model,
        model_b=comparison.response_b.model,
        verdicts={verdict: counted[verdict] for verdict in Verdict},
    )


def _label(label: PairwiseLabel, names: dict[int, str]) -> LabelRow:
    return LabelRow(
        annotator=names[label.annotator_id],
        verdict=Verdict(label.verdict),
        strength=label.strength,
        both_bad=label.both_bad,
        shown_order=label.get_shown_order_display() if label.shown_order else "",
        study="" if label.study is None else label.study.name,
        repeat=label.repeat_index,
        comment=label.comment,
        given_at=label.created_at,
        imported=label.submission_id is None,
    )


def _ratings(labels: Iterable[SatisfactionLabel], names: dict[int, str]) -> tuple[RatingRow, ...]:
    return tuple(
        RatingRow(
            annotator=names[label.annotator_id],
            score=label.score,
            reason=label.get_reason_display() if label.reason else "",
            hallucination=label.get_hallucination_display() if label.hallucination else "",
            study="" if label.study is None else label.study.name,
            comment=label.comment,
            repeat=label.repeat_index,
        )
        for label in labels
    )


def _gold(labels: Iterable[GoldLabel]) -> tuple[GoldRow, ...]:
    return tuple(
        GoldRow(
            answer=str(label.score) if label.verdict is None else label.get_verdict_display(),
            source=label.get_source_display(),
            rationale=label.rationale,
        )
        for label in labels
    )
