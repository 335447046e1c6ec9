"""What the commands that work runs off have in common, and those that go by batch files."""

from __future__ import annotations

import json
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal, InvalidOperation
from itertools import chain
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from annotation.core.refusals import Refused, text_of
from annotation.models import Dataset, User
from annotation.queries.datasets import dataset_of
from annotation.queries.participants import annotators, resolve_annotator
from judging.core.error_texts import cause_in
from judging.core.estimates import RunEstimate, Total, estimates_as_json, total_of
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.runs import run_progress
from judging.services.abilities import slow_replies
from judging.services.batch_files import batch_lines, read_in, takes_another_file
from judging.services.endpoints import set_budget
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import estimate_all
from judging.services.foreground import run_to_end
from judging.services.kinds import check_abilities, plan
from judging.services.run_control import reset_failed
from judging.services.run_requests import RunRequest
from sensejudge_site.management.parsing import INPUT_WRONG, WORK_FAILED, counted

_SHOW_EVERY_SECONDS: Final = 2.0
_CENT_OF_A_CENT: Final = Decimal("0.0001")


def add_arguments(
    parser: CommandParser,
    *,
    judge: str,
    several: str = "with several names, each gets its own run",
    budget: str = "maximum cost of each run",
) -> None:
    """The arguments of every command about annotators of a dataset; words of help for some."""
    parser.add_argument("--dataset", default="", metavar="SLUG")
    parser.add_argument(
        "--annotator", default="", metavar="NAME", help="only this annotator (default: all)"
    )
    parser.add_argument(
        "--judge",
        metavar="lexical|ENDPOINT[,ENDPOINT...]",
        help=f"{judge}; {several}",
    )
    add_cost_arguments(parser, budget=budget)


