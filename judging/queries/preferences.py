"""Preferences as people own them: the newest versions, what a run judged, and one with its past."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.db.models.query import QuerySet

from annotation.core.guidelines import ChangedPiece, changes
from annotation.models import Dataset
from annotation.queries.datasets import of_no_deleted
from judging.core.judge_prompts import PairTexts
from judging.core.lexical.stack import is_stack, told_ways
from judging.core.lexical.vocabulary import parse
from judging.core.prompts import prompt_language
from judging.core.runs import ColumnPlan, DistilPlan, Winners
from judging.core.stack import ToldWay
from judging.models import (
    Control,
    JudgeRun,
    LlmCall,
    Preference,
    PreferenceKind,
    PreferenceSet,
    RunKind,
    RunStatus,
)
from judging.queries.comparisons import texts_of
from judging.queries.configurations import (
    WRITER,
    column_plans,
    distil_plans,
    pairwise_settings,
)
from judging.queries.runs import DISTILLED, UNFINISHED, preference_rows
from judging.queries.withheld import is_withheld, readable_sets, withheld_numbers

OWNED = (PreferenceKind.PAIR, PreferenceKind.AGGREGATE, PreferenceKind.EDITED)
"""The kinds that people may edit."""


def newest_versions(run_ids: Collection[int]) -> QuerySet[Preference]:
    """The newest version of every preference of some first distillations, in column order."""
    later = Preference.objects.filter(previous=OuterRef("pk"))
    return (
        Preference.objects.filter(
            ~Exists(later), run__in=run_ids, control=Control.NONE, kind__in=OWNED
        )
        .select_related("root", "scenario", "edited_by")
        .order_by("run_id", "scenario__position", "scenario_id", "position", "pk")
    )


def _distillations() -> QuerySet[JudgeRun]:
    """Finished ones; those that only an ablation looks at are left out."""
    return JudgeRun.objects.filter(
        kind=RunKind.DISTIL, status=RunStatus.DONE, config__ablation__isnull=True
    )


def last_selecting(dataset: Dataset) -> list[str]:
    """The judge that selected sets last in a dataset, where it can still be asked; at most one."""
    own = _distillations().filter(dataset=dataset).exclude(endpoint__enabled=False)
    return list(own.order_by("-pk").values_list("judge", flat=True)[:1])


def learned_elsewhere(dataset: Dataset) -> list[Dataset]:
    """Other datasets with finished distillations."""
    others = Dataset.objects.filter(pk__in=_distillations().values("dataset")).exclude(
        pk=dataset.pk
    )
    return list(others.order_by("name"))


def is_learned_elsewhere_only(dataset: Dataset) -> bool:
    """Whether there are finished distillations, but none of this dataset."""
    done = _distillations()
    return done.exists() and not done.filter(dataset=dataset).exists()


def where_learned(annotator_id: int, dataset: Dataset) -> Dataset | None:
    """The other dataset that an annotator's preferences were learned in last, without any here."""
    own = _distillations().filter(annotator=annotator_id)
    if own.filter(dataset=dataset).exists():
        return None
    newest = own.select_related("dataset").order_by("-pk").first()
    return None if newest is None else newest.dataset


def selected_by(dataset: Dataset) -> list[tuple[str, str]]:
    """Who selected sets that a dataset can be judged under, each with who distilled: by name.

    Sets that were learned in other datasets are among them.
    """
    own = _distillations().filter(Q(dataset=dataset) | Q(dataset__in=learned_elsewhere(dataset)))
    rows = own.order_by().values_list("judge", "writer").distinct()
    return sorted((judge, writer or judge) for judge, writer in rows)


