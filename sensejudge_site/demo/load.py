"""The demo study in the database: its data, studies to label by hand, its judges, its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final, NamedTuple

from django.db.models import QuerySet

from annotation.core.choices import StudyKind, Verdict
from annotation.core.dataset_names import BUILT_IN_PAIRS
from annotation.core.participants import rater_username
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPlan
from annotation.models import Comparison, Dataset, Study, StudyStatus, User
from annotation.services.imports import import_records
from annotation.services.studies import create_study, set_status
from benchmark.core.accuracy import Accuracy, Judged, accuracy
from benchmark.core.metrics import Metric, MetricName
from benchmark.core.personal import PersonalRow
from benchmark.core.report import ReportRow
from benchmark.core.trust import BASE, PERSONAL, Condition
from benchmark.queries.boards import Board, leaderboard_page
from benchmark.queries.evidence import voice_decisions
from benchmark.queries.ranking import LeaderboardQuestion, Source
from benchmark.queries.satisfaction import SatisfactionFigures
from benchmark.queries.trust import SEED, Report, report
from judging.core.targets import RunTarget, Targets
from judging.core.votes import score
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from judging.services.kinds import plan, start
from judging.services.run_requests import RunRequest
from sensejudge_site.demo import SLUG
from sensejudge_site.demo.accounts import ANNOTATOR, LOGINS, MANAGER, PASSWORD, make_logins
from sensejudge_site.demo.annotators import PERSONAS, Persona, noise_free_choice
from sensejudge_site.demo.generate import NEWCOMER, write, write_built_in
from sensejudge_site.management.parsing import few_users_told

STUDIES: Final = (
    StudyPlan(
        name="Demo: which answer is better?",
        kind=StudyKind.PAIRWISE,
        dataset=SLUG,
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


def built_in_pairs(*, now: datetime) -> Dataset:
    """The dataset of the built-in pairs, imported where it is not there yet."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.jsonl"
        write_built_in(path)
        import_records(path=path, dataset_slug=BUILT_IN_PAIRS, now=now)
    return Dataset.objects.get(slug=BUILT_IN_PAIRS)


_WANTED: Final = (RunStatus.DONE, *UNFINISHED)

Watch = Callable[[str], Callable[[int], None]]
"""Told what begins; gives back what each commit tells how many answers it wrote."""


def judge_everything(dataset: Dataset, watch: Watch) -> None:
    """Distil and judge for every simulated annotator, then score what the raters rated.

    Others' judges are asked beside each annotator's, so all learn before any judges. At the end
    each judges what nobody compared.

    Raises:
        Refused: a run ended without success.
    """
    for kind, targets, what in (
        (RunKind.DISTIL, Targets(), "learning how {} judges"),
        (RunKind.TEST, Targets(), "judging on behalf of {}"),
        (RunKind.TEST, _UNLABELLED, f"judging {NEWCOMER} on behalf of {{}}"),
    ):
        for persona in PERSONAS:
            run = _latest_or_new(kind, dataset, _user_of(persona), targets)
            _finish(run, what.format(persona.name), watch)
    run = _latest_or_new(RunKind.SATISFACTION, dataset, None, Targets())
    _finish(run, "scoring satisfaction turn by turn", watch)


_UNLABELLED: Final = Targets(kind=RunTarget.UNLABELLED)


def _user_of(persona: Persona) -> User:
    return User.objects.get(username=rater_username(SLUG, persona.name))


def _runs_over(
    kind: RunKind, dataset: Dataset, annotator: User | None, targets: Targets
) -> QuerySet[JudgeRun]:
    """The runs of a kind that are done or can go on, newest first."""
    over = "config__targets"
    is_usual = targets == Targets()
    return JudgeRun.objects.filter(
        dataset=dataset,
        kind=kind,
        annotator=annotator,
        judge=LEXICAL,
        status__in=_WANTED,
        **({f"{over}__isnull": True} if is_usual else {f"{over}__kind": targets.kind.value}),
    ).order_by("-pk")


def _latest_or_new(
    kind: RunKind, dataset: Dataset, annotator: User | None, targets: Targets
) -> JudgeRun:
    """The latest run of a kind, if it is done or can go on; else one that is started."""
    if run := _runs_over(kind, dataset, annotator, targets).first():
        return run
    request = RunRequest(
        kind=kind, dataset=dataset, annotator=annotator, judge=LEXICAL, targets=targets
    )
    return start(plan(request)[0])