def add_cost_arguments(parser: CommandParser, *, budget: str = "maximum cost of each run") -> None:
    """What may be spent, what would be, and how it is printed; words of help for the first."""
    parser.add_argument(
        "--budget",
        type=money,
        metavar="MONEY",
        help=f"{budget}, in the currency of the prices",
    )
    parser.add_argument(
        "--estimate",
        action="store_true",
        help="print the number of calls and their cost; start nothing",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_again_argument(parser: CommandParser) -> None:
    """Whether a run is started beside an equal one that is under way."""
    parser.add_argument(
        "--again",
        action="store_true",
        help="start a new run even if an equal one is in progress (default: join that one)",
    )


def money(word: str) -> Decimal:
    """An amount of money, as an argument."""
    try:
        amount = Decimal(word)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        message = f"expected an amount of money of 0 or more, not {word!r}"
        raise ArgumentTypeError(message)
    return amount.quantize(_CENT_OF_A_CENT, rounding=ROUND_DOWN)


def judges_named(names: str | None, *, usual: str | None) -> list[str | None]:
    """The judges of an argument, each once; the usual one without it."""
    found = dict.fromkeys(name.strip() for name in (names or "").split(","))
    return [name for name in found if name] or [usual]


def estimates_told(estimates: Sequence[RunEstimate], *, json_wanted: bool) -> str:
    """What `--estimate` prints: a line a run with the sums below, or one JSON object."""
    if json_wanted:
        return json.dumps(estimates_as_json(estimates), ensure_ascii=False)
    lines = [f"{one.label}: {_calls(one)}; {_tokens(one)}{_cost(one)}" for one in estimates]
    total = total_of(estimates)
    lines.append(f"total: {_calls(total)}; {_cost(total)}")
    if total.calls:
        lines.append(_ONE_LETTER if total.only_letters else _RANGE)
        lines += [_TOO_WIDE] if total.is_too_wide else []
    else:
        lines.append(f"nothing to ask: {_why_nothing(total)}")
    if total.sampled:
        lines.append("estimated from a sample of the prompts")
    return "\n".join(lines)


_ON_TOP: Final = "tries after a failure come on top"
_ONE_LETTER: Final = (
    "every reply is one letter, which is one token; the range is that of the prompts: read from "
    f"the endpoint's cache, or as many tokens as bytes; {_ON_TOP}"
)
_RANGE: Final = (
    "a range, since nobody knows how long replies will be: at least one token each (a letter has "
    "no more) after prompts from the endpoint's cache, at most their limit after prompts of as "
    f"many tokens as bytes; {_ON_TOP}, and so do second tries at unreadable replies"
)


_TOO_WIDE: Final = (
    "too wide to plan by: an endpoint has not replied yet, so only the max output tokens bound its "
    "replies; run a few items first, lower that limit, or set a budget, at which the run stops"
)


def _why_nothing(total: Total) -> str:
    if not total.questions:
        return "nothing is left to run"
    return "every reply is stored" if total.stored else "no endpoint is called"


def _calls(one: RunEstimate | Total) -> str:
    """The calls, and the questions that cost nothing."""
    equal = f", {counted(one.equal, 'equal question')} asked once" if one.equal else ""
    stored = f"{counted(one.stored, 'reply', 'replies')} stored"
    return f"{counted(one.calls, 'call')}, {stored}{equal}"


def _tokens(one: RunEstimate) -> str:
    """What calls read and write, where there are any."""
    if not one.calls:
        return ""
    written = counted(one.calls, "token")
    if one.most_output_tokens > one.calls:
        likely = "" if one.output_tokens is None else f" (likely {one.output_tokens:,})"
        written = f"{one.calls:,} to {counted(one.most_output_tokens, 'token')}{likely}"
    return f"{counted(one.input_tokens, 'token')} in, {written} out; "


def _cost(one: RunEstimate | Total) -> str:
    if not one.calls:
        return "no cost"
    if one.cost_at_most is None:
        return "cost unknown: the endpoint has no prices"
    likely = "unknown" if one.cost_likely is None else f"{one.cost_likely:.4f}"
    return f"cost {one.cost_low:.4f} to {one.cost_at_most:.4f}, likely {likely}"


def estimated(
    runs: Sequence[JudgeRun], stream: OutputWrapper, *, json_wanted: bool, most: int | None = None
) -> str:
    """What `--estimate` prints of planned runs; on the stream, what may not come or not fit.

    Raises:
        Refused: see `estimates.estimate_all`.
    """
    told = estimates_told(estimate_all(runs, most=most), json_wanted=json_wanted)
    _tell_limits(runs, stream)
    return told


def check_runs(runs: Sequence[JudgeRun], stream: OutputWrapper) -> None:
    """Refuses planned runs before the first of them costs anything; `kinds.write` starts them.

    Raises:
        Refused: see `kinds.check_abilities`.
    """
    check_abilities(*runs)
    _tell_limits(runs, stream)


def _tell_limits(runs: Sequence[JudgeRun], stream: OutputWrapper) -> None:
    """Which endpoints are too slow for their timeout, and which may not take the longest request.

    Of runs whose endpoints' abilities were learned, and whose requests were estimated.
    """
    for slow in slow_replies(runs):
        stream.write(
            f"{slow.judge} wrote {slow.speed:.1f} tokens a second, so a reply of "
            f"{slow.tokens:,} tokens takes about {slow.seconds:.0f} s, but the timeout is "
            f"{slow.timeout:g} s: raise it or lower the max output tokens"
        )
    for tight in tight_requests(runs):
        told = (
            f"at least {tight.fewest:,} with its reply: calls like it will fail; lower the context "
            "window, so that conversations are shortened"
            if tight.is_beyond
            else f"between {tight.fewest:,} and {tight.most:,} with its reply: calls like it may "
            "fail; lower the context window or the max output tokens to be safe"
        )
        stream.write(
            f"{tight.judge} takes {tight.context:,} tokens, and the longest request has {told}"
        )


def dataset_named(slug: str) -> Dataset:
    """The dataset of a short name; the command ends with 2 where there is none."""
    if not slug:
        raise CommandError("--dataset is required", returncode=INPUT_WRONG)
    return dataset_of(slug)


def check_finished(runs: Sequence[JudgeRun]) -> None:
    """Ends the command with 1 where a run failed or was stopped; says which, why, and what to do.

    Runs that wait for a batch file are at work.
    """
    for run in runs:
        run.refresh_from_db()
    failed = [run for run in runs if run.status not in (RunStatus.DONE, RunStatus.BATCH)]
    if failed:
        raise CommandError("; ".join(map(_failure, failed)), returncode=WORK_FAILED)


def budgets_told(runs: Sequence[JudgeRun]) -> list[str]:
    """A sentence for each run that its budget stopped: how it goes on."""
    return [
        f"run {run.pk} has spent its budget of {run.budget}; "
        f"to resume it, run `judge --retry {run.pk} --budget N` with a larger N"
        for run in runs
        if run.error_code == LlmCode.BUDGET_SPENT
    ]


def _failure(run: JudgeRun) -> str:
    whose = "all annotators" if run.annotator is None else str(run.annotator)
    said = f"run {run.pk} ({whose}, {run.judge}): {run.status.lower()} {run.error_code}".rstrip()
    words = run.error_detail or run_progress(run.pk).said.get(run.error_code, "")
    if words:
        said += f" ({words})"
    codes = filter(None, (run.error_code, cause_in(run.error_detail)))
    return ". ".join((said, " ".join(map(text_of, codes)))) if run.error_code else said


def people(dataset: Dataset, name: str) -> Iterator[tuple[str, User]]:
    """The annotator of a name, or all of them, each with the name to print.

    Raises:
        Refused: nobody of this name labels in the dataset.
    """
    found = [resolve_annotator(dataset=dataset, name=name)] if name else annotators(dataset=dataset)
    users = User.objects.in_bulk([each.id for each in found])
    for each in found:
        yield each.name, users[each.id]


def planned_runs(
    request: RunRequest,
    options: Mapping[str, Any],
    *,
    usual: str | None = None,
    nothing_to_do: Collection[str],
    passed_over: Callable[[str], object] = lambda _line: None,
) -> list[tuple[str, JudgeRun]]:
    """The runs of a request for each annotator and judge, with the annotator's name to print.

    Args:
        request: what is asked for of each.
        options: whose comparisons, and which judges.
        usual: who judges where no judge is named.
        nothing_to_do: the codes for which one annotator of several is left out.
        passed_over: told why one is.

    Raises:
        Refused: the annotator who is named has nothing to judge; see `kinds.plan`.
    """
    runs = []
    for name, user in _whose(request, options["annotator"]):
        for judge in judges_named(options["judge"], usual=usual):
            try:
                runs += [(name, run) for run in plan(replace(request, annotator=user, judge=judge))]
            except Refused as refused:
                if options["annotator"] or refused.code not in nothing_to_do:
                    raise
                passed_over(f"{name}: {refused.code}: {refused.text}")
    return runs


def _whose(request: RunRequest, name: str) -> Iterator[tuple[str, User | None]]:
    """In whose stead, with the name to print; nobody's where there are no annotators to ask."""
    learned_in = request.sets_dataset or request.dataset
    is_test = request.kind is RunKind.TEST
    if not name and is_test and (request.is_for_nobody or not annotators(dataset=learned_in)):
        yield "everybody", None
    else:
        yield from people(learned_in, name)


class ProgressLine:
    """Says on standard error how many questions were asked, also in vain, every two seconds.

    Where somebody else works the run off, it says so.
    """

    def __init__(self, stream: OutputWrapper, what: str) -> None:
        self._stream = stream
        self._what = what
        self._answers = 0
        self._shown = time.monotonic()

    def __call__(self, answers: int) -> None:
        """Counts the answers of one commit; a mere sign of life (0) is nothing to tell of."""
        self._answers += answers
        if answers and time.monotonic() - self._shown >= _SHOW_EVERY_SECONDS:
            self._stream.write(f"{self._what}: {counted(self._answers, 'question')} asked")
            self._shown = time.monotonic()

    def waits(self, run: JudgeRun) -> None:
        """Says whose end is waited for."""
        self._stream.write(f"{self._what}: run {run.pk} is in progress elsewhere; waiting for it")


def finished_run(run: JudgeRun, name: str, stream: OutputWrapper) -> JudgeRun:
    """A run, worked off here or by whoever has it; what is asked meanwhile is told by its name."""
    progress = ProgressLine(stream, name)
    return run_to_end(run.pk, observer=progress, on_wait=progress.waits)


def retried_run(options: Mapping[str, Any], stream: OutputWrapper) -> JudgeRun:
    """Asks again for what failed in a run of any kind, under a new budget where one is given.

    Raises:
        Refused: it is under way.
    """
    run = JudgeRun.objects.filter(pk=options["retry"]).first()
    if run is None:
        raise CommandError(f"run:unknown: no run {options['retry']}", returncode=INPUT_WRONG)
    if run.dataset.archived_at is not None:
        raise Refused("dataset:archived")
    if options["budget"] is not None:
        set_budget(run.pk, options["budget"])
    reset_failed(run.pk)
    return finished_run(run, f"run {run.pk}", stream)


def errors_of(found: Iterable[Iterable[tuple[str, int]]]) -> dict[str, int]:
    """The error codes of some runs with how often each was met, in order of the codes."""
    errors: dict[str, int] = {}
    for code, count in chain.from_iterable(found):
        errors[code] = errors.get(code, 0) + count
    return dict(sorted(errors.items()))


def field_told(value: object) -> str:
    """A field as people read it: counts by their codes, ids in a row, a hyphen for none."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items()) or "-"
    if isinstance(value, list):
        return ", ".join(str(one) for one in value) or "-"
    return "-" if value is None else str(value)


def add_batch_arguments(parser: CommandParser) -> None:
    """The two ways of a batch file."""
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument(
        "--batch-out",
        type=Path,
        metavar="FILE",
        help="write the calls to a batch file (OpenAI's JSON lines) instead of sending them",
    )
    ways.add_argument(
        "--batch-in",
        type=Path,
        metavar="FILE",
        help="read the replies to such a file and continue the runs as far as possible",
    )


def by_batch_file(options: dict[str, Any]) -> bool:
    """Whether calls go by file."""
    return bool(options["batch_out"] or options["batch_in"])


def through_file(
    runs: Sequence[JudgeRun], options: dict[str, Any], stream: OutputWrapper
) -> dict[str, int]:
    """Writes the calls of runs, or reads the replies; what was done, as fields to print.

    What comes next is said on the stream.
    """
    try:
        if options["batch_out"]:
            written = _write(options["batch_out"], runs)
            for line in _after_writing(options["batch_out"], runs, written):
                stream.write(line)
            return {"requests": written}
        with options["batch_in"].open(encoding="utf-8") as replies:
            stored, failed = read_in(runs, replies)
    except Refused as refused:
        if not refused.faults:
            raise
        lines = "\n".join(map(str, refused.faults))
        message = f"{refused.code}: nothing was read\n{lines}"
        raise CommandError(message, returncode=INPUT_WRONG) from refused
    except (OSError, UnicodeDecodeError) as error:
        message = f"input: {error}"
        raise CommandError(message, returncode=INPUT_WRONG) from error
    if waiting := still_waiting(runs):
        several = "runs" if len(waiting) > 1 else "run"
        stream.write(
            f"{several} {', '.join(map(str, waiting))}: more calls to make; write them with "
            "--batch-out, and read their replies with --batch-in"
        )
    return {"stored": stored, "refused": failed}


def _after_writing(path: Path, runs: Sequence[JudgeRun], written: int) -> Iterator[str]:
    if not written:
        yield f"{path} was not written: there is nothing to ask"
        return
    yield f"{path}: {counted(written, 'request')}; read the replies with --batch-in"
    rows = JudgeRun.objects.filter(pk__in=[run.pk for run in runs], status=RunStatus.BATCH)
    further = [str(run.pk) for run in rows.order_by("pk") if takes_another_file(run)]
    if further:
        several = "runs" if len(further) > 1 else "run"
        yield (
            f"{several} {', '.join(further)}: a second round follows, with the calls that depend "
            "on these replies; write it with --batch-out once they are read"
        )


def check_refusals(done: Mapping[str, Any]) -> None:
    """Ends the command with 1 where the provider refused requests of a batch file."""
    refused = done.get("refused", 0)
    if refused:
        message = (
            f"the provider refused {counted(refused, 'request')}, and what they were for failed; "
            "run `judge --retry RUN` to ask them again"
        )
        raise CommandError(message, returncode=WORK_FAILED)


def _write(path: Path, runs: Sequence[JudgeRun]) -> int:
    count = 0
    lines = batch_lines(runs)
    first = next(lines, None)
    if first is None:
        return 0
    with path.open("w", encoding="utf-8") as out:
        for line in chain((first,), lines):
            out.write(f"{line}\n")
            count += 1
    return count


def still_waiting(runs: Sequence[JudgeRun]) -> list[int]:
    """The runs that wait for another file."""
    ids = [run.pk for run in runs]
    return list(
        JudgeRun.objects.filter(pk__in=ids, status="BATCH")
        .order_by("pk")
        .values_list("pk", flat=True)
    )
