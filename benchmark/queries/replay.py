"""Replays: the turns that could be answered anew, and finished replays as their pages show them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery

from annotation.core.choices import LabelledEnum
from annotation.core.intervals import Interval, ends
from annotation.core.refusals import gettext_noop
from annotation.core.tables import Row
from annotation.models import Dataset, Response
from annotation.queries.datasets import of_no_deleted
from benchmark.core.replay import MACROS, ReplayScale
from benchmark.core.replay_items import ReplayTurn
from benchmark.models import ReplayAnswer, VerificationReport
from judging.core.rules import Level
from judging.core.targets import RunTarget, Targets
from judging.models import GeneratedResponse, JudgeRun, RunStatus
from judging.queries.runs import UNFINISHED
from judging.queries.satisfaction.blocks import gold_ratings
from judging.queries.satisfaction.targets import TurnScope, planned_turns

RUN_KIND: Final = "REPLAY"
"""Of the runs that make them."""
KIND: Final = "replay"
"""Of the reports that hold one."""
REPLAYS_A_PAGE: Final = 20
ANSWERS_A_PAGE: Final = 50


class Replayable(NamedTuple):
    """A turn with what holds its place: who answers for it, and its original response."""

    turn: ReplayTurn
    turn_id: int
    response_id: int


def replayable_turns(dataset_id: int) -> list[Replayable]:
    """Every turn on which a user asked and got an original response, in each user's stead.

    Users are those who held the session or rated something in it. Eight queries.
    """
    gold = gold_ratings(dataset_id=dataset_id)
    fields = (
        "turn__session__key",
        "turn__session__scenario__name",
        "turn__position",
        "turn__user_message",
        "turn_id",
    )
    originals = Response.objects.filter(
        turn__session__dataset=dataset_id, original=True, text__isnull=False
    )
    places = {pk: row for pk, *row in originals.values_list("pk", *fields)}
    scope = TurnScope(
        dataset=dataset_id,
        history=dataset_id,
        user=None,
        level=Level.TURN,
        targets=Targets(kind=RunTarget.ALL),
        everything=False,
    )
    found = []
    for each in planned_turns(scope):
        if each.target_id not in places:
            continue
        session, scenario, position, request, turn_id = places[each.target_id]
        if not (request or "").strip():
            continue
        score, reason = gold.get((each.user_id, each.target_id), (None, None))
        turn = ReplayTurn(each.user_id, scenario, session, position, request, score, reason)
        found.append(Replayable(turn, turn_id, each.target_id))
    return found


def replayable_datasets() -> QuerySet[Dataset]:
    """The datasets with an original response in a conversation of a known user, by name."""
    originals = Response.objects.filter(
        original=True,
        text__isnull=False,
        turn__session__dataset=OuterRef("pk"),
        turn__session__original_user__isnull=False,
    )
    return Dataset.objects.filter(Exists(originals)).order_by("name")


def stored_candidates(dataset_id: int) -> list[tuple[str, str]]:
    """Models, with the variant, whose responses could stand where the original one does."""
    rows = _other_responses().filter(turn__session__dataset=dataset_id).order_by("model", "variant")
    return list(rows.values_list("model", "variant").distinct())


def _other_responses() -> QuerySet[Response]:
    """Responses beside the original one that go on from the same conversation as it does."""
    return Response.objects.filter(original=False, text__isnull=False, continues__isnull=True)


def stored_answers(turns: Sequence[int], *, model: str, variant: str) -> dict[int, int]:
    """By turn the first response of a model. A query for each thousand turns."""
    rows = _other_responses().filter(model=model, variant=variant)
    return _firsts(rows.order_by("position", "pk"), "turn_id", "pk", turns)


def generated_answers(turns: Sequence[int], *, run_id: int) -> dict[int, int]:
    """By turn the response that a run generated. A query for each thousand turns."""
    rows = GeneratedResponse.objects.filter(run=run_id, response__isnull=False)
    return _firsts(rows.order_by("sample"), "turn_id", "response_id", turns)


_CHUNK: Final = 1000


def _firsts(rows: QuerySet[Any], key: str, value: str, turns: Sequence[int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for start in range(0, len(turns), _CHUNK):
        some = rows.filter(turn__in=turns[start : start + _CHUNK])
        for turn, response in some.values_list(key, value):
            found.setdefault(turn, response)
    return found


class ReplayFigure(NamedTuple):
    """A mean score or a share."""

    value: float
    interval: Interval | None


class ReplayRow(NamedTuple):
    """One candidate's figures on one scale; `role` is control, stated or candidate.

    `means` are by MACROS. `missing` items have no score; `fallbacks` have only the evaluator's own.
    `model` and `context` are what a candidate is; "" for those whose responses were there.
    """

    role: str
    candidate: str
    model: str
    context: str
    items: int
    users: int
    missing: int
    fallbacks: int
    means: Mapping[str, ReplayFigure]
    satisfied: ReplayFigure
    counts: tuple[int, ...]
    scenarios: Mapping[str, float]

    @property
    def shares(self) -> tuple[float, ...]:
        """Of the scores 1-5."""
        return tuple(count / self.items for count in self.counts)

    @property
    def by_scenario(self) -> list[tuple[str, float]]:
        """The mean over the turns of each scenario, by name."""
        return sorted(self.scenarios.items())

    @property
    def dissatisfied(self) -> float:
        """Share of scores of 3 and below."""
        return 1 - self.satisfied.value

    @property
    def is_control(self) -> bool:
        """Whether these are the original responses."""
        return self.role != "candidate"

    def record(self) -> Row:
        """As files and scripts have it."""
        plain = ("role", "candidate", "model", "context", "items", "users", "missing", "fallbacks")
        record: dict[str, Any] = {name: getattr(self, name) for name in plain}
        for name, figure in self.means.items():
            record |= {name: figure.value, **ends(figure.interval, f"{name}_")}
        record |= {"sat": self.satisfied.value, **ends(self.satisfied.interval, "sat_")}
        record["dsat"] = self.dissatisfied
        return record | {f"score_{at}": count for at, count in enumerate(self.counts, start=1)}


class ReplayOutcomes(NamedTuple):
    """Wins, ties and losses over items or groups, and the mean difference."""

    wins: int
    ties: int
    losses: int
    delta: float

    @property
    def n(self) -> int:
        """How many were compared."""
        return self.wins + self.ties + self.losses

    @property
    def shares(self) -> tuple[float, float, float]:
        """Of wins, ties and losses."""
        return self.wins / self.n, self.ties / self.n, self.losses / self.n


class ReplayPair(NamedTuple):
    """A candidate against a reference, "" for the originals; `outcomes` are by MACROS.

    `gain` is the mean over users of their mean differences; `p` is Holm's among the candidates
    beside the same reference, `raw_p` before.
    """

    candidate: str
    reference: str
    outcomes: Mapping[str, ReplayOutcomes]
    gain: ReplayFigure
    raw_p: float | None
    p: float | None

    def record(self) -> Row:
        """As files and scripts have it."""
        record: dict[str, Any] = {"candidate": self.candidate, "reference": self.reference}
        for name, one in self.outcomes.items():
            record |= {f"{name}_{word}": value for word, value in one._asdict().items()}
        gain = {"gain": self.gain.value, **ends(self.gain.interval, "gain_")}
        return record | gain | {"p": self.raw_p, "p_holm": self.p}


class StoredReplay(NamedTuple):
    """A finished replay on one scale, with what it was made of (`settings`)."""

    run: JudgeRun
    scale: ReplayScale
    settings: Mapping[str, Any]
    rows: tuple[ReplayRow, ...]
    pairs: tuple[ReplayPair, ...]
    made_at: datetime

    def record(self) -> Row:
        """As scripts have it."""
        same = ("items", "users", "seed", "draws", "left_out")
        return {
            "run": self.run.pk,
            "dataset": self.run.dataset and self.run.dataset.slug,
            "scores": self.scale.lower(),
            "evaluator": self.settings["evaluator_name"],
            "frozen": self.settings["evaluator"],
            "turns": self.settings["replayed"],
            "scoring_run": self.settings["scoring"],
            **{name: self.settings[name] for name in same},
            "candidates": [row.record() for row in self.rows],
            "pairs": [pair.record() for pair in self.pairs],
        }

    @property
    def candidates(self) -> tuple[str, ...]:
        """Their names, in the order asked for."""
        return tuple(row.candidate for row in self.rows if not row.is_control)

    @property
    def scenarios(self) -> list[str]:
        """Those in which everybody answered something; otherwise there is no table of them."""
        names = {tuple(sorted(row.scenarios)) for row in self.rows}
        return list(names.pop()) if len(names) == 1 else []

    @property
    def is_uneven(self) -> bool:
        """Whether somebody answered fewer turns than others."""
        return any(row.missing for row in self.rows)

    def against(self, reference: str) -> tuple[ReplayPair, ...]:
        """Every candidate against a reference."""
        return tuple(pair for pair in self.pairs if pair.reference == reference)

    @property
    def by_context(self) -> tuple[tuple[ReplayRow, ...], ...]:
        """Models that answered in several contexts, each with its rows (Table 9)."""
        models: dict[str, list[ReplayRow]] = {}
        for row in self.rows:
            if row.context:
                models.setdefault(row.model, []).append(row)
        return tuple(tuple(own) for own in models.values() if len(own) > 1)


def replay_report_of(run_id: int) -> VerificationReport | None:
    """What a run left as its report; None where it has not come so far. One query."""
    reports = VerificationReport.objects.filter(kind=KIND, run=run_id)
    return reports.select_related("run__dataset").first()


def stored_replay(run_id: int, *, scale: ReplayScale) -> StoredReplay | None:
    """What a run found; None where it has not come so far. One query."""
    report = replay_report_of(run_id)
    return None if report is None else replay_of_rows(report, report.rows, scale=scale)


def replay_of_rows(
    report: VerificationReport, rows: Iterable[Mapping[str, Any]], *, scale: ReplayScale
) -> StoredReplay | None:
    """The rows of a report on one scale, or the same computed again; None without its run."""
    if report.run is None:
        return None
    own = [row for row in rows if row["scale"] == scale]
    return StoredReplay(
        run=report.run,
        scale=scale,
        settings=report.settings,
        rows=tuple(_row(row) for row in own if row["table"] == "scores"),
        pairs=tuple(_pair(row) for row in own if row["table"] == "pairs"),
        made_at=report.created_at,
    )


def _figure(stored: Mapping[str, Any]) -> ReplayFigure:
    low, high = stored["low"], stored["high"]
    return ReplayFigure(stored["value"], None if low is None else Interval(low, high))


def _row(stored: Mapping[str, Any]) -> ReplayRow:
    plain = ("role", "candidate", "model", "context", "items", "users", "missing", "fallbacks")
    return ReplayRow(
        **{name: stored[name] for name in plain},
        means={name: _figure(stored["means"][name]) for name in MACROS},
        satisfied=_figure(stored["satisfied"]),
        counts=tuple(stored["counts"]),
        scenarios=stored["scenarios"],
    )


def _pair(stored: Mapping[str, Any]) -> ReplayPair:
    return ReplayPair(
        candidate=stored["candidate"],
        reference=stored["reference"],
        outcomes={name: ReplayOutcomes(*stored["outcomes"][name]) for name in MACROS},
        gain=_figure(stored["gain"]),
        raw_p=stored["raw_p"],
        p=stored["p"],
    )


class ReplaysPage(NamedTuple):
    """A page of finished replays, the newest first, and the runs that are not done.

    `ended` failed or were cancelled.
    """

    reports: Sequence[VerificationReport]
    page: Page[VerificationReport]
    under_way: Sequence[JudgeRun]
    ended: Sequence[JudgeRun]


def replays_page(*, page: str) -> ReplaysPage:
    """Every replay. Three queries."""
    reports = VerificationReport.objects.filter(kind=KIND, run__isnull=False).defer("rows")
    reports = of_no_deleted(reports.select_related("dataset", "run"), "dataset").order_by("-pk")
    shown = Paginator(reports, REPLAYS_A_PAGE).get_page(page)
    others = of_no_deleted(JudgeRun.objects.filter(kind=RUN_KIND), "dataset")
    others = others.exclude(status=RunStatus.DONE)
    runs = list(others.select_related("dataset").order_by("-pk"))
    return ReplaysPage(
        reports=list(shown.object_list),
        page=shown,
        under_way=[run for run in runs if run.status in UNFINISHED],
        ended=[run for run in runs if run.status not in UNFINISHED],
    )


class ReplayOutcome(LabelledEnum):
    """How a candidate's answer did beside the reference's."""

    WIN = "WIN", gettext_noop("wins")
    TIE = "TIE", gettext_noop("ties")
    LOSS = "LOSS", gettext_noop("losses")


class AnswerFilter(NamedTuple):
    """Which answers of a replay: a candidate's, and how they did beside the reference's."""

    candidate: str = ""
    reference: str = ""
    scale: ReplayScale = ReplayScale.CALIBRATED
    outcome: ReplayOutcome | None = None
    score: int | None = None
    user: int | None = None
    scenario: str = ""


_COLUMNS: Final = {
    ReplayScale.CALIBRATED: "calibrated",
    ReplayScale.RAW: "score",
    ReplayScale.PAPER: "paper",
}


def replay_answers(run_id: int, wanted: AnswerFilter) -> QuerySet[ReplayAnswer]:
    """The rows behind a figure, annotated with their own and the reference's score on its scale."""
    column = _COLUMNS[wanted.scale]
    other = ReplayAnswer.objects.filter(
        run=OuterRef("run"),
        candidate=wanted.reference,
        user=OuterRef("user"),
        turn=OuterRef("turn"),
    )
    rows = (
        ReplayAnswer.objects.filter(run=run_id, candidate=wanted.candidate)
        .annotate(own=F(column), other=Subquery(other.values(column)[:1]))
        .select_related("user", "turn__session__scenario", "judgment")
        .order_by("pk")
    )
    conditions: dict[ReplayOutcome, dict[str, object]] = {
        ReplayOutcome.WIN: {"own__gt": F("other")},
        ReplayOutcome.TIE: {"own": F("other")},
        ReplayOutcome.LOSS: {"own__lt": F("other")},
    }
    if wanted.outcome is not None:
        rows = rows.filter(**conditions[wanted.outcome])
    if wanted.score is not None:
        rows = rows.filter(own=wanted.score)
    if wanted.user is not None:
        rows = rows.filter(user=wanted.user)
    if wanted.scenario:
        rows = rows.filter(turn__session__scenario__name=wanted.scenario)
    return rows


def answers_page(run_id: int, wanted: AnswerFilter, *, page: str) -> Page[ReplayAnswer]:
    """A page of the rows behind a figure. Two queries."""
    return Paginator(replay_answers(run_id, wanted), ANSWERS_A_PAGE).get_page(page)


def answer_records(run_id: int) -> Iterator[Row]:
    """Every answer of a replay, as files have it. One query."""
    fields = {
        "candidate": "candidate",
        "user": "user__username",
        "scenario": "turn__session__scenario__name",
        "session": "turn__session__key",
        "turn": "turn__position",
        "response": "response",
        "score": "score",
        "expected": "expected",
        "calibrated": "calibrated",
        "paper": "paper",
        "fallback": "fallback",
        "stated": "stated",
    }
    rows = ReplayAnswer.objects.filter(run=run_id).order_by("pk").values_list(*fields.values())
    for row in rows.iterator():
        yield dict(zip(fields, row, strict=True))