def _finish(run: JudgeRun, what: str, watch: Watch) -> None:
    if run.status == RunStatus.DONE:
        return
    run = run_to_end(run.pk, observer=watch(what))
    if run.status != RunStatus.DONE:
        raise Refused("run:failed", f"{what}: {run.error_code} {run.error_detail}".rstrip())


class _Arrival(NamedTuple):
    """How a persona's judge, and the base judge, decide on what nobody compared.

    Both against the persona's choice without noise, ties left out; `wins` and `chosen` are the
    shares of verdicts for the newcomer, of the judge and of that choice.
    """

    name: str
    base: Accuracy
    judge: Accuracy
    wins: float
    chosen: float


def _arrivals(dataset: Dataset) -> Iterator[_Arrival]:
    """What each persona's judge made of the newcomer, by the simulation alone.

    No label holds a persona's choice without noise: it is in no agreement, and nothing learns it.
    """
    rows = Comparison.objects.filter(turn__session__dataset=dataset).select_related(
        "turn", "response_a", "response_b"
    )
    texts = {row.pk: row for row in rows}
    for persona in PERSONAS:
        runs = _runs_over(RunKind.TEST, dataset, _user_of(persona), _UNLABELLED)
        run = runs.values_list("pk", flat=True)[0]
        judged = _judged(run, PERSONAL, persona, texts)
        # The base judge is also asked about sessions that the persona's sets were learned from.
        own = {each.key: texts[each.key] for each in judged}
        base = _judged(run, BASE, persona, own)
        yield _Arrival(
            persona.name,
            accuracy(base),
            accuracy(judged),
            *_wins(judged, texts),
        )


def _judged(
    run: int, voice: Condition, persona: Persona, texts: Mapping[int, Comparison]
) -> list[Judged]:
    (found,) = voice_decisions([run], voice)
    return [
        Judged(key, _choice(persona, texts[key]), told, session=texts[key].turn.session_id)
        for key, told in found.decided.items()
        if key in texts
    ]


def _choice(persona: Persona, row: Comparison) -> Verdict:
    return noise_free_choice(persona, row.response_a.text or "", row.response_b.text or "")


def _wins(judged: Sequence[Judged], rows: Mapping[int, Comparison]) -> tuple[float, float]:
    """The newcomer's share of a judge's verdicts, and of the choices they are held against."""
    own = {
        row.key: Verdict.A if rows[row.key].response_a.model == NEWCOMER else Verdict.B
        for row in judged
    }
    by_judge = [
        score(winner, truth=own[row.key]) for row in judged for winner in row.decisions.values()
    ]
    chosen = [score(row.human, truth=own[row.key]) for row in judged]
    return _mean(by_judge), _mean(chosen)


def _mean(points: Sequence[float | None]) -> float:
    known = [each for each in points if each is not None]
    return sum(known) / max(len(known), 1)


_METRICS: Final[Mapping[MetricName, str]] = MappingProxyType(
    {
        MetricName.PEARSON: "correlation (Pearson)",
        MetricName.WITHIN_USER_PEARSON: "correlation within users",
        MetricName.WITHIN_BLOCK_PEARSON: "correlation within users and scenarios",
        MetricName.QWK: "weighted kappa",
        MetricName.F1_DSAT: "F1 of dissatisfaction",
        MetricName.MAE: "mean absolute error",
    }
)
_NONE: Final = "-"
_LEAST_P: Final = 0.001


def report_lines(
    report: Report, boards: tuple[Board, ...], arrivals: Sequence[_Arrival]
) -> Iterator[str]:
    """The whole report, blank lines between its parts."""
    yield "Simulated labels; the judge is the embedded one, which is not an LLM."
    overall = [row for row in report.rows if row.scenario is None]
    yield ""
    yield "Can the judge stand in for them?"
    yield from (
        f"  {annotator:<12} {answer.sentence(share=_percent)}"
        for annotator, answer in report.answers
    )
    yield ""
    yield from _agreement(overall)
    yield ""
    yield from _personal(report.personal)
    yield ""
    yield from _bias(overall)
    if report.satisfaction is not None:
        yield ""
        yield from _satisfaction(report.satisfaction)
    for board in boards:
        if board.source is not Source.BASE:
            yield ""
            yield from _leaderboard(board)
    yield ""
    yield from _newcomer(arrivals)