def run_columns(run: JudgeRun, *, base: int) -> tuple[ColumnPlan, ...]:
    """What a distillation judges under, by scenario and control.

    Args:
        run: a distillation, or a run that judges its preferences again.
        base: the base judge's preference, always the first column.
    """
    if given := column_plans(run.config):
        return given
    pairs: dict[tuple[int | None, int | None, str | None], int] = {}
    aggregates: dict[tuple[int | None, str, int], int] = {}
    # A pair that a draw does not flip is the annotator's own, whose preferences come last here.
    for row in preference_rows(run.pk).order_by("-control", "pk"):
        if row.kind == PreferenceKind.AGGREGATE:
            aggregates[row.scenario_id, row.control, row.draw] = row.pk
        elif row.kind == PreferenceKind.PAIR:
            pairs[row.scenario_id, row.source_comparison_id, row.source_verdict] = row.pk

    def columns(plan: DistilPlan, control: Control, draw: int, winners: Winners) -> ColumnPlan:
        own = [pairs.get((plan.scenario_id, key, winner.value)) for key, winner in winners]
        own.append(aggregates.get((plan.scenario_id, control.value, draw)))
        there = (key for key in own if key is not None)
        return ColumnPlan(plan.scenario_id, control.value, (base, *there), draw)

    shuffled = pairwise_settings(run.config).shuffled_control
    return tuple(
        columns(plan, control, draw, winners)
        for plan in distil_plans(run.config)
        for control, draws in (
            (Control.NONE, (plan.winners,)),
            (Control.SHUFFLED, plan.draws if shuffled else ()),
        )
        for draw, winners in enumerate(draws)
    )


@dataclass(frozen=True, slots=True)
class PreferenceLine:
    """The newest version of a preference, whether the newest set holds it, and whether it waits.

    It `waits` where it reads otherwise than what was judged last, or was switched on or off since.
    """

    preference: Preference
    selected: bool
    waits: bool


@dataclass(frozen=True, slots=True)
class ScenarioPreferences:
    """An annotator's preferences in one scenario, with the newest set selected of them.

    `id` is 0 where they are for all scenarios.
    """

    id: int
    name: str
    lines: tuple[PreferenceLine, ...]
    chosen: PreferenceSet | None


@dataclass(frozen=True, slots=True)
class OwnedPreferences:
    """The preferences of a finished distillation as they are now.

    `last` is the newest finished run that judged them, `busy` one that is about to.
    """

    run: JudgeRun
    last: JudgeRun
    busy: JudgeRun | None
    scenarios: tuple[ScenarioPreferences, ...]

    @property
    def waiting(self) -> int:
        """How many were changed since they were judged last."""
        return sum(line.waits for scenario in self.scenarios for line in scenario.lines)


def first_run_of(run_id: int) -> JudgeRun | None:
    """The distillation that a run is, or whose preferences it judged again; None for any other."""
    run = JudgeRun.objects.select_related(*_WITH, "parent__dataset", "parent__annotator").filter(
        pk=run_id, kind=RunKind.DISTIL
    )
    found = run.first()
    return None if found is None else found.parent or found


_WITH = ("dataset", "annotator", "endpoint")


def distillations_of(user_id: int) -> list[JudgeRun]:
    """An annotator's finished distillations: of each dataset, judge and distiller the newest."""
    rows = (
        of_no_deleted(JudgeRun.objects.all(), "dataset")
        .filter(
            annotator=user_id,
            kind=RunKind.DISTIL,
            parent=None,
            status=RunStatus.DONE,
            config__ablation__isnull=True,
        )
        .select_related(*_WITH)
        .order_by("pk")
    )
    newest = {(row.dataset_id, row.judge, row.writer): row for row in rows}
    return sorted(newest.values(), key=lambda row: -row.pk)


