"""What injected texts did to judges: the checks, the figures of one, and every answer in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Q

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.refusals import Refused
from annotation.queries.datasets import of_no_deleted
from judging.core.injections import (
    AttackFamily,
    AttemptKind,
    FlipRow,
    Flips,
    ShownVerdict,
    Tried,
    flip_rows,
)
from judging.core.repetition import repetition_flips, with_repetition
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.llm.errors import PASSING
from judging.models import InjectedText, InjectionCheck, InjectionTrial, RunStatus
from judging.queries.calls import key_of, raw_of, with_calls

CHECKS_A_PAGE: Final = 20
TRIALS_A_PAGE: Final = 50
_STORED: Final = (
    "pair",
    "order",
    "added",
    "key",
    "kind",
    "language",
    "text",
    "target",
    "status",
    "verdict",
    "log_odds",
    "error_code",
)
_OF: Final = ("dataset", "run")
COLUMNS: Final = ("check", "judge", "prompt", *_STORED, "flipped", "call", "raw", *_OF)
"""The columns of a download."""


def _is_unfinished(check: InjectionCheck, rows: Iterable[tuple[str, str]]) -> bool:
    """Whether answers are to come, or may at another try, by the rows' statuses and error codes.

    Not where the run failed for want of readable replies: then there is no more to ask.
    """
    run, told = check.run, set(rows)
    if run is None or run.status == RunStatus.DONE:
        return False
    is_stopped = run.status != RunStatus.FAILED or all(run.error_code != code for _, code in told)
    return is_stopped or any(
        status == JudgmentStatus.PENDING or code in PASSING for status, code in told
    )


@dataclass(frozen=True, slots=True)
class CheckLine:
    """A check in the list, with its figures over all attempts."""

    check: InjectionCheck
    attempts: Flips
    harmless: Flips

    @property
    def prompt(self) -> JudgePrompt:
        """How the judge was asked."""
        return JudgePrompt(self.check.prompt)


def check_lines(page: str) -> Page[InjectionCheck]:
    """The checks, the newest first, each with its `line`. Two queries."""
    flipped = Q(trials__verdict=F("trials__target"))
    counts = {
        f"{added.lower()}_{name}": Count("trials", filter=Q(trials__added=added) & condition)
        for added in (InjectedText.ATTEMPT, InjectedText.HARMLESS)
        for name, condition in (
            ("flipped", flipped),
            ("read", Q(trials__status=JudgmentStatus.DONE)),
            ("unreadable", Q(trials__status=JudgmentStatus.UNPARSEABLE)),
            ("failed", Q(trials__status=JudgmentStatus.FAILED)),
        )
    }
    every = of_no_deleted(InjectionCheck.objects.select_related("run"), "run__dataset")
    checks = every.annotate(**counts).order_by("-pk")
    checks = checks.defer("pairs", "config", "run__config")
    return Paginator(checks, CHECKS_A_PAGE).get_page(page)


def lines_of(page: Page[InjectionCheck]) -> list[CheckLine]:
    """The figures of the checks with injected texts on a page of `check_lines`."""
    return [
        CheckLine(check, _counted(check, "attempt"), _counted(check, "harmless"))
        for check in page
        if check.attack == AttackFamily.TEXTS
    ]


def _counted(check: InjectionCheck, added: str) -> Flips:
    names = ("flipped", "read", "unreadable", "failed")
    return Flips(**{name: getattr(check, f"{added}_{name}") for name in names})


@dataclass(frozen=True, slots=True)
class CheckFigures:
    """A check with its figures by kind of attempt and language; the last row is all of them.

    `clean_failed` counts failed calls without any added text, `error_codes` the reasons of all;
    `unfinished` says that answers are to come, or may at another try.
    """

    check: InjectionCheck
    rows: Sequence[FlipRow]
    clean_failed: int
    error_codes: tuple[str, ...]
    unfinished: bool

    @property
    def verdict(self) -> VerdictRule:
        """How replies were read."""
        return VerdictRule(self.check.config.get("verdict_rule", VerdictRule.STRICT))

    @property
    def total(self) -> FlipRow:
        """All attempts; zeros where none could be made."""
        return self.rows[-1] if self.rows else FlipRow(None, None, Flips(0, 0), Flips(0, 0), 0)

    @property
    def failed(self) -> int:
        """Calls that failed."""
        return self.clean_failed + self.total.attempts.failed + self.total.harmless.failed


class RepetitionFigures(NamedTuple):
    """A check by repetition: failures in both orders, of responses, and in each, of judgments.

    `second` is where the response with the repeated list was shown second. `lists` counts those
    that were to be rephrased, `lost` those whose rephrasing failed or could not be read, `failed`
    all failed calls, `error_codes` their reasons; `unfinished` says that answers are to come, or
    may at another try.
    """

    check: InjectionCheck
    both: Flips
    second: Flips
    first: Flips
    lists: int
    lost: int
    failed: int
    error_codes: tuple[str, ...]
    unfinished: bool

    @property
    def prompt(self) -> JudgePrompt:
        """How the judge was asked."""
        return JudgePrompt(self.check.prompt)

    @property
    def verdict(self) -> VerdictRule:
        """How replies were read."""
        return VerdictRule(self.check.config["verdict_rule"])

    @property
    def rephrased_by(self) -> str:
        """Who wrote the lists in other words; the lexical judge repeats them word for word."""
        run = self.check.run
        return self.check.judge if run is None else run.written_by


def repetitions_of(checks: Iterable[InjectionCheck]) -> list[RepetitionFigures]:
    """The figures of the checks by repetition among some. One query."""
    own = [check for check in checks if check.attack == AttackFamily.REPETITION]
    rows: dict[int, list[InjectionTrial]] = {check.pk: [] for check in own}
    fields = ("check_run_id", "added", "pair", "order", "status", "verdict", "error_code")
    trials = InjectionTrial.objects.filter(check_run__in=rows).order_by("pk").only(*fields)
    for trial in trials if rows else ():
        rows[trial.check_run_id].append(trial)
    return [_repetition(check, rows[check.pk]) for check in own]


def _repetition(check: InjectionCheck, trials: Sequence[InjectionTrial]) -> RepetitionFigures:
    said: dict[int, dict[Order, ShownVerdict]] = {}
    for trial in trials:
        if trial.added == InjectedText.REPEATED:
            said.setdefault(trial.pair, {})[Order(trial.order)] = _shown(trial)
    lists = [trial for trial in trials if trial.added == InjectedText.LIST]
    lost = (JudgmentStatus.UNPARSEABLE, JudgmentStatus.FAILED)
    failed = [trial.error_code for trial in trials if trial.status == JudgmentStatus.FAILED]
    return RepetitionFigures(
        check,
        *repetition_flips(said.items()),
        lists=len(lists),
        lost=sum(trial.status in lost for trial in lists),
        failed=len(failed),
        error_codes=tuple(sorted(set(failed))),
        unfinished=_is_unfinished(check, ((each.status, each.error_code) for each in trials)),
    )


def _shown(trial: InjectionTrial) -> ShownVerdict:
    verdict = None if trial.verdict is None else Verdict(trial.verdict)
    return ShownVerdict(JudgmentStatus(trial.status), verdict)


def check_figures(check_id: int) -> CheckFigures | RepetitionFigures:
    """The figures of one check, computed from its rows. Two queries.

    Raises:
        Refused: there is none.
    """
    checks = InjectionCheck.objects.select_related("created_by", "run").defer("run__config")
    check = checks.filter(pk=check_id).first()
    if check is None:
        raise Refused("injection:unknown")
    if check.attack == AttackFamily.REPETITION:
        return repetitions_of([check])[0]
    clean_failed, codes = 0, set()
    statuses: set[tuple[str, str]] = set()
    said: dict[tuple[Any, ...], dict[str, ShownVerdict]] = {}
    fields = ("pair", "order", "key", "kind", "language", "target")
    rows = check.trials.order_by("pk").values_list(
        "added", "status", "verdict", "error_code", *fields
    )
    for added, status, verdict, code, *rest in rows:
        failed = status == JudgmentStatus.FAILED
        codes.update([code] if failed else [])
        statuses.add((status, code))
        if added == InjectedText.CLEAN:
            clean_failed += failed
            continue
        one = ShownVerdict(JudgmentStatus(status), None if verdict is None else Verdict(verdict))
        said.setdefault(tuple(rest), {})[added] = one
    tried = [
        Tried(
            pair=pair,
            kind=AttemptKind(kind),
            language=language,
            target=Verdict(target),
            attempt=both[InjectedText.ATTEMPT],
            harmless=both[InjectedText.HARMLESS],
        )
        for (pair, _order, _key, kind, language, target), both in said.items()
    ]
    return CheckFigures(
        check,
        flip_rows(tried),
        clean_failed,
        tuple(sorted(codes)),
        unfinished=_is_unfinished(check, statuses),
    )


@dataclass(frozen=True, slots=True)
class TrialRow:
    """An attempt with the answers under it and under the harmless text in its place."""

    attempt: InjectionTrial
    harmless: InjectionTrial

    @property
    def flipped(self) -> bool:
        """Whether the attempt turned the verdict."""
        return self.attempt.verdict == self.attempt.target

    @property
    def harmless_flipped(self) -> bool:
        """Whether the harmless text turned it, too."""
        return self.harmless.verdict == self.harmless.target


@dataclass(frozen=True, slots=True)
class TrialList:
    """The attempts behind a figure, a page of them, with how many there are by outcome."""

    check: InjectionCheck
    rows: Sequence[TrialRow]
    page: Page[InjectionTrial]
    counts: dict[str, int]


OUTCOMES: Final[dict[str, Q]] = {
    "turned": Q(verdict=F("target")),
    "held": Q(status=JudgmentStatus.DONE) & ~Q(verdict=F("target")),
    "unreadable": Q(status=JudgmentStatus.UNPARSEABLE),
    "failed": Q(status=JudgmentStatus.FAILED),
}
"""What became of an attempt."""


def trial_list(
    check_id: int, *, kind: str = "", language: str = "", outcome: str = "", page: str = ""
) -> TrialList:
    """The attempts of a check, of a kind, a language, an outcome ("" for any). Four queries.

    Raises:
        Refused: there is no such check.
    """
    check = InjectionCheck.objects.defer("pairs", "config").filter(pk=check_id).first()
    if check is None:
        raise Refused("injection:unknown")
    trials = InjectionTrial.objects.filter(check_run=check, added=InjectedText.ATTEMPT)
    for name, value in (("kind", kind), ("language", language)):
        trials = trials.filter(**{name: value}) if value else trials
    counts = trials.aggregate(**{name: Count("pk", filter=one) for name, one in OUTCOMES.items()})
    if outcome in OUTCOMES:
        trials = trials.filter(OUTCOMES[outcome])
    shown = Paginator(trials.order_by("pk"), TRIALS_A_PAGE).get_page(page)
    return TrialList(check, _with_harmless(check_id, list(shown)), shown, counts)


def _with_harmless(check_id: int, attempts: Sequence[InjectionTrial]) -> list[TrialRow]:
    keys = {each.key for each in attempts}
    rows = InjectionTrial.objects.filter(
        check_run=check_id, added=InjectedText.HARMLESS, key__in=keys
    )
    found = {(row.pair, row.order, row.key): row for row in rows}
    return [TrialRow(each, found[each.pair, each.order, each.key]) for each in attempts]


class RepeatedResponse(NamedTuple):
    """A response whose list was said twice, with the answers where that was second, and first.

    `outcome` is a name of REPETITION_OUTCOMES.
    """

    second: InjectionTrial
    first: InjectionTrial
    outcome: str


REPETITION_OUTCOMES: Final = ("both", "one", "neither", "unreadable", "failed")
"""In how many orders the response with the repeated list was named the better one."""


class RepetitionList(NamedTuple):
    """The responses behind a figure, a page of them, with how many there are by outcome."""

    rows: Sequence[RepeatedResponse]
    page: Page[RepeatedResponse]
    counts: dict[str, int]


def repetition_list(check_id: int, *, outcome: str, page: str) -> RepetitionList:
    """The responses of a check by repetition, of an outcome; any other word for all. One query."""
    trials = InjectionTrial.objects.filter(check_run=check_id, added=InjectedText.REPEATED)
    orders: dict[int, dict[str, InjectionTrial]] = {}
    for trial in trials.order_by("pk").defer("raw"):
        orders.setdefault(trial.pair, {})[trial.order] = trial
    rows = [
        RepeatedResponse(own[Order.ORIGINAL], own[Order.SWAPPED], _repetition_outcome(own.values()))
        for own in orders.values()
    ]
    wanted = outcome if outcome in REPETITION_OUTCOMES else ""
    kept = [row for row in rows if wanted in ("", row.outcome)]
    shown = Paginator(kept, TRIALS_A_PAGE).get_page(page)
    counts = Counter(row.outcome for row in rows)
    return RepetitionList(list(shown), shown, {name: counts[name] for name in REPETITION_OUTCOMES})


def _repetition_outcome(trials: Iterable[InjectionTrial]) -> str:
    statuses = {trial.status for trial in trials}
    if JudgmentStatus.FAILED in statuses:
        return "failed"
    if JudgmentStatus.UNPARSEABLE in statuses:
        return "unreadable"
    if JudgmentStatus.PENDING in statuses:
        return ""
    return ("neither", "one", "both")[sum(trial.verdict == trial.target for trial in trials)]


class RepetitionPage(NamedTuple):
    """One response: as it is and with the list said twice, with the answers in both orders."""

    row: RepeatedResponse
    rephrased: InjectionTrial
    dialogue: Dialogue
    original: str
    repeated: str


@dataclass(frozen=True, slots=True)
class TrialPage:
    """One attempt: the pair as shown, and the answers without it, beside a harmless text's."""

    row: TrialRow
    clean: InjectionTrial
    dialogue: Dialogue
    first: str
    second: str


