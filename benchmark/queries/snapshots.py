"""Snapshots: what is kept of a page, and what its figures rest on, as hashes by name."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet

from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, PairwiseLabel
from annotation.queries.participants import names_of
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.ranking import RatingMethod
from benchmark.core.snapshots import BasisPart, SnapshotKind
from benchmark.models import ReplayAnswer, Snapshot
from benchmark.queries.boards import board, leaderboard_page, part_of
from benchmark.queries.ranking import (
    DRAWS,
    LeaderboardQuestion,
    LeaderboardScope,
    Source,
    latest_judge,
    leaderboard_scope,
    runs_of,
)
from benchmark.queries.replay import StoredReplay, replay_report_of
from benchmark.queries.trust import (
    SEED,
    Reader,
    TrustQuestion,
    asked_report,
    report,
    trust_scope,
)
from judging.core.prompts import load_prompt
from judging.core.votes import VoteRule
from judging.models import (
    JudgeRun,
    Judgment,
    LlmCall,
    ResponseScore,
    RunKind,
    SatisfactionJudgment,
)
from judging.queries.asked_prompts import asked_labels
from judging.queries.prompts import owner_of, prompts_in_force

Question = Mapping[str, Any]
"""What was asked, in names, with seed, draws and settings; in JSON's types."""

_EVERYBODY: Final = Reader(only=None)
_PART: Final = ("scenario", "annotator", "language")
_PACKAGES: Final = ("numpy", "scipy", "django")
_APPS: Final = ("annotation", "judging", "benchmark")
_ROOMS: Final = ("core", "queries", "judges", "llm", "services")
"""Whose code shapes a figure."""


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
        **{name: part.get(name, "") for name in _PART},
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
    }
    return board_question(
        scope.dataset.slug,
        judge=question.judge,
        part=part,
        method=question.method,
        style=question.style,
    )


