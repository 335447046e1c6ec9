"""What the page of one preference shows: where its text comes from, its versions, its sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from annotation.core.guidelines import ChangedPiece, changes
from judging.core.lexical.vocabulary import parse
from judging.core.pair_texts import PairTexts
from judging.core.prompts import prompt_language
from judging.core.run_plans import distil_plans
from judging.models import LlmCall, Preference, PreferenceKind, PreferenceSet
from judging.queries.comparisons import texts_of
from judging.queries.withheld import readable_sets, withheld_numbers


@dataclass(frozen=True, slots=True)
class PreferenceVersion:
    """One version: who wrote it ("" for the distiller), and how it reads beside the one before.

    `changed` is None for the first version, and where the texts are too long to compare.
    """

    id: int
    number: int
    text: str | None
    active: bool
    switched: bool
    editor: str
    created_at: datetime
    changed: tuple[ChangedPiece, ...] | None


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
    def chosen_is_a(self) -> bool:
        """Whether the first response of the pair is the chosen one."""
        return self.row.source_verdict == "A"

    @property
    def is_newest(self) -> bool:
        """Whether this is the version that an edit would follow."""
        return self.row.version == self.versions[0].number


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
    if row.source_comparison_id is not None:
        pair = texts_of([row.source_comparison_id]).get(row.source_comparison_id)
    return PreferencePage(
        row=row,
        first=first,
        versions=tuple(_version(one, versions) for one in newest_first),
        pair=pair,
        call=first.call,
        prompt=_prompt_of(first),
        sets=readable_sets(
            PreferenceSet.objects.filter(members__in=list(versions))
            .select_related("run", "scenario")
            .order_by("-pk")
            .distinct(),
            withheld_numbers(only),
        ),
        unknown=_unknown(row),
    )


def _version(row: Preference, versions: Mapping[int, Preference]) -> PreferenceVersion:
    before = versions.get(row.previous_id or 0)
    return PreferenceVersion(
        id=row.pk,
        number=row.version,
        text=row.text,
        active=row.active,
        switched=before is not None and before.active != row.active,
        editor="" if row.edited_by is None else str(row.edited_by),
        created_at=row.created_at,
        changed=(
            None
            if before is None or before.text == row.text
            else changes(before.text or "", row.text or "")
        ),
    )


def _prompt_of(first: Preference) -> DistilPromptFile | None:
    return None if first.run is None else asked_prompt(first, first.run.config)


def asked_prompt(distilled: Preference, config: Mapping[str, Any]) -> DistilPromptFile | None:
    """The prompt of a distilled preference as its run recorded it; None where there was none.

    The aggregate over a single pair is asked by the prompt of a pair.

    Args:
        distilled: a preference; one that a person wrote was asked by no prompt.
        config: of the run that distilled it.
    """
    if distilled.kind not in (PreferenceKind.PAIR, PreferenceKind.AGGREGATE):
        return None
    pairs = sum(
        len(plan.winners)
        for plan in distil_plans(config)
        if plan.scenario_id == distilled.scenario_id
    )
    aggregate = distilled.kind == PreferenceKind.AGGREGATE and pairs > 1
    # A run that wants one sentence asks by a prompt of its own (see judge_prompts.prompts_used).
    names = ("distil_aggregate",) if aggregate else ("distil_preference", "distil_sentence")
    used: Mapping[str, Any] = config.get("judge", {}).get("prompts", {})
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
    if run is None or run.endpoint_id is not None or not row.text:
        return ()
    return parse(row.text).unknown
