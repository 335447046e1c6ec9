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
from annotation.core.datasets import DatasetCounts
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
from annotation.queries.participants import Annotator, annotators

SESSIONS_A_PAGE: Final = 50
_OPENING_CHARS: Final = 160


def dataset_of(slug: str) -> Dataset:
    """The dataset of a short name.

    Raises:
        Refused: there is none, the message lists those that there are; or it was deleted.
    """
    found = Dataset.objects.filter(slug=slug).first()
    if found is None:
        if is_archived(slug):
            raise Refused("dataset:archived")
        known = ", ".join(Dataset.objects.order_by("slug").values_list("slug", flat=True)[:12])
        raise Refused("dataset:unknown", f"no dataset {slug!r}; known datasets: {known or 'none'}")
    return found


def is_archived(slug: str) -> bool:
    """Whether a deleted dataset has this short name."""
    return Dataset.with_staged.filter(slug=slug, archived_at__isnull=False).exists()


def datasets() -> list[tuple[Dataset, DatasetCounts]]:
    """Every dataset with its counts, by name (8 queries)."""
    counts = _counted("dataset_id", {})
    rows = Dataset.objects.order_by("name", "slug")
    return [(row, counts.get(row.pk, DatasetCounts())) for row in rows]


def counts_of(dataset: Dataset) -> DatasetCounts:
    """How much there is of one dataset."""
    return _counted("dataset_id", {"dataset": dataset}).get(dataset.pk, DatasetCounts())


def scenarios(dataset: Dataset) -> list[tuple[Scenario, DatasetCounts]]:
    """The scenarios of a dataset with their counts, in file order."""
    counts = _counted("scenario_id", {"dataset": dataset})
    rows = Scenario.objects.filter(dataset=dataset).order_by("position", "pk")
    return [(row, counts.get(row.pk, DatasetCounts())) for row in rows]


def annotators_with_counts(dataset: Dataset) -> list[tuple[Annotator, int, int]]:
    """Everybody who labels in a dataset, with their pairwise labels and ratings, by name."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    of_turns = SatisfactionLabel.objects.filter(response__turn__session__dataset=dataset)
    of_sessions = SatisfactionLabel.objects.filter(session__dataset=dataset)
    verdicts = _by_annotator(labels)
    scores = _by_annotator(of_turns) + _by_annotator(of_sessions)
    return [(each, verdicts[each.id], scores[each.id]) for each in annotators(dataset=dataset)]


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
    return steps_after(counts_of(dataset), has | ({"verdicts"} if judged else set()))


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
) -> Page[tuple[Session, str, DatasetCounts]]:
    """A page of sessions in file order, each with how it opens and what it holds.

    A page that does not exist gives the nearest.

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
    return Page(_with_counts(found.object_list), found.number, paginator)  # type: ignore[arg-type]


def _with_counts(rows: Iterable[Session]) -> list[tuple[Session, str, DatasetCounts]]:
    listed = list(rows)
    ids = [row.pk for row in listed]
    counts = _counted("pk", {"pk__in": ids})
    opened = Turn.objects.filter(session__in=ids, position=0)
    openings = dict(opened.values_list("session_id", "user_message"))
    return [
        (
            row,
            (openings.get(row.pk) or "")[:_OPENING_CHARS],
            counts.get(row.pk, DatasetCounts()),
        )
        for row in listed
    ]


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


