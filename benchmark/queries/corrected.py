"""Models' win rates by people, by a judge, and corrected: the rows, what counts, the figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from statistics import fmean
from typing import Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.utils.text import Truncator

from annotation.core.choices import StudyKind, Verdict
from annotation.core.refusals import Refused
from annotation.models import PairwiseLabel
from annotation.queries.label_sampling import Ground, LabelOrigin, RandomLabels, random_labels
from benchmark.core.corrected import FEWEST_LABELS, CorrectedFigure
from benchmark.core.corrected_ranking import (
    CorrectedRanking,
    JudgedPair,
    agreement_figure,
    corrected_ranking,
    win_figures,
)
from benchmark.queries.annotators import openings
from benchmark.queries.choices import dataset_of
from benchmark.queries.ranking import (
    DRAWS,
    LeaderboardQuestion,
    LeaderboardScope,
    Source,
    ballots,
    judge_to_read,
    leaderboard_scope,
    runs_of,
)
from judging.queries.configurations import applied_plans

WORTH: Final = {Verdict.A: 1.0, Verdict.TIE: 0.5, Verdict.B: 0.0}
JUDGED: Final = (Source.BASE, Source.SELECTED)
"""Whose verdicts people's labels correct: the judge's own, or what stands in for each annotator."""
ROWS_A_PAGE: Final = 50
_OPENING: Final = 120


class _Judged(NamedTuple):
    """What a judge said of a comparison, in an annotator's stead or nobody's: A's share of it."""

    owner: int | None
    comparison: int
    scenario: str
    model_a: str
    model_b: str
    session: int
    score: float
    is_same: bool


class CorrectedRow(NamedTuple):
    """A row of a figure: what the judge said of a comparison, and people where they count.

    `is_same` says that all its verdicts were the same.
    """

    comparison: int
    pair: JudgedPair
    annotator: int | None
    is_same: bool


@dataclass(frozen=True, slots=True)
class CorrectedBoard:
    """Win rates three ways side by side, best first, and the ranking by the corrected ones.

    `agreement` is the judge's with people. `labels` says which of people's labels count. `ranking`
    is None where nothing can be corrected. A target counts once, however many labels it has.
    """

    scope: LeaderboardScope
    source: Source
    judge: str
    models: tuple[tuple[str, CorrectedFigure], ...]
    ranking: CorrectedRanking | None
    agreement: CorrectedFigure
    labels: RandomLabels
    rows: tuple[CorrectedRow, ...]

    def records(self) -> list[dict[str, object]]:
        """A row a model, with every figure of the table."""
        rated = {row.model: row for row in self.ranking.models} if self.ranking else {}
        return [
            {
                "source": self.source.value,
                "judge": self.judge,
                "model": model,
                **figure.cells(),
                "grounds": " ".join(each.value.lower() for each in self.labels.grounds),
                "rating": rated[model].rating if rated else None,
                "rating_low": rated[model].low if rated else None,
                "rating_high": rated[model].high if rated else None,
                "rank": rated[model].rank if rated else None,
                "rank_low": rated[model].rank_low if rated else None,
                "rank_high": rated[model].rank_high if rated else None,
            }
            for model, figure in self.models
        ]


def corrected_board(
    question: LeaderboardQuestion, source: Source, *, seed: int, draws: int = DRAWS
) -> CorrectedBoard | None:
    """People, judge, corrected; None where no judge said anything of a comparison in scope.

    Without draws there is no ranking.

    Raises:
        Refused: something asked for does not exist.
    """
    told = _told(question, source)
    if told is None:
        return None
    scope, judge, judged, rows, labels = told
    pairs = [row.pair for row in rows]
    ranks = labels.is_random and draws > 0
    ranking = corrected_ranking(pairs, draws=draws, seed=seed) if ranks else None
    of_model = Counter(model for each in judged for model in (each.model_a, each.model_b))
    agreement = agreement_figure(
        [(row.pair, row.is_same) for row in rows], is_random=labels.is_random
    )
    return CorrectedBoard(
        scope=scope,
        source=source,
        judge=judge,
        models=tuple(
            (model, replace(figure, targets=of_model[model]))
            for model, figure in win_figures(pairs, is_random=labels.is_random)
        ),
        ranking=ranking,
        agreement=replace(agreement, targets=len(judged)),
        labels=labels,
        rows=tuple(rows),
    )


def labelled_rows(question: LeaderboardQuestion, source: Source) -> list[CorrectedRow]:
    """The rows with the labels that correct a judge; none where they are no random part.

    Raises:
        Refused: something asked for does not exist.
    """
    told = _told(question, source)
    if told is None or not told.labels.is_random:
        return []
    return [row for row in told.rows if row.pair.label is not None]


def corrected_page(
    question: LeaderboardQuestion, source: Source, *, seed: int
) -> CorrectedBoard | None:
    """The figures without their rows, which are too much to keep.

    Raises:
        Refused: something asked for does not exist.
    """
    found = corrected_board(question, source, seed=seed)
    return found and replace(found, rows=(), labels=found.labels.without_keys)


