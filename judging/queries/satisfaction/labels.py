"""Labelled blocks and labelled turns: what is learned from, or shown as examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet

from annotation.core.choices import JudgmentStatus, Reason
from annotation.core.language import language_of
from annotation.models import Dataset, SatisfactionLabel, Scenario
from annotation.queries.withheld import own_labels
from judging.core.memory import HistoryChange, history_change, history_of_evidence
from judging.core.questions import HistoryTurn, Rubrics
from judging.core.rules import Level
from judging.core.runs import HISTORY
from judging.core.satisfaction_neighbours import Example
from judging.models import InducedRubric, JudgeRun, RubricStep, UserMemory
from judging.queries.configurations import satisfaction_settings
from judging.queries.satisfaction.blocks import gold_ratings, rated, stored_blocks

Scores = dict[int, dict[int, dict[str, int]]]
"""User to scenario to turn (or session) id to score."""

_FIELDS: Final = {
    Level.TURN: ("annotator_id", "response__turn__session__scenario_id", "response_id", "score"),
    Level.SESSION: ("annotator_id", "session__scenario_id", "session_id", "score"),
}


def level_of(memory: UserMemory) -> Level:
    """What the history of a memory consists of; its run comes with it."""
    return satisfaction_settings(memory.run.config).level


def changes_since(
    memories: Sequence[UserMemory], *, only: int | None = None
) -> dict[int, HistoryChange]:
    """By memory, what its user rated in other scenarios since it was written.

    Ratings of the scenario it judges are not looked at. Memories that are not written, and those
    of which nothing changed, are left out. One query a dataset and level, none for nothing; the
    memories come with their runs. To an annotator (`only`) their withheld ratings do not count.
    """
    written = [memory for memory in memories if memory.status == JudgmentStatus.DONE]
    elsewhere = _elsewhere(written)
    users: dict[tuple[int, Level], set[int]] = {}
    for memory in written:
        dataset, _left_out = elsewhere.get(memory.pk) or (memory.run.dataset_id, 0)
        users.setdefault((dataset, level_of(memory)), set()).add(memory.user_id)
    scores = {key: rated_scores(key[0], own, level=key[1], only=only) for key, own in users.items()}
    changes = {}
    for memory in written:
        here = memory.run.dataset_id, memory.target_scenario_id
        dataset, left_out = elsewhere.get(memory.pk) or here
        own = scores[dataset, level_of(memory)].get(memory.user_id, {})
        now = {
            turn: score
            for scenario, turns in own.items()
            if scenario != left_out
            for turn, score in turns.items()
        }
        change = history_change(history_of_evidence(memory.evidence), now)
        if change is not None:
            changes[memory.pk] = change
    return changes


def _elsewhere(memories: Sequence[UserMemory]) -> dict[int, tuple[int, int]]:
    """By memory whose history is another dataset's: that one, and which scenario is left out of it.

    That is the scenario of the same name, 0 where there is none. No query where there is no such
    memory, else two.
    """
    named = {one.pk: one.run.config[HISTORY] for one in memories if HISTORY in one.run.config}
    if not named:
        return {}
    slugs = set(named.values())
    datasets = dict(Dataset.objects.filter(slug__in=slugs).values_list("slug", "pk"))
    rows = Scenario.objects.filter(dataset__in=datasets.values())
    scenarios = {(of, name): pk for of, name, pk in rows.values_list("dataset_id", "name", "pk")}
    return {
        one.pk: (dataset, scenarios.get((dataset, one.target_scenario.name), 0))
        for one in memories
        if one.pk in named
        for dataset in [datasets.get(named[one.pk], 0)]
    }


def rated_scores(
    dataset_id: int, user_ids: Collection[int], *, level: Level, only: int | None = None
) -> Scores:
    """What some users said first of each response, or session, without any text.

    To an annotator (`only`) those of their own that are not withheld.
    """
    found: Scores = {}
    labels = rated(dataset_id=dataset_id, user_ids=user_ids, level=level)
    rows = (
        (labels if only is None else own_labels(labels, only))
        .order_by("-created_at", "-id")  # of several answers the first stays
        .values_list(*_FIELDS[level])
    )
    for user, scenario, target, score in rows:
        found.setdefault(user, {}).setdefault(scenario, {})[str(target)] = score
    return found


def examples(*, dataset_id: int, level: Level = Level.TURN) -> tuple[Example, ...]:
    """The blocks of a dataset with what their users said first of each target. Six queries."""
    said = gold_ratings(dataset_id=dataset_id, level=level)
    found = []
    for stored in stored_blocks(dataset_id=dataset_id, level=level):
        own = [said[stored.user_id, int(target.turn_id)] for target in stored.block.targets]
        found.append(
            Example(
                block=stored.block,
                scores=tuple(score for score, _ in own),
                reasons=tuple(reason for _, reason in own),
            )
        )
    return tuple(found)


def raters(*, dataset_id: int) -> tuple[int, ...]:
    """The ids of those who rated a response of a dataset, ascending."""
    rows = rated(dataset_id=dataset_id).order_by("annotator_id")
    return tuple(rows.values_list("annotator_id", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class FirstRating:
    """One user's first rating of a response."""

    id: int
    user_id: int
    score: int
    language: str