def trial_page(check_id: int, trial_id: int) -> TrialPage | RepetitionPage:
    """One attempt of a check, or one response of a check by repetition. Four queries.

    Raises:
        Refused: the check holds no such attempt.
    """
    trials = InjectionTrial.objects.select_related("call", "check_run__run")
    tried = (InjectedText.ATTEMPT, InjectedText.REPEATED)
    attempt = trials.filter(check_run=check_id, added__in=tried, pk=trial_id).first()
    if attempt is None:
        raise Refused("injection:unknown")
    if attempt.added == InjectedText.REPEATED:
        return _repetition_page(attempt)
    same = trials.filter(check_run=check_id, pair=attempt.pair, order=attempt.order)
    harmless = same.get(added=InjectedText.HARMLESS, key=attempt.key)
    clean = same.get(added=InjectedText.CLEAN)
    pair = attempt.check_run.pairs[attempt.pair]
    texts = (pair["first"], pair["second"])
    first, second = texts if attempt.order == "ORIGINAL" else texts[::-1]
    return TrialPage(
        row=TrialRow(attempt, harmless),
        clean=clean,
        dialogue=_dialogue(pair),
        first=first,
        second=second,
    )


def _repetition_page(trial: InjectionTrial) -> RepetitionPage:
    check = trial.check_run
    trials = InjectionTrial.objects.select_related("call").filter(check_run=check, pair=trial.pair)
    own = {(each.added, each.order): each for each in trials}
    second, first = (own[InjectedText.REPEATED, order] for order in (Order.ORIGINAL, Order.SWAPPED))
    pair = check.pairs[trial.pair]
    return RepetitionPage(
        row=RepeatedResponse(second, first, _repetition_outcome((second, first))),
        rephrased=own[InjectedText.LIST, Order.ORIGINAL],
        dialogue=_dialogue(pair),
        original=pair["first"],
        repeated=with_repetition(pair["first"], trial.text),
    )