def owned_preferences(
    runs: Sequence[JudgeRun], *, only: int | None = None
) -> tuple[OwnedPreferences, ...]:
    """The preferences of some first distillations. Five queries, however many there are.

    A sixth for an annotator (`only`), from whom what rests on withheld labels is left out.
    """
    withheld = withheld_numbers(only)
    family: dict[int, list[JudgeRun]] = {run.pk: [run] for run in runs}
    for again in JudgeRun.objects.filter(parent__in=list(family), kind=RunKind.DISTIL).order_by(
        "pk"
    ):
        family[again.parent_id or 0].append(again)
    last = {key: _last(own) for key, own in family.items()}
    sets = {
        (row.run_id, row.scenario_id): row
        for row in readable_sets(
            PreferenceSet.objects.filter(
                run__in=[run.pk for run in last.values()], control=Control.NONE
            ).prefetch_related("members"),
            withheld,
        )
    }
    judged = _judged_texts(sets.values())
    lines: dict[tuple[int, int | None], list[PreferenceLine]] = defaultdict(list)
    names: dict[int | None, str] = {}
    for row in newest_versions(list(family)):
        if row.run_id is None:  # a constraint lets none be without
            continue
        row.run = family[row.run_id][0]
        if is_withheld(row, withheld):
            continue
        chosen = sets.get((last[row.run_id].pk, row.scenario_id))
        names[row.scenario_id] = row.scenario_name
        lines[row.run_id, row.scenario_id].append(_line(row, chosen, judged))
    return tuple(
        OwnedPreferences(
            run=run,
            last=last[run.pk],
            busy=next((each for each in family[run.pk] if each.status in UNFINISHED), None),
            scenarios=tuple(
                ScenarioPreferences(
                    scenario or 0,
                    names[scenario],
                    tuple(own),
                    sets.get((last[run.pk].pk, scenario)),
                )
                for (key, scenario), own in lines.items()
                if key == run.pk
            ),
        )
        for run in runs
    )


def _last(family: Sequence[JudgeRun]) -> JudgeRun:
    done = [run for run in family if run.status == RunStatus.DONE]
    return done[-1] if done else family[0]


def _judged_texts(sets: Iterable[PreferenceSet]) -> dict[int, dict[int, str | None]]:
    """By set the text of each column, under the number of the column's first version."""
    columns = {row.pk: row.columns for row in sets}
    wanted = {key for keys in columns.values() for key in keys}
    rows = Preference.objects.filter(pk__in=wanted).values_list("pk", "root_id", "text")
    read = {key: (root or key, text) for key, root, text in rows}
    return {one: dict(read[key] for key in keys if key in read) for one, keys in columns.items()}


def _line(
    row: Preference,
    chosen: PreferenceSet | None,
    judged: Mapping[int, Mapping[int, str | None]],
) -> PreferenceLine:
    if chosen is None:
        return PreferenceLine(row, selected=False, waits=False)
    before, first = judged[chosen.pk], row.first.pk
    waits = (
        before[first] != row.text
        if row.active and first in before
        else row.active != (first in before)
    )
    members = {member.root_id or member.pk for member in chosen.members.all()}
    return PreferenceLine(row, selected=first in members, waits=waits)


def visible_preference(preference_id: int, *, only: int | None) -> Preference | None:
    """A preference that somebody may read: their own (`only`) and not withheld, or anybody's.

    The base judge's, which has no text, is nobody's.
    """
    allowed = Q() if only is None else Q(annotator_id=only)
    row = (
        Preference.objects.filter(allowed, pk=preference_id, run__isnull=False)
        .exclude(kind=PreferenceKind.EMPTY)
        .select_related(
            "run__dataset",
            "run__parent",
            "annotator",
            "scenario",
            "edited_by",
            "call",
            "root__call",
            "root__edited_by",
            "source_comparison__turn",
        )
        .first()
    )
    return None if row is None or is_withheld(row, withheld_numbers(only)) else row


PreferenceVersion = tuple[Preference, bool, tuple[ChangedPiece, ...] | None]
"""A version, whether it was switched on or off, and how it reads beside the one before.

None for the first version, and where the texts are too long to compare.
"""


@dataclass(frozen=True, slots=True)
class DistilPromptFile:
    """The prompt file that a preference was distilled with, and the SHA-256 of its text."""

    label: str
    digest: str