def first_labels(*, dataset_id: int, user_ids: Collection[int]) -> tuple[FirstRating, ...]:
    """First ratings of some users by user name, session and turn: an order that no row id shapes.

    One query.
    """
    rows = (
        rated(dataset_id=dataset_id, user_ids=user_ids)
        .order_by(
            "annotator__username",
            "response__turn__session__key",
            "response__turn__position",
            "response__position",
            "created_at",
            "id",
        )
        .values_list(
            "id",
            "annotator_id",
            "response_id",
            "score",
            "response__turn__session__language",
            "response__turn__user_message",
        )
    )
    found: dict[tuple[int, int | None], FirstRating] = {}
    for key, user_id, response_id, score, language, message in rows:
        row = FirstRating(key, user_id, score, language or language_of(message or ""))
        found.setdefault((user_id, response_id), row)
    return tuple(found.values())


def turns_of_labels(ids: Collection[int]) -> dict[int, HistoryTurn]:
    """Rated turns by the id of their label; what was taken back, or lost its text, is left out."""
    rows = SatisfactionLabel.objects.filter(pk__in=ids, response__text__isnull=False).values_list(
        "pk",
        "response_id",
        "response__turn__session__scenario__name",
        "response__turn__session__task_context",
        "response__turn__user_message",
        "response__text",
        "score",
        "reason",
        "response__turn__session__key",
    )
    return {
        key: HistoryTurn(
            turn_id=str(response_id),
            scenario=scenario,
            task_context=task,
            user_message=message or "",
            response=text or "",
            score=score,
            reason=Reason(reason) if reason else None,
            session_key=session,
        )
        for key, response_id, scenario, task, message, text, score, reason, session in rows
    }


TEACHING: Final = "teaching"
"""In the configuration of a run: for each fold who is judged, by whom, and with which examples."""


def rubric_rows(run_id: int, *steps: RubricStep) -> QuerySet[InducedRubric]:
    """The rows of an induction, of some steps or of all."""
    rows = InducedRubric.objects.filter(run_id=run_id)
    return rows.filter(step__in=steps) if steps else rows


def folds_of(config: Mapping[str, Any]) -> list[dict[str, list[int]]]:
    """The folds of a run's configuration: `judged`, `training` and `examples` (ids of labels)."""
    found: list[dict[str, list[int]]] = config.get(TEACHING, [])
    return found


def fold_by_user(config: Mapping[str, Any]) -> dict[int, int]:
    """The fold in which each user is judged."""
    return {user: at for at, fold in enumerate(folds_of(config)) for user in fold["judged"]}


def examples_by_fold(config: Mapping[str, Any]) -> list[tuple[HistoryTurn, ...]]:
    """The examples of each fold in the order in which they were drawn. One query."""
    folds = folds_of(config)
    wanted = {key for fold in folds for key in fold["examples"]}
    turns = turns_of_labels(wanted) if wanted else {}
    return [tuple(turns[key] for key in fold["examples"] if key in turns) for fold in folds]


def rubrics_by_fold(run_id: int) -> dict[int, Rubrics | None]:
    """The rubrics of each fold; None where one of them could not be induced. One query."""
    found: dict[int, Rubrics | None] = {}
    texts: dict[tuple[int, bool], tuple[str, ...]] = {}
    failed: set[int] = set()
    for row in rubric_rows(run_id, RubricStep.FINAL):
        texts[row.fold, row.satisfied] = row.sentences
        if row.status != JudgmentStatus.DONE:
            failed.add(row.fold)
    for fold in sorted({fold for fold, _ in texts}):
        both = Rubrics(texts.get((fold, True), ()), texts.get((fold, False), ()))
        found[fold] = None if fold in failed else both
    return found


@dataclass(frozen=True, slots=True)
class FoldPage:
    """One fold as a run's page shows it; `turns` are the rated turns that reasons were drawn of."""

    number: int
    judged: int
    training: int
    examples: tuple[HistoryTurn, ...]
    rubrics: Rubrics | None
    turns: int


def teaching_of(run: JudgeRun) -> tuple[FoldPage, ...]:
    """What the folds of a run were taught. No query where nothing was, else three."""
    folds = folds_of(run.config)
    if not folds:
        return ()
    rubrics, examples = rubrics_by_fold(run.pk), examples_by_fold(run.config)
    drawn = list(rubric_rows(run.pk, RubricStep.TURN).values_list("fold", flat=True))
    return tuple(
        FoldPage(
            number=at + 1,
            judged=len(fold["judged"]),
            training=len(fold["training"]),
            examples=examples[at],
            rubrics=rubrics.get(at),
            turns=drawn.count(at),
        )
        for at, fold in enumerate(folds)
    )
