"""Datasets with their counts, their scenarios, and the sessions of one, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from django.core.paginator import Page, Paginator
from django.db.models import (
    Count,
    F,
    Model,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce, Substr

from annotation.core.choices import Verdict
from annotation.core.datasets import (
    AnnotatorCounts,
    ComparisonPage,
    ComparisonRow,
    DatasetCounts,
    DatasetRow,
    GoldRow,
    LabelRow,
    MessageView,
    Questionnaire,
    RatingRow,
    ResponseView,
    ScenarioRow,
    SessionPage,
    SessionRow,
    TurnView,
    answers_of,
    facts_of,
)
from annotation.core.datasets import next_steps as steps_after
from annotation.core.language import language_of, primary_language
from annotation.core.refusals import Refused
from annotation.models import (
    STAGED_RATERS,
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Scenario,
    Session,
    SessionQuestionnaire,
    Turn,
    User,
)
from annotation.queries.participants import annotators, names_of

SESSIONS_A_PAGE: Final = 50
_OPENING_CHARS: Final = 160


def dataset_of(slug: str) -> Dataset:
    """The dataset of a short name.

    Raises:
        Refused: there is none; the message lists those that there are.
    """
    found = Dataset.objects.filter(slug=slug).first()
    if found is None:
        known = ", ".join(Dataset.objects.order_by("slug").values_list("slug", flat=True)[:12])
        raise Refused("dataset:unknown", f"no dataset {slug!r}; known datasets: {known or 'none'}")
    return found


def datasets() -> list[DatasetRow]:
    """Every dataset with its counts, by name (8 queries)."""
    counts = _counted("dataset_id", {})
    return [
        _dataset_row(row, counts.get(row.pk, DatasetCounts()))
        for row in Dataset.objects.order_by("name", "slug")
    ]


def dataset_row(dataset: Dataset) -> DatasetRow:
    """One dataset with its counts."""
    counts = _counted("dataset_id", {"dataset": dataset})
    return _dataset_row(dataset, counts.get(dataset.pk, DatasetCounts()))


def scenarios(dataset: Dataset) -> list[ScenarioRow]:
    """The scenarios of a dataset with their counts, in file order."""
    counts = _counted("scenario_id", {"dataset": dataset})
    return [
        ScenarioRow(row.pk, row.name, counts.get(row.pk, DatasetCounts()))
        for row in Scenario.objects.filter(dataset=dataset).order_by("position", "pk")
    ]


def annotator_rows(dataset: Dataset) -> list[AnnotatorCounts]:
    """Everybody who labels in a dataset and how much, by name."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    of_turns = SatisfactionLabel.objects.filter(response__turn__session__dataset=dataset)
    of_sessions = SatisfactionLabel.objects.filter(session__dataset=dataset)
    verdicts = _by_annotator(labels)
    scores = _by_annotator(of_turns) + _by_annotator(of_sessions)
    return [
        AnnotatorCounts(each.name, each.imported, verdicts[each.id], scores[each.id])
        for each in annotators(dataset=dataset)
    ]


def _by_annotator(labels: QuerySet[Any]) -> Counter[int]:
    counted = labels.order_by().values("annotator").annotate(number=Count("pk"))
    return Counter(dict(counted.values_list("annotator", "number")))


def next_steps(slug: str, *, judged: bool) -> list[str]:
    """What can be done with a dataset of which judges have said something, or not."""
    dataset = dataset_of(slug)
    compared = Comparison.objects.filter(turn__session__dataset=dataset)
    responses = Response.objects.filter(turn__session__dataset=dataset)
    named = responses.exclude(model="").order_by()
    known = {
        "gold": compared.filter(gold_labels__isnull=False),
        "texts": compared.filter(response_a__text__isnull=False, response_b__text__isnull=False),
        "models": named.values("model").distinct()[1:],
        "answered": _answered_by_several(dataset)
        .alias(compared=Count("comparisons", distinct=True))
        .filter(compared__lt=F("models") * (F("models") - 1) / 2),
        "original": responses.filter(original=True, text__isnull=False),
    }
    has = {name for name, rows in known.items() if rows.exists()}
    return steps_after(dataset_row(dataset).counts, has | ({"verdicts"} if judged else set()))


def comparable(dataset: Dataset) -> bool:
    """Whether models answered the same turns. One query."""
    return _answered_by_several(dataset).exists()


def _answered_by_several(dataset: Dataset) -> QuerySet[Turn]:
    told = Q(responses__text__isnull=False) & ~Q(responses__model="")
    models = Count("responses__model", distinct=True, filter=told)
    return Turn.objects.filter(session__dataset=dataset).alias(models=models).filter(models__gt=1)


def slugs() -> list[str]:
    """The short names of all datasets."""
    return list(Dataset.objects.order_by("slug").values_list("slug", flat=True))