@dataclass(frozen=True, slots=True)
class PreferencePage:
    """Everything that the page of one preference shows.

    `first` is the version that was distilled or added; `chosen_is_a` says which text of `pair` the
    annotator chose (in the shuffled control: the coin). `unknown` are sentences that the embedded
    judge does not understand.
    """

    row: Preference
    first: Preference
    versions: tuple[PreferenceVersion, ...]
    pair: PairTexts | None
    call: LlmCall | None
    prompt: DistilPromptFile | None
    sets: tuple[PreferenceSet, ...]
    unknown: tuple[str, ...]

    @property
    def ways(self) -> list[ToldWay]:
        """The ways of a weighted vote; none of any other preference."""
        return told_ways(self.row.text or "")

    @property
    def chosen_is_a(self) -> bool:
        """Whether the first response of the pair is the chosen one."""
        return self.row.source_verdict == "A"

    @property
    def is_newest(self) -> bool:
        """Whether this is the version that an edit would follow."""
        return self.row.version == self.versions[0][0].version


def preference_page(row: Preference, *, only: int | None = None) -> PreferencePage:
    """A preference with its past. Six queries, those for the pair's texts included.

    One more for an annotator (`only`), from whom some of its sets may be withheld.
    """
    first = row.first
    newest_first = list(
        Preference.objects.filter(Q(pk=first.pk) | Q(root=first.pk))
        .select_related("edited_by")
        .order_by("-version")
    )
    versions = {one.pk: one for one in newest_first}
    pair = None
    # That which was left out says nothing of where the others came from.
    if row.source_comparison_id is not None and first.kind != PreferenceKind.HELD_OUT:
        pair = texts_of([row.source_comparison_id]).get(row.source_comparison_id)
    return PreferencePage(
        row=row,
        first=first,
        versions=tuple(_version(one, versions) for one in newest_first),
        pair=pair,
        call=first.call,
        prompt=_prompt_of(first),
        sets=readable_sets(
            # Draws of the control share the preferences of pairs that they do not flip.
            PreferenceSet.objects.filter(
                Q(members__in=list(versions)) | Q(stack__in=list(versions)), control=row.control
            )
            .select_related("run", "scenario")
            .order_by("-pk")
            .distinct(),
            withheld_numbers(only),
        ),
        unknown=_unknown(row),
    )


def _version(row: Preference, versions: Mapping[int, Preference]) -> PreferenceVersion:
    before = versions.get(row.previous_id or 0)
    if before is None:
        return row, False, None
    same = before.text == row.text
    changed = None if same else changes(before.text or "", row.text or "")
    return row, before.active != row.active, changed


def _prompt_of(first: Preference) -> DistilPromptFile | None:
    return None if first.run is None else asked_prompt(first, first.run.config)


def asked_prompt(distilled: Preference, config: Mapping[str, Any]) -> DistilPromptFile | None:
    """The prompt of a distilled preference as its run recorded it; None where there was none.

    The aggregate over a single pair is asked by the prompt of a pair, as is that of all but one.

    Args:
        distilled: a preference; one that a person wrote was asked by no prompt.
        config: of the run that distilled it.
    """
    if distilled.kind not in DISTILLED:
        return None
    pairs = sum(
        len(plan.winners)
        for plan in distil_plans(config)
        if plan.scenario_id == distilled.scenario_id
    )
    left_out = int(distilled.kind == PreferenceKind.HELD_OUT)
    aggregate = distilled.kind != PreferenceKind.PAIR and pairs - left_out > 1
    # A run that wants one sentence asks by a prompt of its own (see judge_prompts.prompts_used).
    names = ("distil_aggregate",) if aggregate else ("distil_preference", "distil_sentence")
    asked = config.get(WRITER) or config.get("judge", {})
    used: Mapping[str, Any] = asked.get("prompts", {})
    ending = f".{prompt_language(distilled.language)}"
    return next(
        (
            DistilPromptFile(label, digest)
            for label, digest in used.items()
            if label.split(".")[0] in names and label.endswith(ending)
        ),
        None,
    )


def _unknown(row: Preference) -> tuple[str, ...]:
    run = row.run
    if run is None or run.endpoint_id is not None or not row.text or is_stack(row.text):
        return ()
    return parse(row.text).unknown
