"""Snapshots: what is kept of a page, and what its figures rest on, as hashes by name."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet

from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    SessionQuestionnaire,
)
from annotation.queries.participants import names_of
from benchmark.core.snapshots import METHOD, BasisPart, SnapshotKind
from benchmark.models import ReplayAnswer, Snapshot
from benchmark.queries.annotators import PeopleQuestion, people_page
from benchmark.queries.boards import board, leaderboard_page, pairs_page
from benchmark.queries.corrected import corrected_board
from benchmark.queries.model_satisfaction import models_board
from benchmark.queries.model_tables import MODEL_TABLES
from benchmark.queries.ranking import Source, judge_to_read, runs_of
from benchmark.queries.replay import StoredReplay, replay_report_of
from benchmark.queries.snapshot_questions import (
    EVERYBODY,
    Question,
    board_scope,
    satisfaction_question,
    trust_question,
)
from benchmark.queries.trust import asked_report, report, trust_scope
from judging.core.prompts import load_prompt
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

_PACKAGES: Final = ("numpy", "scipy", "django")
_APPS: Final = ("annotation", "judging", "benchmark")
_ROOMS: Final = ("core", "queries", "judges", "llm", "services")
"""Whose code shapes a figure."""


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
    rows = list(_FIGURES[kind](question))
    if not rows:
        raise Refused("snapshot:nothing", "there are no figures here yet")
    return list(_plain(rows))


def _of_boards(question: Question) -> Iterable[Row]:
    scope, settings = board_scope(question), {"seed": question["seed"]}
    if question["verdicts"]:
        settings |= {"draws": question["bootstrap"], "anchor": question["anchor"]}
        boards = [board(scope, Source(question["verdicts"]), **settings)]
    else:
        boards = list(leaderboard_page(scope.question, **settings).boards)
    return (row for each in boards for row in each.records())


def _of_corrected(question: Question) -> Iterable[Row]:
    """A row a model, and one of the judge's agreement with people."""
    asked, source = board_scope(question).question, Source(question["verdicts"])
    found = corrected_board(asked, source, seed=question["seed"], draws=question["bootstrap"])
    if found is None:
        return ()
    return (*found.records(), {"figure": "agreement", **found.agreement.cells()})


def _of_pairs(question: Question) -> Iterable[Row]:
    asked, source = board_scope(question).question, Source(question["verdicts"])
    rows = pairs_page(asked, source, question["anchor"] or "").records()
    return ({"pair": f"{row['left']} – {row['right']}", **row} for row in rows)


def _of_satisfaction(question: Question) -> Iterable[Row]:
    """The rows of all tables of the page, one after another."""
    found = models_board(satisfaction_question(question))
    return (row for table in MODEL_TABLES.values() for row in table(found))


def _of_people(question: Question) -> Iterable[Row]:
    """Rows by turn, by scenario and by two models, in MT-Bench's setups: S1 counts ties."""
    asked = PeopleQuestion(question["dataset"], question["run"], question["people"])
    return (
        {"of": _PEOPLE[by].format_map(row), "setup": "S1" if row["ties"] else "S2", **row}
        for by, rows in people_page(asked).tables.records().items()
        for row in rows
    )


_PEOPLE: Final = {
    "turn": "turn {turn}",
    "scenario": "scenario {scenario}",
    "gap": "{first} – {second}",
}


def _of_trust(question: Question) -> Iterable[Row]:
    return map(asdict, asked_report(trust_scope(trust_question(question), EVERYBODY)))


def _of_report(question: Question) -> Iterable[Row]:
    return map(asdict, _report(question).rows)


_FIGURES: Final[dict[SnapshotKind, Callable[[Question], Iterable[Row]]]] = {
    SnapshotKind.BOARD: _of_boards,
    SnapshotKind.CORRECTED: _of_corrected,
    SnapshotKind.PAIRS: _of_pairs,
    SnapshotKind.SATISFACTION: _of_satisfaction,
    SnapshotKind.PEOPLE: _of_people,
    SnapshotKind.TRUST: _of_trust,
    SnapshotKind.REPORT: _of_report,
}


