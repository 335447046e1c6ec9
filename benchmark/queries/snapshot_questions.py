"""What snapshots are of: the question of a page in names, and the page that answers it today."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from annotation.core.refusals import Refused
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.ranking import RatingMethod
from benchmark.core.snapshots import SnapshotKind
from benchmark.queries.annotators import PeopleQuestion, people_scope
from benchmark.queries.boards import pairs_page, part_of
from benchmark.queries.model_satisfaction import SatisfactionQuestion, Voice, models_answers
from benchmark.queries.ranking import (
    DRAWS,
    LeaderboardQuestion,
    LeaderboardScope,
    Source,
    judge_to_read,
    leaderboard_scope,
)
from benchmark.queries.replay import StoredReplay
from benchmark.queries.trust import SEED, Reader, TrustQuestion, trust_scope
from judging.core.rules import JudgePrompt
from judging.core.votes import VoteRule

Question = Mapping[str, Any]
"""What was asked, in names, with seed, draws and settings; in JSON's types."""

EVERYBODY: Final = Reader(only=None)
_PART: Final = ("scenario", "annotator", "language", "prompt")
_WORDS: Final = (
    *("run", "rule", "policy", "until", "judge", "method", "study", "voice", "people", "anchor"),
)


def board_question(
    dataset: str,
    verdicts: str = "",
    *,
    judge: str = "",
    part: Mapping[str, str] | None = None,
    method: RatingMethod = RatingMethod.BRADLEY_TERRY,
    style: bool = False,
    draws: int = DRAWS,
    seed: int = SEED,
    anchor: str | None = None,
) -> Question:
    """A leaderboard by one kind of verdict (`Source`), or "" for all that the page shows."""
    part = part or {}
    return {
        "dataset": dataset,
        "verdicts": verdicts,
        "judge": judge,
        **{name: part.get(name, "") for name in _PART if name != "prompt" or part.get(name)},
        "method": method.value,
        "style": style,
        "bootstrap": draws,
        "seed": seed,
        "anchor": anchor,
    }


def asked_board(question: LeaderboardQuestion) -> Question:
    """What the page of leaderboards was asked, in names.

    Raises:
        Refused: there is no dataset, or something asked for does not exist.
    """
    scope = leaderboard_scope(question)
    if scope.dataset is None:
        raise Refused("snapshot:nothing", "there is no dataset")
    part = {
        "scenario": scope.scenario.name if scope.scenario else "",
        "annotator": scope.annotator.name if scope.annotator else "",
        "language": question.language,
        "prompt": JudgePrompt(question.prompt).word if question.prompt else "",
    }
    asked = board_question(
        scope.dataset.slug,
        judge=question.judge,
        part=part,
        method=question.method,
        style=question.style,
    )
    more = {"until": question.until, "run": question.run}
    return {**asked, **{name: value for name, value in more.items() if value}}


def asked_trust(question: TrustQuestion) -> Question:
    """What the trust page was asked, in names, with the run that it shows.

    Raises:
        Refused: something asked for does not exist; nobody's labels are there, or no run on them.
    """
    scope = trust_scope(question, EVERYBODY)
    if scope.dataset is None or scope.annotator is None or scope.run is None:
        raise Refused("snapshot:nothing", "no judge has been run on anybody's labels here")
    return {
        "dataset": scope.dataset.slug,
        "annotator": scope.annotator.name,
        "run": scope.run.id,
        "scenario": scope.scenario.name if scope.scenario else "",
        "rule": scope.question.rule.value,
        "policy": scope.question.policy.value,
        "until": scope.pin.until,
        "seed": SEED,
    }


def report_question(dataset: str, *, annotator: str = "", judge: str = "") -> Question:
    """A report on all annotators, or on one."""
    return {"dataset": dataset, "annotator": annotator, "judge": judge, "seed": SEED}


def asked_replay(found: StoredReplay) -> Question:
    """A replay on one scale.

    Raises:
        Refused: its dataset is gone.
    """
    if found.run.dataset is None:
        raise Refused("snapshot:nothing", "the dataset of this replay is gone")
    return {
        "dataset": found.run.dataset.slug,
        "run": found.run.pk,
        "scale": found.scale.value,
        "evaluator": found.settings["evaluator_name"],
        "items": found.settings["items"],
        "seed": found.settings["seed"],
        "bootstrap": found.settings["draws"],
    }


