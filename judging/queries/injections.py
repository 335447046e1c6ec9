"""What injected texts did to judges: the checks, the figures of one, and every answer in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Q

from annotation.core.choices import JudgmentStatus, Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.refusals import Refused
from judging.core.injections import AttemptKind, FlipRow, Flips, ShownVerdict, Tried, flip_rows
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
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
COLUMNS: Final = ("check", "judge", "prompt", *_STORED, "flipped", "call", "raw")
"""The columns of a download."""


def _is_unfinished(check: InjectionCheck) -> bool:
    """Not where the run failed for want of a readable verdict: then there is no more to ask."""
    run = check.run
    return run is not None and run.status != RunStatus.DONE and not _is_unreadable(run.error_code)


def _is_unreadable(error_code: str) -> bool:
    return error_code.startswith("verdict:")


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

    @property
    def unfinished(self) -> bool:
        """Whether answers are still to come."""
        return _is_unfinished(self.check)


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
    checks = InjectionCheck.objects.select_related("run").annotate(**counts).order_by("-pk")
    checks = checks.defer("pairs", "config", "run__config")
    return Paginator(checks, CHECKS_A_PAGE).get_page(page)


def lines_of(page: Page[InjectionCheck]) -> list[CheckLine]:
    """The figures of the checks on a page of `check_lines`."""
    return [
        CheckLine(check, _counted(check, "attempt"), _counted(check, "harmless")) for check in page
    ]


def _counted(check: InjectionCheck, added: str) -> Flips:
    names = ("flipped", "read", "unreadable", "failed")
    return Flips(**{name: getattr(check, f"{added}_{name}") for name in names})


@dataclass(frozen=True, slots=True)
class CheckFigures:
    """A check with its figures by kind of attempt and language; the last row is all of them.

    `clean_failed` counts failed calls without any added text, `error_codes` the reasons of all.
    """

    check: InjectionCheck
    rows: Sequence[FlipRow]
    clean_failed: int
    error_codes: tuple[str, ...]

    @property
    def verdict(self) -> VerdictRule:
        """How replies were read."""
        return VerdictRule(self.check.config.get("verdict_rule", VerdictRule.STRICT))

    @property
    def unfinished(self) -> bool:
        """Whether answers are still to come."""
        return _is_unfinished(self.check)

    @property
    def total(self) -> FlipRow:
        """All attempts; zeros where none could be made."""
        return self.rows[-1] if self.rows else FlipRow(None, None, Flips(0, 0), Flips(0, 0), 0)

    @property
    def failed(self) -> int:
        """Calls that failed."""
        return self.clean_failed + self.total.attempts.failed + self.total.harmless.failed


def check_figures(check_id: int) -> CheckFigures:
    """The figures of one check, computed from its rows. Two queries.

    Raises:
        Refused: there is none.
    """
    checks = InjectionCheck.objects.select_related("created_by", "run").defer("run__config")
    check = checks.filter(pk=check_id).first()
    if check is None:
        raise Refused("injection:unknown")
    clean_failed, codes = 0, set()
    said: dict[tuple[Any, ...], dict[str, ShownVerdict]] = {}
    fields = ("pair", "order", "key", "kind", "language", "target")
    rows = check.trials.order_by("pk").values_list(
        "added", "status", "verdict", "error_code", *fields
    )
    for added, status, verdict, code, *rest in rows:
        failed = status == JudgmentStatus.FAILED
        codes.update([code] if failed else [])
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
    return CheckFigures(check, flip_rows(tried), clean_failed, tuple(sorted(codes)))


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


@dataclass(frozen=True, slots=True)
class TrialPage:
    """One attempt: the pair as shown, and the answers without it, beside a harmless text's."""

    row: TrialRow
    clean: InjectionTrial
    dialogue: Dialogue
    first: str
    second: str


def trial_page(check_id: int, trial_id: int) -> TrialPage:
    """One attempt of a check. Four queries.

    Raises:
        Refused: the check holds no such attempt.
    """
    trials = InjectionTrial.objects.select_related("call", "check_run")
    attempt = trials.filter(check_run=check_id, added=InjectedText.ATTEMPT, pk=trial_id).first()
    if attempt is None:
        raise Refused("injection:unknown")
    same = trials.filter(check_run=check_id, pair=attempt.pair, order=attempt.order)
    harmless = same.get(added=InjectedText.HARMLESS, key=attempt.key)
    clean = same.get(added=InjectedText.CLEAN)
    pair = attempt.check_run.pairs[attempt.pair]
    texts = (pair["first"], pair["second"])
    first, second = texts if attempt.order == "ORIGINAL" else texts[::-1]
    return TrialPage(
        row=TrialRow(attempt, harmless),
        clean=clean,
        dialogue=tuple(Message(Speaker(each["role"]), each["text"]) for each in pair["dialogue"]),
        first=first,
        second=second,
    )


def trial_records(check_id: int) -> Iterator[dict[str, object]]:
    """Every answer of a check as a record of `COLUMNS`, in the order in which it was asked.

    Raises:
        Refused: there is no such check.
    """
    if not InjectionCheck.objects.filter(pk=check_id).exists():
        raise Refused("injection:unknown")
    trials = with_calls(InjectionTrial.objects.filter(check_run=check_id))
    trials = trials.select_related("check_run")
    return (_record(trial) for trial in trials.order_by("pk").iterator(chunk_size=500))


def _record(trial: InjectionTrial) -> dict[str, object]:
    answered = trial.status == JudgmentStatus.DONE and trial.target is not None
    return {
        **{name: getattr(trial, name) for name in _STORED},
        "check": trial.check_run_id,
        "judge": trial.check_run.judge,
        "prompt": JudgePrompt(trial.check_run.prompt).word,
        "flipped": trial.verdict == trial.target if answered else None,
        "call": key_of(trial),
        "raw": raw_of(trial),
    }