def _dialogue(pair: dict[str, Any]) -> Dialogue:
    return tuple(Message(Speaker(each["role"]), each["text"]) for each in pair["dialogue"])


def trial_records(check_id: int) -> Iterator[dict[str, object]]:
    """Every answer of a check as a record of `COLUMNS`, in the order in which it was asked.

    Raises:
        Refused: there is no such check.
    """
    if not InjectionCheck.objects.filter(pk=check_id).exists():
        raise Refused("injection:unknown")
    trials = with_calls(InjectionTrial.objects.filter(check_run=check_id))
    trials = trials.select_related("check_run__run__dataset")
    return (_record(trial) for trial in trials.order_by("pk").iterator(chunk_size=500))


def _record(trial: InjectionTrial) -> dict[str, object]:
    answered = trial.status == JudgmentStatus.DONE and trial.target is not None
    run = trial.check_run.run
    return {
        **{name: getattr(trial, name) for name in _STORED},
        "check": trial.check_run_id,
        "judge": trial.check_run.judge,
        "prompt": JudgePrompt(trial.check_run.prompt).word,
        "flipped": trial.verdict == trial.target if answered else None,
        "call": key_of(trial),
        "raw": raw_of(trial),
        "dataset": run.dataset.slug if run else None,
        "run": run and run.pk,
    }