def whole_session(session_id: int) -> Session | None:
    """A session with its turns, responses, comparisons and labels; None where there is none.

    Each comparison is annotated with how often each verdict fell: `for_a`, `for_b` and `ties`.
    """
    responses = (
        Response.objects.select_related("continues")
        .order_by("position", "pk")
        .prefetch_related(_RATINGS, _GOLD)
    )
    comparisons = (
        Comparison.objects.select_related("response_a", "response_b")
        .order_by("position", "pk")
        .annotate(
            for_a=Count("labels", filter=Q(labels__verdict=Verdict.A)),
            for_b=Count("labels", filter=Q(labels__verdict=Verdict.B)),
            ties=Count("labels", filter=Q(labels__verdict=Verdict.TIE)),
        )
        .prefetch_related(_GOLD)
    )
    turns = Turn.objects.order_by("position").prefetch_related(
        Prefetch("responses", responses), Prefetch("comparisons", comparisons)
    )
    answers = SessionQuestionnaire.objects.order_by("pk")
    return (
        Session.objects.filter(pk=session_id, dataset__staged_at__isnull=True)
        .select_related("dataset", "scenario")
        .prefetch_related(
            Prefetch("turns", turns), _RATINGS, _GOLD, Prefetch("questionnaires", answers)
        )
        .first()
    )


def labelled_comparison(comparison_id: int) -> Comparison | None:
    """A comparison with its labels and gold answers; None where there is none."""
    labels = PairwiseLabel.objects.select_related("study").order_by("pk")
    return (
        Comparison.objects.filter(pk=comparison_id, turn__session__dataset__staged_at__isnull=True)
        .select_related(
            "turn__session__dataset", "turn__session__scenario", "response_a", "response_b"
        )
        .prefetch_related(Prefetch("labels", labels), _GOLD)
        .first()
    )


def dialogue_before(turn: Turn) -> list[tuple[bool, str | None]]:
    """The messages up to the user's of this turn: whether the user wrote each, and its text.

    Earlier answers are the originals; a text of None is not available.
    """
    originals = Response.objects.filter(original=True)
    before = Turn.objects.filter(session=turn.session_id, position__lte=turn.position)
    messages: list[tuple[bool, str | None]] = []
    for each in before.order_by("position").prefetch_related(Prefetch("responses", originals)):
        if each.user_message is not None:
            messages.append((True, each.user_message))
        if each.pk != turn.pk:
            messages += [(False, one.text) for one in each.responses.all()]
    return messages


_Row = TypeVar("_Row", bound=Model)


def published(rows: QuerySet[_Row], *sessions: str) -> QuerySet[_Row]:
    """The rows whose sessions, at these paths, belong to a dataset that anybody may see."""
    return of_no_deleted(written(rows, *sessions), *(f"{path}__dataset" for path in sessions))


def written(rows: QuerySet[_Row], *sessions: str) -> QuerySet[_Row]:
    """The rows of `published`, and those of deleted datasets."""
    return rows.filter(**{f"{path}__dataset__staged_at__isnull": True for path in sessions})


def of_no_deleted(rows: QuerySet[_Row], *datasets: str) -> QuerySet[_Row]:
    """The rows whose datasets, at these paths, were not deleted; lists of every dataset's rows."""
    return rows.filter(**{f"{path}__archived_at__isnull": True for path in datasets})


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
        rows = Session.objects.filter(dataset=dataset_id)
        named.update(_detected(rows, most=_LOOKED_AT).values())
    return tuple(sorted(named - {""}))


def session_languages(dataset_id: int) -> dict[int, str]:
    """The primary language of each session: as imported, else as its first message is written."""
    sessions = Session.objects.filter(dataset=dataset_id)
    codes = sessions.values_list("pk", "language")
    named = {key: primary_language(code) for key, code in codes}
    return named | (_detected(sessions) if "" in named.values() else {})


def languages_written(session_ids: QuerySet[Any, Any]) -> set[str]:
    """The languages of those of some sessions that name none. One query."""
    return set(_detected(Session.objects.filter(pk__in=session_ids)).values())


def _detected(sessions: QuerySet[Session], *, most: int | None = None) -> dict[int, str]:
    """The language of each session that names none, by the beginning of its first user message."""
    first = Turn.objects.filter(session=OuterRef("pk"), user_message__isnull=False)
    rows = (
        sessions.filter(language="")
        .order_by("pk")
        .annotate(opening=Subquery(first.order_by("position").values("user_message")[:1]))
        .values_list("pk", Substr(Coalesce("opening", Value("")), 1, _DETECTED_FROM))
    )
    return {key: language_of(opening) for key, opening in rows[:most]}
