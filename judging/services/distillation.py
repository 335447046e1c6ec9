"""Distilling preferences: one row per column, and what the distiller is shown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from annotation.core.choices import JudgmentStatus, Verdict
from judging.core.pair_texts import PairTexts
from judging.core.questions import DistilAnswer, LabelledPair
from judging.core.runs import StageName, Winners
from judging.judges.protocol import Judge
from judging.models import JudgeRun, Preference, PreferenceKind
from judging.queries.comparisons import texts_of
from judging.queries.runs import preference_rows
from judging.services.answers import call_ids, raw_to_keep
from judging.services.stages import AskingStage, IdRange

NO_PAIRS: Final = "preference:no-pairs"
"""The texts that the preference should be distilled from are not available."""

_Sources = list[tuple[int, Verdict]]


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


@dataclass(frozen=True, slots=True)
class DistilledAnswer:
    """What the distiller wrote for one row."""

    row_id: int
    answer: DistilAnswer


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
    aggregated: dict[tuple[int | None, str], _Sources] = defaultdict(list)
    if any(row.kind == PreferenceKind.AGGREGATE for row in rows):
        for pair in preference_rows(run.pk).filter(kind=PreferenceKind.PAIR).order_by("position"):
            aggregated[pair.scenario_id, pair.control].append(_source(pair))
    return {
        row.pk: (
            [_source(row)]
            if row.kind == PreferenceKind.PAIR
            else aggregated[row.scenario_id, row.control]
        )
        for row in rows
    }


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


async def ask_distiller(judge: Judge, question: DistilQuestion) -> DistilledAnswer:
    """Asks for one preference."""
    if not question.pairs:
        return DistilledAnswer(question.row_id, DistilAnswer(None, error_code=NO_PAIRS))
    answer = await judge.distil(question.pairs, language=question.language)
    return DistilledAnswer(question.row_id, answer)


def store_preferences(run: JudgeRun, answers: Iterable[DistilledAnswer]) -> None:
    """Writes texts over pending preferences alone; a failed one is a column without verdicts."""
    answers = list(answers)
    calls = call_ids(one.answer.call for one in answers)
    for one in answers:
        answer = one.answer
        answered = answer.text is not None
        call_id = calls.get(answer.call.call_key or "")
        Preference.objects.filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=JudgmentStatus.DONE if answered else JudgmentStatus.FAILED,
            text=answer.text,
            judge=run.judge,
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
