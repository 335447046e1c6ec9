"""Edited prompts as stored: which are in force, and how they came about.

A study's own version wins over its dataset's. Runs are about labels: where all of them were given
in one study, that study's prompts are asked, else the dataset's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from django.db.models import Q

from annotation.core.guidelines import ChangedPiece, changes
from annotation.models import Dataset, PairwiseLabel, SatisfactionLabel, Study, User
from judging.core.prompt_edits import prompt_names
from judging.core.prompts import LANGUAGES, Prompt, load_prompt
from judging.models import JudgeRun, PromptOverride

EDITED_PROMPTS: Final = "edited_prompts"
"""In the configuration of a run: the edited prompts, whole, as they were, and whose they were."""
PromptKey = tuple[str, str]
"""A prompt's name and language."""


@dataclass(frozen=True, slots=True)
class PromptOwner:
    """Whose prompts: a dataset's, or a study's."""

    row: Dataset | Study

    @property
    def kind(self) -> str:
        """`study` or `dataset`."""
        return "study" if isinstance(self.row, Study) else "dataset"

    @property
    def dataset_id(self) -> int:
        """The dataset itself, or the one behind the study."""
        return self.row.dataset_id if isinstance(self.row, Study) else self.row.pk

    @property
    def name(self) -> str:
        """As a run's configuration names it: study:pairs."""
        return f"{self.kind}:{self.row.slug}"

    @property
    def columns(self) -> dict[str, int]:
        """What says of a row that it is the owner's."""
        return {f"{self.kind}_id": self.row.pk}


def owner_of(dataset: Dataset, *, annotator: User | None, rated: bool) -> PromptOwner:
    """Whose prompts a run asks: the study in which all its labels were given, else the dataset.

    Args:
        dataset: whose labels.
        annotator: whose; None for everybody's.
        rated: the run is about ratings of responses; else about verdicts on comparisons.
    """
    labels = (
        SatisfactionLabel.objects.filter(response__turn__session__dataset=dataset)
        if rated
        else PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    )
    if annotator is not None:
        labels = labels.filter(annotator=annotator)
    studies = list(labels.order_by().values_list("study", flat=True).distinct()[:2])
    if len(studies) != 1 or studies[0] is None:
        return PromptOwner(dataset)
    return PromptOwner(Study.objects.get(pk=studies[0]))


def owner_of_row(row: PromptOverride) -> PromptOwner:
    """Whose version it is."""
    return PromptOwner(cast("Dataset | Study", row.study or row.dataset))  # a constraint: one is


def prompts_in_force(owner: PromptOwner) -> dict[PromptKey, PromptOverride]:
    """The edited prompts that are asked, a study's own before its dataset's. One query."""
    mine = Q(**owner.columns)
    if owner.kind == "study":
        mine |= Q(dataset=owner.dataset_id)
    rows = PromptOverride.objects.filter(mine).select_related("study", "dataset", "created_by")
    newest: dict[tuple[bool, PromptKey], PromptOverride] = {}
    for row in rows.order_by("version", "pk"):
        newest[row.study_id is not None, (row.name, row.language)] = row
    in_order = sorted(newest.items(), key=lambda item: item[0])  # what is the study's stands last
    return {key: row for (_of_study, key), row in in_order if row.text}


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A prompt: the released one, and the edited one that is asked instead.

    `inherited` says that the edited one is the dataset's, seen from a study.
    """

    released: Prompt
    edited: PromptOverride | None
    inherited: bool

    @property
    def text(self) -> str:
        """What is asked."""
        return self.edited.text if self.edited else self.released.text

    @property
    def digest(self) -> str:
        """The hash of what is asked."""
        return self.edited.digest if self.edited else self.released.digest

    @property
    def opening(self) -> str:
        """Its first line, which says what it is for."""
        return self.text.partition("\n")[0]


def prompt_lines(owner: PromptOwner) -> dict[str, list[PromptLine]]:
    """Every prompt by language, in the order of names. One query."""
    edited = prompts_in_force(owner)
    return {
        language: [_line(owner, edited, (name, language)) for name in prompt_names()]
        for language in LANGUAGES
    }


def prompt_line(owner: PromptOwner, name: str, language: str) -> PromptLine:
    """One prompt.

    Raises:
        Refused: there is none of this name and language.
    """
    return _line(owner, prompts_in_force(owner), (name, language))


def _line(
    owner: PromptOwner, edited: dict[PromptKey, PromptOverride], key: PromptKey
) -> PromptLine:
    name, language = key
    row = edited.get(key)
    inherited = row is not None and owner.kind == "study" and row.study_id is None
    return PromptLine(load_prompt(name, language=language), row, inherited)


def newest_version(owner: PromptOwner, name: str, language: str) -> int:
    """The number of the owner's last version of a prompt; 0 where it never had one."""
    rows = PromptOverride.objects.filter(**owner.columns, name=name, language=language)
    return rows.order_by("-version").values_list("version", flat=True).first() or 0


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A version of a prompt with what it changed of the one before; None: too long to compare."""

    row: PromptOverride
    changed: Sequence[ChangedPiece] | None


def prompt_history(owner: PromptOwner, name: str, language: str) -> list[PromptVersion]:
    """The owner's versions of a prompt, the newest first. One query.

    The first is compared with the released text; so is one that takes that back.
    """
    released = load_prompt(name, language=language).text
    rows = PromptOverride.objects.filter(**owner.columns, name=name, language=language)
    before, found = released, []
    for row in rows.select_related("created_by").order_by("version"):
        text = row.text or released
        found.append(PromptVersion(row, changes(before, text)))
        before = text
    return found[::-1]


@dataclass(frozen=True, slots=True)
class AskedPrompt:
    """A prompt as a run asked it; `changed` compares an edited one with the released text."""

    label: str
    digest: str
    text: str | None
    source: str = ""
    changed: Sequence[ChangedPiece] | None = None


def prompts_of_run(run: JudgeRun) -> list[AskedPrompt]:
    """The prompts in a run's configuration; a released one's text only while its file is the same.

    Raises:
        Refused: the run names a prompt that there is no file of.
    """
    kept = {each["digest"]: each for each in run.config.get(EDITED_PROMPTS, ())}
    snapshot = run.config.get("judge") or {}
    asked = snapshot.get("prompts", {}) if isinstance(snapshot, dict) else {}
    return [_asked(label, digest, kept.get(digest)) for label, digest in sorted(asked.items())]


def _asked(label: str, digest: str, kept: dict[str, str] | None) -> AskedPrompt:
    name, version, language = label.split(".")
    if kept is not None:
        released = load_prompt(name, language=language).text
        changed = changes(released, kept["text"])
        return AskedPrompt(label, digest, kept["text"], kept.get("of", ""), changed)
    prompt = load_prompt(name, language=language, version=int(version.removeprefix("v")))
    return AskedPrompt(label, digest, prompt.text if prompt.digest == digest else None)