def dataset_corrected(
    dataset: str, source: Source, *, judge: str, seed: int, draws: int
) -> CorrectedBoard:
    """The same of everything in a dataset.

    Raises:
        Refused: there is no such dataset, or no verdict of the judge in it.
    """
    slug = dataset_of(dataset).slug
    question = LeaderboardQuestion(dataset=slug, judge=judge)
    found = corrected_board(question, source, seed=seed, draws=draws)
    if found is None:
        raise Refused(
            "leaderboard:not-judged", f"no judge has verdicts on comparisons of {slug} to correct"
        )
    return found


class _Told(NamedTuple):
    """What a judge and people said in scope, and which of people's labels count."""

    scope: LeaderboardScope
    judge: str
    judged: Sequence[_Judged]
    rows: Sequence[CorrectedRow]
    labels: RandomLabels


def _told(question: LeaderboardQuestion, source: Source) -> _Told | None:
    """None where no judge said anything of a comparison in scope."""
    scope = leaderboard_scope(question)
    judge = judge_to_read(scope, source) if scope.dataset else ""
    judged = _judged(scope, source, judge) if judge else []
    if scope.dataset is None or not judged:
        return None
    return _Told(scope, judge, judged, *_rows(scope, source, judge, judged))


def _judged(scope: LeaderboardScope, source: Source, judge: str) -> list[_Judged]:
    """One verdict of the judge a comparison: both orders' mean, an even split being a tie.

    What stands in for an annotator is theirs alone; the base judge is nobody's.
    """
    if source is Source.BASE:
        return _of_owner(scope, source, judge, None)
    people = [scope.annotator] if scope.annotator else scope.annotators
    return [
        row
        for person in people
        if person.judged
        for row in _of_owner(replace(scope, annotator=person), source, judge, person.id)
    ]


def _of_owner(
    scope: LeaderboardScope, source: Source, judge: str, owner: int | None
) -> list[_Judged]:
    said: dict[int, list[float]] = defaultdict(list)
    known = {}
    for ballot in ballots(scope, source, runs_of(scope, source, judge)):
        if ballot.model_a and ballot.model_b and ballot.model_a != ballot.model_b:
            said[ballot.comparison].append(WORTH[ballot.verdict])
            known[ballot.comparison] = ballot
    return [
        _Judged(
            owner,
            key,
            known[key].scenario,
            known[key].model_a,
            known[key].model_b,
            known[key].session,
            sum(each) / len(each),
            len(set(each)) == 1,
        )
        for key, each in said.items()
    ]


def _rows(
    scope: LeaderboardScope, source: Source, judge: str, judged: Sequence[_Judged]
) -> tuple[list[CorrectedRow], RandomLabels]:
    """A row for each target, with the mean of its labels that count."""
    given = _labels(scope)
    of_target: dict[tuple[int | None, int], list[tuple[int, int]]] = defaultdict(list)
    for key in given:
        for owner in (None, key[0]):
            of_target[owner, key[1]].append(key)
    on = {(each.owner, each.comparison): of_target[each.owner, each.comparison] for each in judged}
    asked: dict[Hashable, LabelOrigin] = {
        key: LabelOrigin(key[1], *given[key][1:]) for keys in on.values() for key in keys
    }
    labels = random_labels(
        scope.dataset.id if scope.dataset else 0,
        StudyKind.PAIRWISE,
        targets={each.comparison for each in judged},
        labels=asked,
        complete=all(on.values()),
        fewest=FEWEST_LABELS,
        scenario=scope.scenario.name if scope.scenario else None,
        alone={scope.annotator.id} if scope.annotator else {owner for owner, _at in on if owner},
    )
    if labels.chances is not None:
        drawn = [key for key in given if key[1] in labels.chances]
        if _has_left_out(drawn, scope, source, judge, judged):
            none = RandomLabels(frozenset(asked), (Ground.NONE,), 0)
            labels = none._replace(partial=labels.studies)
    counted: dict[tuple[int | None, int], list[tuple[int | None, float | None]]] = {
        place: [(key[0], given[key][0]) for key in keys if key in labels.keys]
        for place, keys in on.items()
    }
    return _rows_of_targets(judged, counted, labels.chances), labels


