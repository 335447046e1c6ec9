"""The demo study in the database: its data, studies to label by hand, its judges, its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from annotation.core.choices import StudyKind
from annotation.core.participants import rater_username
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPlan
from annotation.models import Dataset, Study, StudyStatus, User
from annotation.services.imports import import_records
from annotation.services.studies import create_study, set_status
from benchmark.core.metrics import Metric, MetricName
from benchmark.core.trust import ReportRow
from benchmark.queries.ranking import Board, LeaderboardQuestion, Source, leaderboard_page
from benchmark.queries.satisfaction import SatisfactionFigures
from benchmark.queries.trust import SEED, Report, report
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from judging.services.kinds import plan, start
from judging.services.run_requests import RunRequest
from sensejudge_site.demo.accounts import ANNOTATOR, LOGINS, MANAGER, PASSWORD, make_logins
from sensejudge_site.demo.annotators import PERSONAS
from sensejudge_site.demo.generate import SLUG, write

STUDIES: Final = (
    StudyPlan(
        name="Demo: which answer is better?",
        kind=StudyKind.PAIRWISE,
        dataset=SLUG,
        scenarios=(),
        annotators=(ANNOTATOR.username,),
        overlap=1,
        allow_tie=True,
        allow_strength=False,
        ask_hallucination=False,
        guidelines=(
            "Read the conversation, then both answers. Choose the one that **you** would rather "
            "have got. Mostly there is no right answer: the point is to learn your taste. But an "
            "answer that breaks off, invents facts or does not do what was asked is the worse one. "
            "Take a tie only where you really have no preference."
        ),
        gold_rate=0.05,
        repeat_rate=0.05,
        pause_gold_below=0.5,
        pause_after=6,
    ),
    StudyPlan(
        name="Demo: how satisfying is each turn?",
        kind=StudyKind.SATISFACTION,
        dataset=SLUG,
        scenarios=(),
        annotators=(ANNOTATOR.username,),
        overlap=1,
        allow_tie=False,
        allow_strength=False,
        ask_hallucination=True,
        guidelines=(
            "Rate every answer of the assistant from 1 to 5 as if the question had been yours: 4 "
            "and 5 are satisfied. At 3 and below, say why."
        ),
    ),
)
"""Both over the whole dataset, for one annotator; none of the simulated ones is in them.