def runs_behind(
    kind: SnapshotKind, question: Question, figures: Iterable[Mapping[str, Any]]
) -> list[JudgeRun]:
    """The runs whose verdicts the figures of today count, by number.

    Raises:
        Refused: something asked for does not exist, or no longer.
    """
    if kind in _OF_VERDICTS:
        scope = board_scope(question)
        shown = {question["verdicts"]} - {""} or {row["source"] for row in figures}
        found = {
            run.pk
            for source in map(Source, shown - {Source.HUMAN.value})
            for run in runs_of(scope, source, judge_to_read(scope, source))
        }
    elif kind is SnapshotKind.REPLAY:
        report = replay_report_of(question["run"])
        found = {report.settings["scoring"]} if report else set()
    elif kind is SnapshotKind.REPORT:
        found = {run.id for _annotator, run in _report(question).runs}
    else:  # with the letter of a voice, and "" or None where only people are heard
        found = {int(number) for number in re.findall(r"\d+", str(question["run"]))}
    rows = JudgeRun.objects.filter(pk__in=found).select_related("endpoint", "dataset", "annotator")
    return list(rows.order_by("pk"))


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
    if kind is SnapshotKind.SATISFACTION:
        _add_ratings(found, row)
    elif kind is SnapshotKind.REPLAY:
        answers = ReplayAnswer.objects.filter(run=question["run"]).order_by("pk")
        hashed = _hashed(answers.values_list(*_ANSWER))
        found[BasisPart.ANSWERS.value][str(question["run"])] = hashed
        # Snapshots that are there have no ratings of replays: a part of their own.
        found[BasisPart.RATED.value][row.slug] = _hashed(_ratings(row))
    else:
        _add_comparisons(found, row, kind, question)
    for run in runs:
        _add_run(found, run)
    found[BasisPart.VERSIONS.value] = {
        "sensejudge": _code(),
        "method": str(METHOD),
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
    counts_people = kind not in (SnapshotKind.BOARD, SnapshotKind.PAIRS)
    if counts_people or question["verdicts"] in {"", Source.HUMAN.value}:
        found[BasisPart.LABELS.value] = _labels(row, labels, only=question.get("annotator", ""))


def _add_ratings(found: dict[str, dict[str, str]], row: Dataset) -> None:
    """Responses with their models, ratings and answered questionnaires of a dataset."""
    responses = Response.objects.filter(turn__session__dataset=row).order_by("pk")
    asked = SessionQuestionnaire.objects.filter(session__dataset=row).order_by("pk")
    for part, rows in (
        (BasisPart.RESPONSES, responses.values_list(*_RESPONSE)),
        (BasisPart.RATINGS, _ratings(row)),
        (BasisPart.QUESTIONNAIRES, asked.values_list("annotator_id", "session_id", "answers")),
    ):
        found[part.value][row.slug] = _hashed(rows)


def _ratings(row: Dataset) -> QuerySet[Any, Any]:
    rated = Q(response__turn__session__dataset=row) | Q(session__dataset=row)
    return SatisfactionLabel.objects.filter(rated).order_by("pk").values_list(*_RATING)


_ANSWER: Final = (
    *("candidate", "user_id", "turn_id", "response_id", "response__text_hash"),
    *("score", "expected", "calibrated", "paper", "fallback", "stated"),
)
_SCORE: Final = ("user_id", "response_id", "session_id", "status", "score", "expected_score")
"""As hashed in snapshots that are there: a further column is a part of its own (SCORES)."""
_RESPONSE: Final = ("pk", "turn__session__scenario__name", "model", "original", "text_hash")
_RATING: Final = (
    *("annotator_id", "response_id", "session_id", "study_id", "repeat_index"),
    *("score", "reason", "hallucination"),
)
_OF_VERDICTS: Final = (SnapshotKind.BOARD, SnapshotKind.CORRECTED, SnapshotKind.PAIRS)
"""What is asked as of leaderboards (`board_question`)."""
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
    if rated:
        more = scored.order_by("pk").values_list("pk", "calibrated", "reason")
        found[BasisPart.SCORES.value][number] = _hashed(more)
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
