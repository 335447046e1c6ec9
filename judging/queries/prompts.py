"""Edited prompts as stored: which are in force, and how they came about.

A study's own version wins over its dataset's. Runs are about labels: where all of them were given
in one study, that study's prompts are asked, else the dataset's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from django.db.models import Q
from django.utils.translation import gettext

from annotation.core.choices import JudgmentStatus
from annotation.core.guidelines import ChangedPiece, changes
from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    User,
)
from judging.core.judge_prompts import EXAMPLES_PER_SCORE, PairTexts
from judging.core.memory import grouped_examples, render, statistics
from judging.core.memory_parsing import memory_from_content
from judging.core.prompt_edits import prompt_names
from judging.core.prompts import (
    LANGUAGES,
    PairExcerpt,
    Prompt,
    PromptText,
    dialogue_block,
    history_block,
    load_prompt,
    pairs_block,
    profile_text,
    prompt_language,
    rating_word,
    statistics_line,
    text_or_unknown,
    turns_block,
)
from judging.core.questions import HistoryTurn
from judging.core.references import reference_for
from judging.core.rules import Excerpt
from judging.models import JudgeRun, Preference, PromptOverride, UserMemory
from judging.queries.asked_prompts import asked_labels
from judging.queries.comparisons import FILE_ORDER, response_texts_of, texts_of
from judging.queries.satisfaction.blocks import rated, stored_blocks


def comparison_references(comparison_ids: Collection[int]) -> dict[int, str]:
    """The reference answer of each comparison, "" where it has none. One query."""
    rows = Comparison.objects.filter(pk__in=comparison_ids).values_list(
        "pk", "extra", "turn__session__extra", "turn__position"
    )
    return {
        key: reference_for((own, session), position=position)
        for key, own, session, position in rows
    }


def response_references(response_ids: Collection[int]) -> dict[int, str]:
    """The reference answer for what each response answers, "" where there is none. One query."""
    rows = Response.objects.filter(pk__in=response_ids).values_list(
        "pk", "turn__session__extra", "turn__position"
    )
    return {key: reference_for((session,), position=position) for key, session, position in rows}


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


def prompt_history(
    owner: PromptOwner, name: str, language: str
) -> list[tuple[PromptOverride, tuple[ChangedPiece, ...] | None]]:
    """The owner's versions of a prompt, the newest first, with what each changed. One query.

    The first is compared with the released text; so is one that takes that back. None: the texts
    are too long to compare.
    """
    released = load_prompt(name, language=language).text
    rows = PromptOverride.objects.filter(**owner.columns, name=name, language=language)
    before, found = released, []
    for row in rows.select_related("created_by").order_by("version"):
        text = row.text or released
        found.append((row, changes(before, text)))
        before = text
    return found[::-1]


@dataclass(frozen=True, slots=True)
class RunPrompt:
    """A prompt as a run asked it; `changed` compares an edited one with the released text."""

    label: str
    digest: str
    text: str | None
    source: str = ""
    changed: Sequence[ChangedPiece] | None = None


def prompts_of_run(run: JudgeRun) -> list[RunPrompt]:
    """The prompts that a run asked; a released one's text only while its file is the same.

    Raises:
        Refused: the run names a prompt that there is no file of.
    """
    kept = {each["digest"]: each for each in run.config.get(EDITED_PROMPTS, ())}
    snapshot = run.config.get("judge") or {}
    asked = snapshot.get("prompts", {}) if isinstance(snapshot, dict) else {}
    return [_asked(label, asked[label], kept.get(asked[label])) for label in asked_labels(run)]


def _asked(label: str, digest: str, kept: dict[str, str] | None) -> RunPrompt:
    name, version, language = label.split(".")
    if kept is not None:
        released = load_prompt(name, language=language).text
        changed = changes(released, kept["text"])
        return RunPrompt(label, digest, kept["text"], kept.get("of", ""), changed)
    prompt = load_prompt(name, language=language, version=int(version.removeprefix("v")))
    return RunPrompt(label, digest, prompt.text if prompt.digest == digest else None)


_LOOKED_AT: Final = 20
"""Comparisons or responses among which one in the prompt's language is looked for."""
_EXAMPLE_TOKENS: Final = 200


def preview(owner: PromptOwner, prompt: Prompt) -> tuple[str, list[str]]:
    """A prompt with the texts of a comparison or a turn of the study, or of the dataset.

    With the places that nothing is there for yet.

    Raises:
        Refused: the prompt cannot be filled in.
    """
    source = _Source(owner, prompt.language)
    values: dict[str, str] = {}
    missing = []
    for name in sorted(prompt.placeholders):
        make = source.makers.get(name)
        value = None if make is None else make()
        if value is None:
            missing.append(name)
            value = f"[{gettext('nothing is stored yet that could stand here')}]"
        values[name] = value
    return prompt.render(values), missing