def sessions_page(
    dataset: Dataset, *, scenario_id: int | None = None, search: str = "", page: int | str = 1
) -> Page[SessionRow]:
    """A page of sessions in file order; a page that does not exist gives the nearest.

    `search` is sought in the sessions' keys and the users' messages.
    """
    rows = Session.objects.filter(dataset=dataset).select_related("scenario")
    if scenario_id is not None:
        rows = rows.filter(scenario=scenario_id)
    if search:
        asked = Turn.objects.filter(user_message__icontains=search, session__dataset=dataset)
        rows = rows.filter(Q(key__icontains=search) | Q(pk__in=asked.values("session_id")))
    paginator = Paginator(rows.order_by("position", "pk"), SESSIONS_A_PAGE)
    found = paginator.get_page(page)
    return Page(_session_rows(found.object_list), found.number, paginator)  # type: ignore[arg-type]


def _session_rows(rows: Iterable[Session]) -> list[SessionRow]:
    listed = list(rows)
    ids = [row.pk for row in listed]
    counts = _counted("pk", {"pk__in": ids})
    opened = Turn.objects.filter(session__in=ids, position=0)
    openings = dict(opened.values_list("session_id", "user_message"))
    return [
        SessionRow(
            row.pk,
            row.key,
            row.scenario.name,
            (openings.get(row.pk) or "")[:_OPENING_CHARS],
            counts.get(row.pk, DatasetCounts()),
        )
        for row in listed
    ]


def _dataset_row(row: Dataset, counts: DatasetCounts) -> DatasetRow:
    return DatasetRow(
        row.pk,
        row.slug,
        row.name,
        row.description,
        row.source,
        row.licence,
        row.simulated,
        counts,
    )


def _counted(by: str, where: Mapping[str, object]) -> dict[int, DatasetCounts]:
    """Counts by a column of the session, of the sessions with these values (7 queries).

    Each table is counted apart: joined together they would multiply.
    """
    numbers: dict[int, dict[str, int]] = {}
    tables: tuple[tuple[str, str, QuerySet[Any]], ...] = (
        ("sessions", "", Session.objects.all()),
        ("turns", "session__", Turn.objects.all()),
        ("responses", "turn__session__", Response.objects.all()),
        ("comparisons", "turn__session__", Comparison.objects.all()),
        ("labels", "comparison__turn__session__", PairwiseLabel.objects.all()),
        ("ratings", "response__turn__session__", SatisfactionLabel.objects.all()),
        ("ratings", "session__", SatisfactionLabel.objects.all()),
    )
    for name, path, rows in tables:
        column = f"{path}{by}"
        here = rows.filter(
            **{f"{path}pk__isnull": False},
            **{f"{path}{field}": value for field, value in where.items()},
        )
        grouped = here.order_by().values(column).annotate(number=Count("pk"))
        for key, number in grouped.values_list(column, "number"):
            line = numbers.setdefault(key, {})
            line[name] = line.get(name, 0) + number
    return {key: DatasetCounts(**line) for key, line in numbers.items()}


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


_Row = TypeVar("_Row", bound=Model)


def published(rows: QuerySet[_Row], *sessions: str) -> QuerySet[_Row]:
    """The rows whose sessions, at these paths, belong to a dataset that anybody may see."""
    shown = {f"{path}__dataset__staged_at__isnull": True for path in sessions}
    return rows.filter(**shown)


def known_users(rows: QuerySet[User]) -> QuerySet[User]:
    """All users but the raters of a file that is being imported."""
    staged = Dataset.with_staged.filter(staged_at__isnull=False)
    raters = [each for (extra,) in staged.values_list("extra") for each in extra[STAGED_RATERS]]
    return rows.exclude(pk__in=raters) if raters else rows


_DETECTED_FROM: Final = 400
_LOOKED_AT: Final = 200


def languages_of_sessions(dataset_id: int) -> tuple[str, ...]:
    """The primary languages of a dataset's sessions, as `en`, in order.

    Of sessions that name none the first _LOOKED_AT are looked at. Two queries at most.
    """
    codes = Session.objects.filter(dataset=dataset_id).order_by().values_list("language").distinct()
    named = {primary_language(code) for (code,) in codes}
    if "" in named:
        named.update(_detected(dataset_id, most=_LOOKED_AT).values())
    return tuple(sorted(named - {""}))


def session_languages(dataset_id: int) -> dict[int, str]:
    """The primary language of each session: as imported, else as its first message is written."""
    codes = Session.objects.filter(dataset=dataset_id).values_list("pk", "language")
    named = {key: primary_language(code) for key, code in codes}
    return named | (_detected(dataset_id) if "" in named.values() else {})


def _detected(dataset_id: int, *, most: int | None = None) -> dict[int, str]:
    """The language of each session that names none, by the beginning of its first user message."""
    first = Turn.objects.filter(session=OuterRef("pk"), user_message__isnull=False)
    rows = (
        Session.objects.filter(dataset=dataset_id, language="")
        .order_by("pk")
        .annotate(opening=Subquery(first.order_by("position").values("user_message")[:1]))
        .values_list("pk", Substr(Coalesce("opening", Value("")), 1, _DETECTED_FROM))
    )
    return {key: language_of(opening) for key, opening in rows[:most]}