def asked_trust(question: TrustQuestion) -> Question:
    """What the trust page was asked, in names, with the run that it shows.

    Raises:
        Refused: something asked for does not exist; nobody's labels are there, or no run on them.
    """
    scope = trust_scope(question, _EVERYBODY)
    if scope.dataset is None or scope.annotator is None or scope.run is None:
        raise Refused("snapshot:nothing", "no judge has been run on anybody's labels here")
    return {
        "dataset": scope.dataset.slug,
        "annotator": scope.annotator.name,
        "run": scope.run.id,
        "scenario": scope.scenario.name if scope.scenario else "",
        "rule": scope.question.rule.value,
        "policy": scope.question.policy.value,
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


def page_of(kind: SnapshotKind, question: Question) -> dict[str, Any]:
    """The parameters that ask a page for the same today; rows behind figures are found there.

    Raises:
        Refused: something asked for no longer exists.
    """
    if kind is SnapshotKind.REPLAY:
        return {"scale": question["scale"]}
    part = part_of(question["dataset"], question)
    words = {name: question.get(name) for name in ("run", "rule", "policy", "judge", "method")}
    if question.get("style"):
        words["style"] = "on"
    asked = {name: getattr(part, name) for name in ("dataset", *_PART)} | words
    return {name: value for name, value in asked.items() if value}


def replay_figures(found: StoredReplay) -> list[dict[str, Any]]:
    """A row for the originals and each candidate, with what it gains on them, in JSON's types."""
    gains = {pair.candidate: pair.record() for pair in found.against("")}
    rows = [{**gains.get(row.candidate, {}), **row.record()} for row in found.rows]
    return list(_plain([{k: v for k, v in row.items() if k != "reference"} for row in rows]))


def figures_of(kind: SnapshotKind, question: Question) -> list[dict[str, Any]]:
    """The rows of a page, but a replay's, as its file has them, computed now, in JSON's types.

    Raises:
        Refused: something asked for does not exist, or no longer.
    """
    if kind is SnapshotKind.BOARD:
        scope, settings = _board_scope(question), {"seed": question["seed"]}
        if question["verdicts"]:
            settings |= {"draws": question["bootstrap"], "anchor": question["anchor"]}
            boards = [board(scope, Source(question["verdicts"]), **settings)]
        else:
            boards = list(leaderboard_page(scope.question, **settings).boards)
        rows: Iterable[Any] = [row for each in boards for row in each.records()]
    elif kind is SnapshotKind.TRUST:
        found = trust_scope(_trust_question(question), _EVERYBODY)
        rows = [asdict(row) for row in asked_report(found)]
    else:
        rows = [asdict(row) for row in _report(question).rows]
    if not rows:
        raise Refused("snapshot:nothing", "there are no figures here yet")
    return list(_plain(rows))


def runs_behind(
    kind: SnapshotKind, question: Question, figures: Iterable[Mapping[str, Any]]
) -> list[JudgeRun]:
    """The runs whose verdicts the figures of today count, by number.

    Raises:
        Refused: something asked for does not exist, or no longer.
    """
    if kind is SnapshotKind.BOARD:
        scope = _board_scope(question)
        shown = {Source(row["source"]) for row in figures} - {Source.HUMAN}
        found = {
            run.pk
            for source in shown
            for run in runs_of(scope, source, latest_judge(scope, source))
        }
    elif kind is SnapshotKind.TRUST:
        found = {question["run"]}
    elif kind is SnapshotKind.REPLAY:
        report = replay_report_of(question["run"])
        found = {report.settings["scoring"]} if report else set()
    else:
        found = {run.id for _annotator, run in _report(question).runs}
    rows = JudgeRun.objects.filter(pk__in=found).select_related("endpoint", "dataset", "annotator")
    return list(rows.order_by("pk"))


def _board_scope(question: Question) -> LeaderboardScope:
    asked = part_of(question["dataset"], {name: question[name] for name in _PART})
    method = RatingMethod(question["method"])
    return leaderboard_scope(
        replace(asked, judge=question["judge"], method=method, style=question["style"])
    )


def _trust_question(question: Question) -> TrustQuestion:
    named = part_of(question["dataset"], question)
    return TrustQuestion(
        dataset=named.dataset,
        annotator=named.annotator,
        run=question["run"],
        scenario=named.scenario,
        rule=VoteRule(question["rule"]),
        policy=InvalidPolicy(question["policy"]),
    )


@cache
def _code() -> str:
    """SHA-256 of the code that shapes figures."""
    top = Path(__file__).parents[2]
    files = (
        path
        for app in _APPS
        for path in (top / app).rglob("*.py")
        if path.parent.name != "tests" and set(_ROOMS) & set(path.relative_to(top).parts)
    )
    return _digest((str(path.relative_to(top)), path.read_text()) for path in sorted(files))


def _report(question: Question) -> Any:
    return report(question["dataset"], annotator=question["annotator"], judge=question["judge"])


def basis_of(
    kind: SnapshotKind, question: Question, runs: Iterable[JudgeRun]
) -> dict[str, dict[str, str]]:
    """What figures rest on now, but for verdicts read again: by part and name, in JSON's types."""
    row = Dataset.objects.get(slug=question["dataset"])
    found: dict[str, dict[str, str]] = {part.value: {} for part in BasisPart}
    if kind is SnapshotKind.REPLAY:
        answers = ReplayAnswer.objects.filter(run=question["run"]).order_by("pk")
        hashed = _hashed(answers.values_list(*_ANSWER))
        found[BasisPart.ANSWERS.value][str(question["run"])] = hashed
    else:
        _add_comparisons(found, row, kind, question)
    for run in runs:
        _add_run(found, run)
    found[BasisPart.VERSIONS.value] = {
        "sensejudge": _code(),
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
    }
    return found


def _add_comparisons(
    found: dict[str, dict[str, str]], row: Dataset, kind: SnapshotKind, question: Question
) -> None:
    """Comparisons with their responses, and labels of them where the figures count any."""
    pairs = Comparison.objects.filter(turn__session__dataset=row)
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=row)
    if question.get("scenario"):
        pairs = pairs.filter(turn__session__scenario__name=question["scenario"])
        labels = labels.filter(comparison__in=pairs)
    told = pairs.order_by("pk").values_list("pk", "turn__session__scenario__name", *_RESPONSES)
    found[BasisPart.COMPARISONS.value][row.slug] = _hashed(told)
    by_judge = kind is SnapshotKind.BOARD and question["verdicts"] not in {"", Source.HUMAN.value}
    if not by_judge:
        found[BasisPart.LABELS.value] = _labels(row, labels, only=question["annotator"])


