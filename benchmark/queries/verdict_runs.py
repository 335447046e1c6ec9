"""Runs with verdicts, of whatever annotator: what pages over a whole dataset choose from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Exists, OuterRef

from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, GoldLabel, PairwiseLabel
from annotation.queries.annotators import names_of
from benchmark.core.trust import BASE, SELECTED, Voice
from benchmark.queries.choices import (
    RUBRICS,
    VERDICT_RUNS,
    DatasetChoice,
    best_last,
    datasets,
    run_choices,
)
from judging.models import JudgeRun, Judgment, RunKind, RunStatus

OPENING_CHARS: Final = 160
_GOLD_SOURCES: Final = ("ADJUDICATION", "MANAGER", "DATASET")
"""Of several gold answers the last one here counts: what was published with the data."""


@dataclass(frozen=True, slots=True)
class JudgeOption:
    """One run's verdicts under one voice; `of` names the annotator that it stands in for.

    `key` is how addresses name it. `way` is the prompt by which the judge was asked where it takes
    no preferences, "" otherwise.
    """

    run: int
    judge: str
    voice: Voice
    kind: RunKind
    of: str
    way: str = ""

    @property
    def key(self) -> str:
        """The run's number, with `s` where its selected preferences are heard."""
        return f"{self.run}{'s' if self.voice == SELECTED else ''}"

    @property
    def recorded(self) -> bool:
        """Whether the verdicts were imported."""
        return self.kind is RunKind.RECORDED


def judge_options(dataset: DatasetChoice) -> tuple[JudgeOption, ...]:
    """Every finished run that gave verdicts in a dataset, with preferences and without.

    The run to read comes first. Four queries.
    """
    rows = best_last(
        JudgeRun.objects.filter(
            dataset=dataset.id, kind__in=VERDICT_RUNS, status=RunStatus.DONE
        ).filter(Exists(Judgment.objects.filter(run=OuterRef("pk"))))
    ).reverse()
    names = names_of(dataset=Dataset(pk=dataset.id, slug=dataset.slug))
    people = dict(rows.values_list("pk", "annotator_id"))
    return tuple(
        JudgeOption(
            run.id,
            run.judge,
            voice,
            run.kind,
            names.get(people[run.id] or 0, ""),
            run.prompt if run.prompt in RUBRICS else "",
        )
        for run in run_choices(rows)
        for voice in ((SELECTED, BASE) if run.sets_of else (BASE,))
    )


def picked_judge(options: Sequence[JudgeOption], key: str) -> JudgeOption | None:
    """The option asked for, or the first one, or None where there is none.

    Raises:
        Refused: no such option.
    """
    if not key:
        return options[0] if options else None
    found = next((each for each in options if each.key == key), None)
    if found is None:
        raise Refused("benchmark:unknown-choice", f"no run {key!r} with verdicts here")
    return found


def datasets_with_gold() -> tuple[DatasetChoice, ...]:
    """The datasets in which a comparison has a gold answer."""
    gold = GoldLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    return _those(Dataset.objects.filter(Exists(gold)).values_list("pk", flat=True))


def datasets_with_labels() -> tuple[DatasetChoice, ...]:
    """The datasets in which people compared responses and some run gave verdicts."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    runs = JudgeRun.objects.filter(dataset=OuterRef("pk"), kind__in=VERDICT_RUNS)
    return _those(Dataset.objects.filter(Exists(labels), Exists(runs)).values_list("pk", flat=True))


def with_asked(known: tuple[DatasetChoice, ...], slug: str) -> tuple[DatasetChoice, ...]:
    """Those on offer, and the one asked for though it has nothing to show yet."""
    if not slug or any(each.slug == slug for each in known):
        return known
    return (*known, *(each for each in datasets() if each.slug == slug))


def _those(wanted: Iterable[int]) -> tuple[DatasetChoice, ...]:
    known = set(wanted)
    return tuple(each for each in datasets() if each.id in known)


def gold_answers(dataset: DatasetChoice) -> dict[int, tuple[str, str]]:
    """By comparison, its scenario and gold verdict, in file order.

    Of several answers that of the dataset comes before a manager's, and a manager's before one
    that annotators' labels were settled with.
    """
    rows = (
        GoldLabel.objects.filter(
            comparison__turn__session__dataset=dataset.id, verdict__isnull=False
        )
        .order_by(
            "comparison__turn__session__scenario__position",
            "comparison__turn__session__position",
            "comparison__position",
            "comparison_id",
        )
        .values_list(
            "comparison_id", "comparison__turn__session__scenario__name", "verdict", "source"
        )
    )
    found: dict[int, tuple[str, str]] = {}
    sources: dict[int, int] = {}
    for comparison, scenario, verdict, source in rows:
        rank = _GOLD_SOURCES.index(source)
        if rank >= sources.get(comparison or 0, 0):
            found[comparison or 0] = (scenario or "", verdict or "")
            sources[comparison or 0] = rank
    return found


def openings(comparisons: Iterable[int]) -> dict[int, tuple[str, str, str]]:
    """By comparison, its key, its session's key and the user's message."""
    rows = Comparison.objects.filter(pk__in=list(comparisons)).values_list(
        "pk", "key", "turn__session__key", "turn__user_message"
    )
    return {pk: (key, session, message or "") for pk, key, session, message in rows}
