"""Distilling preferences, a row a column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from annotation.core.choices import JudgmentStatus, Verdict
from judging.core.judge_prompts import PairTexts
from judging.core.questions import LabelledPair, Outcome
from judging.core.runs import StageName, Winners
from judging.judges.protocol import Judge
from judging.models import Control, JudgeRun, Preference, PreferenceKind
from judging.queries.comparisons import texts_of
from judging.queries.configurations import distil_plans
from judging.queries.runs import preference_rows
from judging.services.batches import (
    AskingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
)

NO_PAIRS: Final = "preference:no-pairs"
"""The texts that the preference should be distilled from are not available."""

_Sources = Sequence[tuple[int, Verdict]]


def empty_preference() -> Preference:
    """The base judge's preference: one row for the whole database."""
    return Preference.objects.get_or_create(
        kind=PreferenceKind.EMPTY, defaults={"text": "", "status": JudgmentStatus.DONE}
    )[0]


@dataclass(frozen=True, slots=True)
class DistilQuestion:
    """One preference to distil, from one pair or from several."""

    row_id: int
    pairs: tuple[LabelledPair, ...]
    language: str


def load_questions(run: JudgeRun, ids: IdRange) -> list[DistilQuestion]:
    """The pending preferences of a range, with the pairs behind them."""
    rows = list(
        preference_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
    )
    sources = _sources(run, rows)
    texts = texts_of({comparison_id for some in sources.values() for comparison_id, _ in some})
    return [
        DistilQuestion(row.pk, labelled_pairs(sources[row.pk], texts), row.language) for row in rows
    ]


def _sources(run: JudgeRun, rows: Sequence[Preference]) -> dict[int, _Sources]:
    """By preference, the comparisons and verdicts it is distilled from, in column order."""
    plans = {plan.scenario_id: plan for plan in distil_plans(run.config)}

    def labels(row: Preference) -> Sequence[tuple[int, Verdict]]:
        if row.kind == PreferenceKind.PAIR:
            return [_source(row)]
        plan = plans[row.scenario_id]
        winners = plan.winners if row.control == Control.NONE else plan.draws[row.draw]
        if row.kind == PreferenceKind.HELD_OUT:
            return [label for label in winners if label[0] != row.source_comparison_id]
        return winners

    return {row.pk: labels(row) for row in rows}


def _source(pair: Preference) -> tuple[int, Verdict]:
    # A constraint lets no preference of this kind be without its source.
    return cast("int", pair.source_comparison_id), Verdict(cast("str", pair.source_verdict))


def labelled_pairs(
    sources: Iterable[tuple[int, Verdict]], texts: Mapping[int, PairTexts]
) -> tuple[LabelledPair, ...]:
    """What a distiller is shown of some labels; those without texts are left out."""
    return tuple(
        texts[comparison_id].labelled(winner)
        for comparison_id, winner in sources
        if comparison_id in texts
    )


def written_in(winners: Winners, texts: Mapping[int, PairTexts]) -> str:
    """The language most of the dev comparisons are in: preferences are written in it."""
    languages = Counter(texts[one].language for one, _ in winners if one in texts)
    return languages.most_common(1)[0][0]


async def ask_distiller(judge: Judge, question: DistilQuestion) -> RowAnswer[Outcome[str]]:
    """Asks for one preference."""
    if not question.pairs:
        return RowAnswer(question.row_id, Outcome(None, error_code=NO_PAIRS))
    answer = await judge.distil(question.pairs, language=question.language)
    return RowAnswer(question.row_id, answer)


def store_preferences(run: JudgeRun, answers: Iterable[RowAnswer[Outcome[str]]]) -> None:
    """Writes texts over pending preferences alone; a failed one is a column without verdicts."""
    answers = list(answers)
    calls = call_ids(one.answer.call for one in answers)
    for one in answers:
        answer = one.answer
        answered = answer.value is not None
        call_id = calls.get(answer.call.call_key or "")
        Preference.objects.filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=JudgmentStatus.DONE if answered else JudgmentStatus.FAILED,
            text=answer.value,
            judge=run.written_by,
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=answered, call_id=call_id),
            error_code=answer.error_code or "",
        )


DISTIL_STAGE: Final = AskingStage(
    name=StageName.DISTIL,
    rows=preference_rows,
    load=load_questions,
    ask=ask_distiller,
    store=store_preferences,
)