_ANSWER: Final = (
    *("candidate", "user_id", "turn_id", "response_id", "response__text_hash"),
    *("score", "expected", "calibrated", "paper", "fallback", "stated"),
)
_SCORE: Final = ("user_id", "response_id", "session_id", "status", "score", "expected_score")
_RESPONSES: Final = tuple(
    f"response_{side}__{field}" for side in "ab" for field in ("model", "variant", "text_hash")
)


def _labels(row: Dataset, labels: QuerySet[PairwiseLabel], *, only: str) -> dict[str, str]:
    names = names_of(dataset=row)
    ids = list(labels.order_by().values_list("annotator_id", flat=True).distinct())
    return {
        name: _hashed(
            labels.filter(annotator=user)
            .order_by("comparison_id", "repeat_index", "pk")
            .values_list("comparison_id", "verdict", "shown_order", "repeat_index")
        )
        for name, user in sorted((names.get(user, str(user)), user) for user in ids)
        if only in {"", name}
    }


def _add_run(found: dict[str, dict[str, str]], run: JudgeRun) -> None:
    """Judgments, configuration, prompts in force and replies of one run."""
    number = str(run.pk)
    given = Judgment.objects.filter(run=run)
    told = given.order_by("comparison_id", "preference_id", "order").values_list(
        "comparison_id", "preference_id", "order", "status", "verdict", "log_odds"
    )
    scored = SatisfactionJudgment.objects.filter(run=run)
    rated = run.kind == RunKind.SATISFACTION
    found[BasisPart.JUDGMENTS.value][number] = _hashed(
        scored.order_by("pk").values_list(*_SCORE) if rated else told
    )
    found[BasisPart.SETTINGS.value][number] = _digest([json.dumps(run.config, sort_keys=True)])
    graded = ResponseScore.objects.filter(run=run)
    heard = Q()
    for rows in (given, graded, scored):
        heard |= Q(pk__in=rows.values("call"))
    calls = LlmCall.objects.filter(heard).order_by("key")
    if calls.exists():
        found[BasisPart.REPLIES.value][number] = _hashed(calls.values_list("key", "reply"))
    labels = asked_labels(run)
    if labels and run.dataset is not None:
        own = owner_of(run.dataset, annotator=run.annotator, rated=rated)
        edited = prompts_in_force(own)
        for label in labels:
            name, _version, language = label.split(".")
            text = edited.get((name, language)) or load_prompt(name, language=language)
            found[BasisPart.PROMPTS.value][f"{name}.{language} (run {number})"] = text.digest


def _hashed(rows: QuerySet[Any, Any]) -> str:
    """How many rows there are, with the SHA-256 over them: `12:9f86…`."""
    n = 0

    def counted() -> Iterable[object]:
        nonlocal n
        for row in rows.iterator():
            n += 1
            yield row

    digest = _digest(counted())
    return f"{n}:{digest}"


def _digest(values: Iterable[object]) -> str:
    found = hashlib.sha256()
    for value in values:
        found.update(f"{value!r}\n".encode())
    return found.hexdigest()


def _plain(value: Any) -> Any:
    """As it is read back from the database."""
    return json.loads(json.dumps(value, cls=DjangoJSONEncoder))


def snapshots_of(slug: str) -> QuerySet[Snapshot]:
    """Those of a dataset, or with "" all, the newest first."""
    rows = Snapshot.objects.select_related("dataset", "created_by").order_by("-pk")
    return rows.filter(dataset__slug=slug) if slug else rows


def snapshot_numbered(number: int) -> Snapshot:
    """One by its number.

    Raises:
        Refused: there is none.
    """
    found = snapshots_of("").filter(pk=number).first()
    if found is None:
        raise Refused("snapshot:unknown", f"there is no snapshot {number}")
    return found
