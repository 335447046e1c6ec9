"""Datasets with their counts, their scenarios, and the sessions of one, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, QuerySet

from annotation.core.datasets import (
    AnnotatorCounts,
    DatasetCounts,
    DatasetRow,
    ScenarioRow,
    SessionRow,
)
from annotation.core.refusals import Refused
from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Scenario,
    Session,
    Turn,
)
from annotation.queries.annotators import annotators

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
