"""Prompts filled with what a dataset or a study really holds, so that an edit can be looked at.

A value that a run only makes (a preference, a memory) is the newest that there is; what does not
exist yet is said to be missing in its place. Nothing is shortened but a rated history.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from django.utils.translation import gettext

from annotation.core.choices import JudgmentStatus
from annotation.models import Comparison, Response, Session, Study
from judging.core.judge_prompts import EXAMPLES_PER_SCORE
from judging.core.memory import grouped_examples, render, statistics
from judging.core.memory_parsing import memory_from_content
from judging.core.pair_texts import PairTexts
from judging.core.prompt_blocks import (
    PairExcerpt,
    dialogue_block,
    history_block,
    pairs_block,
    profile_text,
    rating_word,
    statistics_line,
    text_or_unknown,
    turns_block,
)
from judging.core.prompts import Prompt, PromptText, prompt_language
from judging.core.questions import HistoryTurn
from judging.core.windows import Excerpt
from judging.models import Preference, UserMemory
from judging.queries.comparisons import FILE_ORDER, response_texts_of, texts_of
from judging.queries.prompts import PromptOwner
from judging.queries.references import comparison_references
from judging.queries.satisfaction.blocks import rated, stored_blocks

_LOOKED_AT: Final = 20
"""Comparisons or responses among which one in the prompt's language is looked for."""
_EXAMPLE_TOKENS: Final = 200


@dataclass(frozen=True, slots=True)
class Preview:
    """A prompt as it would be sent; `missing` are the places that nothing is there for yet."""

    text: str
    missing: tuple[str, ...]


def preview(owner: PromptOwner, prompt: Prompt) -> Preview:
    """A prompt with the texts of a comparison or a turn of the study, or of the dataset.

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
    return Preview(prompt.render(values), tuple(missing))


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