def _has_left_out(
    drawn: Collection[tuple[int, int]],
    scope: LeaderboardScope,
    source: Source,
    judge: str,
    judged: Sequence[_Judged],
) -> bool:
    """Whether a judge was not asked about some of what was drawn and labelled.

    What a personal judge learned from is not asked about, nor are ties by runs over test
    comparisons: that is chosen among what was labelled, by rank and by the label, and the rest was
    drawn with other probabilities than those that are stored. No common factor mends them: as many
    sessions are learned from in each scenario, however many were drawn there, and in a second round
    over sessions those of one comparison keep their probability of 1. What a judge was asked and
    gave no verdict on is missing whatever was drawn, so the probabilities of the rest stay.

    `drawn` has annotator and comparison of each label on a comparison of the sample, `judged` what
    the judge's verdicts of this source are on.
    """
    asked: dict[int | None, set[int]] = defaultdict(set)
    for each in judged:
        asked[each.owner].add(each.comparison)
    people = {person.id: person for person in scope.annotators}
    for owner, known in asked.items():
        own = scope if owner is None else replace(scope, annotator=people[owner])
        for run in runs_of(own, source, judge):
            for plan in applied_plans(run.config):
                known.update(plan.comparisons if source is Source.BASE else plan.fresh)
    return any(
        comparison not in known
        for owner, known in asked.items()
        for annotator, comparison in drawn
        if owner in {None, annotator}
    )


def _rows_of_targets(
    judged: Sequence[_Judged],
    counted: Mapping[tuple[int | None, int], Sequence[tuple[int | None, float | None]]],
    chances: Mapping[int, float] | None,
) -> list[CorrectedRow]:
    """A row a target, with the mean of its labels, so that each target counts once.

    If items were drawn with chances, one that was drawn and then skipped is as likely to be any of
    them: of each owner's part the chances are multiplied by the share that has a label.
    """
    known = chances or {}
    drawn = Counter(each.owner for each in judged if each.comparison in known)
    labelled = Counter(owner for (owner, _comparison), said in counted.items() if said)
    rows = []
    for each in judged:
        said = counted[each.owner, each.comparison]
        chance, label, annotator = None if chances is None else 1.0, None, None
        if said:
            if chances is not None:
                chance = known[each.comparison] * labelled[each.owner] / drawn[each.owner]
            label = fmean(worth for _annotator, worth in said if worth is not None)
            annotator = said[0][0] if len(said) == 1 else None
        pair = JudgedPair(each.model_a, each.model_b, each.score, label, each.session, chance)
        rows.append(CorrectedRow(each.comparison, pair, annotator, each.is_same))
    return rows


def _labels(
    scope: LeaderboardScope,
) -> dict[tuple[int, int], tuple[float, int | None, datetime]]:
    """By annotator and comparison, A's share of their last label, its study and since when.

    One query.
    """
    rows = PairwiseLabel.objects.filter(
        comparison__turn__session__dataset=scope.dataset.id if scope.dataset else 0, repeat_index=0
    )
    if scope.annotator is not None:
        rows = rows.filter(annotator=scope.annotator.id)
    if scope.scenario is not None:
        rows = rows.filter(comparison__turn__session__scenario=scope.scenario.id)
    return {
        (annotator, comparison): (WORTH[Verdict(verdict)], study, since)
        for annotator, comparison, verdict, study, since in rows.order_by("id").values_list(
            "annotator_id", "comparison_id", "verdict", "study_id", "updated_at"
        )
    }


class ModelVerdictRow(NamedTuple):
    """One row of a model: what the judge and a person gave it, 1, 1/2 or 0, of several the mean.

    `stands_for` is for how many comparisons a label by chance counts, None of others.
    """

    comparison: int
    key: str
    opening: str
    opponent: str
    score: float
    label: float | None
    stands_for: float | None = None

    @property
    def error(self) -> float | None:
        """By how much the judge gave the model less than the person; None without a label."""
        return None if self.label is None else self.label - self.score


def model_rows(
    board: CorrectedBoard, model: str, *, labelled: bool, page: str
) -> tuple[list[ModelVerdictRow], Page[CorrectedRow]]:
    """The rows behind one model's figures, a page at a time. One query.

    Args:
        board: whose rows.
        model: the name of a model.
        labelled: only those with a label.
        page: its number, as the address has it.

    Raises:
        Refused: the board has no such model.
    """
    own = [row for row in board.rows if model in row.pair[:2]]
    if not own:
        raise Refused("benchmark:unknown-choice", f"no comparison of {model!r}")
    shown = Paginator(_shown(own, labelled=labelled), ROWS_A_PAGE).get_page(page)
    texts = openings({row.comparison for row in shown.object_list})
    found = []
    for row in shown.object_list:
        score, label, _unit = row.pair.of(model)
        one, other = row.pair[:2]
        key, _session, message = texts[row.comparison]
        opening = Truncator(message).chars(_OPENING)
        opponent = other if one == model else one
        chance = None if label is None else row.pair.chance
        stands_for = chance and 1 / chance
        told = ModelVerdictRow(row.comparison, key, opening, opponent, score, label, stands_for)
        found.append(told)
    return found, shown


def _shown(rows: Iterable[CorrectedRow], *, labelled: bool) -> list[CorrectedRow]:
    told = [row for row in rows if row.pair.label is not None or not labelled]
    return sorted(told, key=lambda row: (row.comparison, row.annotator or 0))