def login_lines() -> Iterator[str]:
    """As whom one may sign in."""
    yield f"Sign in with the password {PASSWORD} as"
    for login in LOGINS:
        yield f"  {login.username:<16} {login.role.label}"
    yield "They are for this machine only: change their passwords before you let anyone else in."


def _agreement(rows: list[ReportRow]) -> Iterator[str]:
    yield "Agreement of judge and annotator on the test split (95 % intervals over sessions)"
    yield "A weighted vote (stack) or a selected set stands in where it is clearly better on dev"
    yield "pairs, else the base judge; the gain is over the judge without preferences"
    yield "  annotator       n  without  stands in               gain            selected  shuffled"
    for row in rows:
        own = f"{_percent(row.own)}{_interval(row.own_low, row.own_high)} {row.stands_in}"
        gain = _points(row.own_gain) + _interval(row.own_gain_low, row.own_gain_high, sign="+")
        yield (
            f"  {row.annotator:<12} {row.n:>4}  {_percent(row.base):>7}  {own:<23} {gain:<15} "
            f"{_percent(row.selected):<9} {_percent(row.shuffled)}"
        )


def _personal(rows: Sequence[PersonalRow]) -> Iterator[str]:
    yield "Is the judge personal? Gains of agreement, p adjusted by Holm for the annotators"
    yield "  annotator    over the base judge   over the others' judges      people agree"
    for row in rows:
        base = _points(row.gain_over_base) + f" (p {_chance(row.gain_over_base_p_holm)})"
        others = _points(row.gain_over_others)
        others += _interval(row.gain_over_others_low, row.gain_over_others_high, sign="+")
        others += f" (p {_chance(row.gain_over_others_p_holm)})"
        yield (
            f"  {row.annotator:<12} {base:<21} {others:<28} {_percent(row.human_agreement):<13} "
            f"{row.claim.label}"
        )


def _newcomer(rows: Sequence[_Arrival]) -> Iterator[str]:
    yield f"{NEWCOMER} arrived last, and nobody compared it: what the annotators' judges say"
    yield "against the choice that each annotator's rule makes without noise (95 % intervals over"
    yield "sessions; ties are left out, and conversations that the judge was learned from)"
    yield "  annotator       n  without           with preferences   wins: by judge, by rule"
    for row in rows:
        base, judge = (_percent(each.value) + _spread(each) for each in (row.base, row.judge))
        yield (
            f"  {row.name:<12} {row.judge.comparisons:>4}  {base:<17} {judge:<18} "
            f"{_percent(row.wins)}, {_percent(row.chosen)}"
        )


def _spread(found: Accuracy) -> str:
    interval = found.interval
    return "" if interval is None else _interval(interval.low, interval.high)


def _chance(p: float | None) -> str:
    if p is None:
        return _NONE
    return f"{p:.3f}" if p >= _LEAST_P else f"<{_LEAST_P}"


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
    intervals = "95 % intervals over users"
    if figures.units.few:
        intervals = few_users_told(figures.units)
    yield f"Satisfaction of {figures.users} users in {figures.turns} turns ({intervals})"
    yield f"  {'':<38} {'calibrated to the user':<22} raw"
    for metric in figures.metrics:
        name = _METRICS.get(metric.name, metric.name)
        yield f"  {name:<38} {_metric(metric.calibrated):<22} {_metric(metric.raw)}"


def _leaderboard(board: Board) -> Iterator[str]:
    whose = "the judge under selected preferences"
    if board.source is Source.HUMAN:
        whose = "the annotators' labels"
    elif board.source is Source.SELECTED and board.voted:
        whose = "the judge's weighted vote"
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
    dataset = load(now=now)
    judge_everything(dataset, watch)
    watch("measuring")
    page = leaderboard_page(LeaderboardQuestion(dataset=SLUG), seed=SEED)
    return report_lines(report(SLUG), page.boards, tuple(_arrivals(dataset)))