class _Source:
    """One comparison or turn, and what else a prompt may show; read only as far as it is asked."""

    def __init__(self, owner: PromptOwner, language: str) -> None:
        self._owner = owner
        self._language = language
        self.makers: Mapping[str, Callable[[], str | None]] = {
            "dialogue": self._dialogue,
            "response_a": lambda: None if self._pair is None else self._pair.text_a,
            "response_b": lambda: None if self._pair is None else self._pair.text_b,
            "chosen": lambda: None if self._pair is None else self._pair.text_a,
            "rejected": lambda: None if self._pair is None else self._pair.text_b,
            "response": lambda: None if self._shown is None else self._shown.text_a,
            "pairs": self._pairs,
            "preference": self._preference,
            "reference": self._reference,
            "task": self._task,
            "profile": self._profile,
            "memory": self._memory,
            "history": self._history,
            "statistics": self._statistics,
            "scenario": lambda: None if self._session is None else self._session.scenario.name,
            "examples": self._examples,
            "rating": lambda: rating_word(satisfied=True, language=language),
            "most": lambda: str(EXAMPLES_PER_SCORE),
        }

    @cached_property
    def _comparison(self) -> tuple[int, PairTexts] | None:
        """A comparison with both texts, in the prompt's language where there is one."""
        rows = Comparison.objects.filter(
            response_a__text__isnull=False, response_b__text__isnull=False
        )
        if isinstance(self._owner.row, Study):
            rows = rows.filter(study_items__study=self._owner.row).order_by("study_items__position")
        else:
            rows = rows.filter(turn__session__dataset=self._owner.row).order_by(*FILE_ORDER)
        ids = list(rows.values_list("pk", flat=True)[:_LOOKED_AT])
        return self._fitting(ids, texts_of(ids))

    @cached_property
    def _turn(self) -> tuple[int, PairTexts] | None:
        """A response that a user could rate, where there is no comparison."""
        rows = Response.objects.filter(original=True, text__isnull=False)
        if isinstance(self._owner.row, Study):
            rows = rows.filter(turn__session__study_items__study=self._owner.row)
        else:
            rows = rows.filter(turn__session__dataset=self._owner.row)
        ids = list(
            rows.order_by("turn__session__position", "turn__position").values_list("pk", flat=True)[
                :_LOOKED_AT
            ]
        )
        return self._fitting(ids, response_texts_of(ids))

    def _fitting(
        self, ids: list[int], texts: Mapping[int, PairTexts]
    ) -> tuple[int, PairTexts] | None:
        known = [(one, texts[one]) for one in ids if one in texts]
        same = [each for each in known if prompt_language(each[1].language) == self._language]
        return next(iter([*same, *known]), None)

    @property
    def _pair(self) -> PairTexts | None:
        return self._comparison and self._comparison[1]

    @property
    def _shown(self) -> PairTexts | None:
        return self._pair or (self._turn and self._turn[1])

    @cached_property
    def _session(self) -> Session | None:
        if self._comparison:
            return (
                Session.objects.select_related("scenario")
                .filter(turns__comparisons=self._comparison[0])
                .first()
            )
        if self._turn:
            return (
                Session.objects.select_related("scenario")
                .filter(turns__responses=self._turn[0])
                .first()
            )
        return None

    def _dialogue(self) -> PromptText | None:
        if self._shown is None:
            return None
        return dialogue_block(Excerpt(self._shown.dialogue, 0), language=self._language)

    def _pairs(self) -> PromptText | None:
        if self._pair is None:
            return None
        one = PairExcerpt(Excerpt(self._pair.dialogue, 0), self._pair.text_a, self._pair.text_b)
        return pairs_block([one], tokens=_EXAMPLE_TOKENS, language=self._language)

    def _preference(self) -> str | None:
        rows = Preference.objects.filter(
            dataset=self._owner.dataset_id, status=JudgmentStatus.DONE, text__gt=""
        )
        same = rows.filter(language__startswith=self._language)
        found = same.order_by("-pk").first() or rows.order_by("-pk").first()
        return None if found is None else found.text

    def _reference(self) -> str | None:
        if self._comparison is None:
            return None
        return comparison_references([self._comparison[0]])[self._comparison[0]] or None

    def _task(self) -> str | None:
        context = self._session.task_context if self._session else ""
        return text_or_unknown(context, language=self._language)

    def _profile(self) -> str:
        snapshot = self._session.profile_snapshot if self._session else {}
        return profile_text(snapshot, language=self._language)

    def _memory(self) -> str | None:
        rows = UserMemory.objects.filter(
            run__dataset=self._owner.dataset_id, status=JudgmentStatus.DONE
        )
        found = rows.order_by("-pk").first()
        if found is None:
            return None
        stored = {"statistics": found.statistics, "texts": found.texts}
        return render(memory_from_content(stored), self._language)

    @cached_property
    def _rated_turns(self) -> tuple[HistoryTurn, ...]:
        """The history of somebody who rated in more than one scenario."""
        return next(self._histories(), ())

    def _histories(self) -> Iterator[tuple[HistoryTurn, ...]]:
        dataset = self._owner.dataset_id
        users = rated(dataset_id=dataset).order_by("annotator_id").values_list("annotator_id")
        for (user,) in users.distinct()[:_LOOKED_AT]:
            for stored in stored_blocks(dataset_id=dataset, user_ids=[user]):
                if stored.block.history:
                    yield stored.block.history

    def _history(self) -> PromptText | None:
        if not self._rated_turns:
            return None
        groups = grouped_examples(self._rated_turns, per_score=EXAMPLES_PER_SCORE)
        ids = dict.fromkeys(turn.turn_id for turn in self._rated_turns)
        aliases = {turn_id: f"T{place}" for place, turn_id in enumerate(ids, start=1)}
        return history_block(
            groups, aliases=aliases, tokens=_EXAMPLE_TOKENS, language=self._language
        )

    def _examples(self) -> PromptText | None:
        if not self._rated_turns:
            return None
        some = self._rated_turns[:EXAMPLES_PER_SCORE]
        return turns_block(some, tokens=_EXAMPLE_TOKENS, language=self._language)

    def _statistics(self) -> str | None:
        if not self._rated_turns:
            return None
        return statistics_line(statistics(self._rated_turns), language=self._language)