The first has gold items, pairs of which one response has a plain flaw, and hidden repeats."""


def load(*, now: datetime) -> Dataset:
    """Import the study, make the sign-ins, open the studies; what is there already stays.

    Raises:
        Refused: the site serves more than its own machine; a stored demo study contradicts this
            one.
    """
    make_logins()
    manager = User.objects.get(username=MANAGER.username)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "demo.jsonl"
        write(path)
        report = import_records(path=path, dataset_slug=SLUG, now=now, actor=manager)
    if report.fault_count:
        first = report.faults[0]
        raise Refused(
            "demo:older",
            f"dataset {SLUG!r} holds another version of the demo study ({first.field}: "
            f"{first.reason}). Delete it, or use another database",
        )
    dataset = Dataset.objects.get(slug=SLUG)
    for study in STUDIES:
        if not Study.objects.filter(dataset=dataset, name=study.name).exists():
            slug = create_study(study, by=manager)
            set_status(study=slug, status=StudyStatus.OPEN, by=manager)
    return dataset


_WANTED: Final = (RunStatus.DONE, *UNFINISHED)

Watch = Callable[[str], Callable[[int], None]]
"""Told what begins; gives back what each commit tells how many answers it wrote."""


def judge_everything(dataset: Dataset, watch: Watch) -> None:
    """Distil and judge for every simulated annotator, then score what the raters rated.

    Raises:
        Refused: a run ended without success.
    """
    for persona in PERSONAS:
        annotator = User.objects.get(username=rater_username(SLUG, persona.name))
        run = _latest_or_new(RunKind.DISTIL, dataset, annotator)
        _finish(run, f"learning how {persona.name} judges", watch)
        run = _latest_or_new(RunKind.TEST, dataset, annotator)
        _finish(run, f"judging on behalf of {persona.name}", watch)
    run = _latest_or_new(RunKind.SATISFACTION, dataset, None)
    _finish(run, "scoring satisfaction turn by turn", watch)


def _latest_or_new(kind: RunKind, dataset: Dataset, annotator: User | None) -> JudgeRun:
    """The latest run of a kind, if it is done or can go on; else one that is started."""
    runs = JudgeRun.objects.filter(
        dataset=dataset, kind=kind, annotator=annotator, judge=LEXICAL, status__in=_WANTED
    )
    if run := runs.order_by("-pk").first():
        return run
    request = RunRequest(kind=kind, dataset=dataset, annotator=annotator, judge=LEXICAL)
    return start(plan(request)[0])


def _finish(run: JudgeRun, what: str, watch: Watch) -> None:
    if run.status == RunStatus.DONE:
        return
    run = run_to_end(run.pk, observer=watch(what))
    if run.status != RunStatus.DONE:
        raise Refused("run:failed", f"{what}: {run.error_code} {run.error_detail}".rstrip())


_METRICS: Final[Mapping[MetricName, str]] = MappingProxyType(
    {
        MetricName.PEARSON: "correlation (Pearson)",
        MetricName.WITHIN_USER_PEARSON: "correlation within users",
        MetricName.QWK: "weighted kappa",
        MetricName.F1_DSAT: "F1 of dissatisfaction",
        MetricName.MAE: "mean absolute error",
    }
)
_NONE: Final = "-"


def report_lines(report: Report, boards: tuple[Board, ...]) -> Iterator[str]:
    """The whole report, blank lines between its parts."""
    yield "Simulated labels; the judge is the embedded one, which is not an LLM."
    overall = [row for row in report.rows if row.scenario is None]
    yield ""
    yield from _agreement(overall)
    yield ""
    yield from _bias(overall)
    if report.satisfaction is not None:
        yield ""
        yield from _satisfaction(report.satisfaction)
    for board in boards:
        if board.source is not Source.BASE:
            yield ""
            yield from _leaderboard(board)


def login_lines() -> Iterator[str]:
    """As whom one may sign in."""
    yield f"Sign in with the password {PASSWORD} as"
    for login in LOGINS:
        yield f"  {login.username:<16} {login.role.label}"
    yield "They are for this machine only: change their passwords before you let anyone else in."


def _agreement(rows: list[ReportRow]) -> Iterator[str]:
    yield "Agreement of judge and annotator on the test split (95 % intervals over comparisons)"
    yield "  annotator       n  without  with preferences   gain                 shuffled labels"
    for row in rows:
        selected = _percent(row.selected) + _interval(row.low, row.high)
        gain = _points(row.gain) + _interval(row.gain_low, row.gain_high, sign="+")
        yield (
            f"  {row.annotator:<12} {row.n:>4}  {_percent(row.base):>7}  {selected:<18} {gain:<20} "
            f"{_percent(row.shuffled)}"
        )


def _bias(rows: list[ReportRow]) -> Iterator[str]:
    yield "Position bias (points above one half by which the first shown wins), and consistency"
    yield "  annotator    of the annotator   of the judge       judge alike in both orders"
    for row in rows:
        human = _points(row.human_position_bias)
        human += _interval(row.human_position_bias_low, row.human_position_bias_high, sign="+")
        judge = _points(row.position_bias)
        judge += _interval(row.position_bias_low, row.position_bias_high, sign="+")
        alike = _percent(row.consistency) + _interval(row.consistency_low, row.consistency_high)
        yield f"  {row.annotator:<12} {human:<18} {judge:<18} {alike}"


def _satisfaction(figures: SatisfactionFigures) -> Iterator[str]:
    yield (
        f"Satisfaction of {figures.users} users in {figures.turns} turns "
        "(95 % intervals over users)"
    )
    yield f"  {'':<26} {'calibrated to the user':<22} raw"
    for metric in figures.metrics:
        name = _METRICS.get(metric.name, metric.name)
        yield f"  {name:<26} {_metric(metric.calibrated):<22} {_metric(metric.raw)}"


def _leaderboard(board: Board) -> Iterator[str]:
    whose = (
        "the annotators' labels" if board.source is Source.HUMAN else "the judge under preferences"
    )
    yield f"Leaderboard by {whose}, {board.verdicts} verdicts (Bradley-Terry, 95 % intervals)"
    for row in board.ranking.models:
        rating = _NONE if row.rating is None else f"{row.rating:.0f}"
        interval = "" if row.low is None or row.high is None else f"[{row.low:.0f}, {row.high:.0f}]"
        rate = board.win_rates[row.model]
        yield (
            f"  {row.rank or _NONE:>2}  {row.model:<14} {rating:>5} {interval:<14} "
            f"wins {_percent(rate.value)}"
        )


def _metric(metric: Metric) -> str:
    if metric.value is None:
        return _NONE
    if metric.interval is None:
        return f"{metric.value:.2f}"
    return f"{metric.value:.2f} [{metric.interval.low:.2f}, {metric.interval.high:.2f}]"


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.0f} %"


def _points(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:+.0f}"


def _interval(low: float | None, high: float | None, *, sign: str = "-") -> str:
    """Bounds in percent after a space, with a sign always or for negative ones alone."""
    if low is None or high is None:
        return ""
    return f" [{100 * low:{sign}.0f}, {100 * high:{sign}.0f}]"


def run_demo(*, now: datetime, watch: Watch) -> Iterator[str]:
    """Loads, learns, judges; then the lines of the report.

    Raises:
        Refused: the site serves more than its own machine; the database holds a demo study of
            another version; a run ended without success.
    """
    watch("loading the demo study")
    judge_everything(load(now=now), watch)
    watch("measuring")
    page = leaderboard_page(LeaderboardQuestion(dataset=SLUG), seed=SEED)
    return report_lines(report(SLUG), page.boards)