def asked_corrected(question: LeaderboardQuestion, source: Source) -> Question:
    """The corrected figures of a judge, which is named.

    Raises:
        Refused: there is no dataset, or something asked for does not exist.
    """
    judge = judge_to_read(leaderboard_scope(question), source)
    return {**asked_board(question), "verdicts": source.value, "judge": judge}


def asked_pairs(question: LeaderboardQuestion, source: Source | None, anchor: str) -> Question:
    """Models two by two, by the verdicts that the page shows.

    Raises:
        Refused: there is no dataset, or something asked for does not exist.
    """
    page = pairs_page(question, source, anchor)
    shown = {"verdicts": page.source.value, "judge": page.judge, "anchor": anchor or None}
    return {**asked_board(question), **shown}


def asked_satisfaction(question: SatisfactionQuestion) -> Question:
    """Satisfaction by model, from the source and run selected on the page.

    Raises:
        Refused: there is no dataset, or something asked for does not exist.
    """
    found = models_answers(question)
    if found.dataset is None:
        raise Refused("snapshot:nothing", "nobody's ratings are here, and no scores")
    return {
        "dataset": found.dataset.slug,
        "study": found.study.slug if found.study else "",
        "scenario": found.scenario.name if found.scenario else "",
        "voice": found.voice.value,
        "run": found.run.id if found.run and found.voice is not Voice.PEOPLE else None,
    }


def asked_people(question: PeopleQuestion) -> Question:
    """Agreement of a judge and of people, with the run and voice that the page shows.

    Raises:
        Refused: there is no dataset, or something asked for does not exist.
    """
    scope = people_scope(question)
    if scope.dataset is None:
        raise Refused("snapshot:nothing", "nobody and no judge decided on the same comparisons")
    run = scope.judge.key if scope.judge else ""
    return {"dataset": scope.dataset.slug, "run": run, "people": question.people, "seed": SEED}


def board_scope(question: Question) -> LeaderboardScope:
    """The rows that a question about leaderboards is of.

    Raises:
        Refused: something asked for does not exist, or no longer.
    """
    asked = part_of(question["dataset"], {name: question.get(name, "") for name in _PART})
    return leaderboard_scope(
        replace(
            asked,
            judge=question["judge"],
            method=RatingMethod(question["method"]),
            style=question["style"],
            until=question.get("until"),
            run=question.get("run"),
        )
    )


def trust_question(question: Question) -> TrustQuestion:
    """What the trust page is asked.

    Raises:
        Refused: something asked for no longer exists.
    """
    named = part_of(question["dataset"], question)
    return TrustQuestion(
        dataset=named.dataset,
        annotator=named.annotator,
        run=question["run"],
        scenario=named.scenario,
        rule=VoteRule(question["rule"]),
        policy=InvalidPolicy(question["policy"]),
        until=question.get("until"),
    )


def satisfaction_question(question: Question) -> SatisfactionQuestion:
    """What the page of satisfaction by model is asked.

    Raises:
        Refused: something asked for no longer exists.
    """
    named = part_of(question["dataset"], question)
    return SatisfactionQuestion(
        dataset=named.dataset,
        scenario=named.scenario,
        run=question["run"],
        study=question["study"],
        voice=Voice(question["voice"]),
    )


def page_of(kind: SnapshotKind, question: Question) -> dict[str, Any]:
    """The parameters that ask a page for the same today; rows behind figures are found there.

    Raises:
        Refused: something asked for no longer exists.
    """
    if kind is SnapshotKind.REPLAY:
        return {"scale": question["scale"]}
    part = part_of(question["dataset"], question)
    words = {name: question.get(name) for name in _WORDS}
    if question.get("style"):
        words["style"] = "on"
    if kind in (SnapshotKind.CORRECTED, SnapshotKind.PAIRS):
        words["source"] = question["verdicts"]
    asked = {name: getattr(part, name) for name in ("dataset", *_PART)} | words
    return {name: value for name, value in asked.items() if value}
