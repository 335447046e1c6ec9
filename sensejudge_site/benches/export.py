"""Exports of 100,000 labels and as many judgments as JSONL and CSV, beside the naive way.

A scratch deployment holds one-turn pairs with texts of about 1 KB a side, each labelled by five
annotators, and judged in both orders in the stead of each, with a reply a judgment. Every file is
written by a process of its own, block by block to nowhere. `naive` is what a straightforward
program does: a query of all rows with what they hang on, an object each, made into the same rows.

`first_ms` is the time to the first block, `above_idle_mb` the most memory that was held at any time
above what the process held before, where the system tells.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import django

from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.annotate.rows import DATASET, name_of
from sensejudge_site.benches.annotate.site import scratch_site

if TYPE_CHECKING:
    from annotation.exports import Export
    from annotation.models import Dataset

ROWS: Final = 100_000
_ANNOTATORS: Final = 5
_ORDERS: Final = ("ORIGINAL", "SWAPPED")
_KINDS: Final = ("labels", "judgments")
_BATCH: Final = 2000
_REPLY: Final = "The first answer names both routes and says which is shorter, so it helps more. "


def run(*, items: int = ROWS) -> Bench:
    """The figures of so many labels and so many judgments.

    Raises:
        Refused: a step did not work.
    """
    with scratch_site() as site:
        site.ask("rows", "check")
        site.manage("migrate", "--verbosity=0")
        try:
            site.ask("rows", "fill", str(-(-items // _ANNOTATORS)), "0", str(_ANNOTATORS))
            site.python("-m", __name__, "fill", str(items))
            figures = [
                figure
                for naive in ("", "naive")
                for kind in _KINDS
                for form in ("jsonl", "csv")
                for figure in _figures(
                    "_".join(filter(None, (kind, form, naive))),
                    json.loads(site.python("-m", __name__, "write", kind, form, naive)),
                )
            ]
        finally:
            site.manage("flush", "--no-input", "--verbosity=0")
    return Bench("export", tuple(figures))


def _figures(name: str, told: dict[str, Any]) -> Iterator[BenchFigure]:
    yield BenchFigure(f"{name}_rows", told["rows"])
    yield BenchFigure(f"{name}_file_mb", told["size"] / 2**20)
    yield BenchFigure(f"{name}_rows_per_s", told["rows"] / told["seconds"])
    yield BenchFigure(f"{name}_first_ms", 1000 * told["first"])
    if told["held"] is not None:
        yield BenchFigure(f"{name}_above_idle_mb", told["held"])


def fill(rows: int) -> None:
    """Label the pairs, and judge them in the annotators' stead."""
    from annotation.models import Comparison, Dataset, PairwiseLabel, User
    from judging.models import JudgeRun, Judgment, LlmCall
    from judging.services.preferences import empty_preference

    dataset = Dataset.objects.get(slug=DATASET)
    people = [User.objects.get(username=name_of(number)) for number in range(_ANNOTATORS)]
    pairs = list(Comparison.objects.order_by("position").values_list("pk", flat=True))
    places = [(number % _ANNOTATORS, pairs[number // _ANNOTATORS]) for number in range(rows)]
    PairwiseLabel.objects.bulk_create(
        (
            PairwiseLabel(
                annotator=people[who], comparison_id=pair, verdict="AB"[pair % 2],
                shown_order=_ORDERS[who % 2], active_seconds=pair % 60,
            )
            for who, pair in places
        ),
        batch_size=_BATCH,
    )  # fmt: skip
    base = empty_preference()
    runs = [
        JudgeRun.objects.create(kind="TEST", dataset=dataset, annotator=each, judge="bench")
        for each in people
    ]
    asked = [
        (number, runs[who], pair, order)
        for number, (who, pair, order) in enumerate(
            (who, pair, order) for who, pair in places[: -(-rows // 2)] for order in _ORDERS
        )
    ][:rows]
    calls = LlmCall.objects.bulk_create(
        (
            LlmCall(
                key=f"{number:064d}", run=own, base_url="http://127.0.0.1", model="bench",
                request={}, reply=f"{_REPLY * 3}[[A]]",
            )
            for number, own, _pair, _order in asked
        ),
        batch_size=_BATCH,
    )  # fmt: skip
    Judgment.objects.bulk_create(
        (
            Judgment(
                run=own, comparison_id=pair, preference=base, order=order, status="DONE",
                verdict="AB"[number % 2], log_odds=number % 7 - 3.5, call=call,
            )
            for call, (number, own, pair, order) in zip(calls, asked, strict=True)
        ),
        batch_size=_BATCH,
    )  # fmt: skip


def written(kind: str, form: str, *, naive: bool) -> dict[str, Any]:
    """What writing a file took: rows, bytes, seconds, those to the first block, megabytes held."""
    from annotation.exports import EXPORTS, ExportFormat
    from annotation.models import Dataset
    from judging.exports import EXPORTS as JUDGED

    dataset = Dataset.objects.get(slug=DATASET)
    export = {**EXPORTS, **JUDGED}[kind]
    format_ = ExportFormat(form)
    if naive:
        export = _naive(export)
    idle = _memory("VmRSS")
    _forget_peak()
    started, first, size, lines = time.perf_counter(), 0.0, 0, 0
    for block in export.blocks(dataset, format_):
        first = first or time.perf_counter() - started
        size += len(block.encode())
        lines += block.count("\r\n" if form == "csv" else "\n")
    seconds, peak = time.perf_counter() - started, _memory("VmHWM")
    return {
        "rows": lines - (form == "csv"),
        "size": size,
        "seconds": seconds,
        "first": first,
        "held": None if idle is None or peak is None else peak - idle,
    }


def _memory(name: str) -> float | None:
    """A line of this process's status in megabytes; None where the system has none."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith(name)), None)


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5", "ascii")
    except OSError:
        return


def _naive(export: Export) -> Export:
    """The same columns, made of objects one by one."""
    from annotation.exports import Export

    rows: dict[str, Callable[[Dataset], Iterator[dict[str, object]]]] = {
        "labels": _labels_naively,
        "judgments": _judgments_naively,
    }
    return Export(export.kind, export.columns, rows[export.kind])


def _labels_naively(dataset: Dataset) -> Iterator[dict[str, object]]:
    from annotation.exports.export import given, names_of_studies
    from annotation.models import PairwiseLabel
    from annotation.queries.participants import names_of

    names, studies = names_of(dataset=dataset), names_of_studies(dataset)
    for label in (
        PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
        .select_related(
            "comparison__response_a", "comparison__response_b",
            "comparison__turn__session__scenario",
        )
        .order_by("comparison__position", "comparison_id", "pk")
    ):  # fmt: skip
        comparison, session = label.comparison, label.comparison.turn.session
        a, b = comparison.response_a, comparison.response_b
        yield {
            "type": "pair", "session": session.key, "scenario": session.scenario.name,
            "system_prompt": session.system_prompt, "task_context": session.task_context,
            "dialogue": [{"role": "user", "content": comparison.turn.user_message}],
            "comparison": comparison.key, "position": comparison.position,
            "model_a": a.model, "variant_a": a.variant, "text_a": a.text,
            "model_b": b.model, "variant_b": b.variant, "text_b": b.text,
            "annotator": names[label.annotator_id], "verdict": label.verdict,
            "strength": label.strength, "both_bad": label.both_bad,
            "shown_order": label.shown_order, **given(label, studies),
        }  # fmt: skip


def _judgments_naively(dataset: Dataset) -> Iterator[dict[str, object]]:
    from judging.models import Judgment

    for row in (
        Judgment.objects.filter(run__dataset=dataset)
        .select_related(
            "run__annotator", "preference", "call", "comparison__turn__session__scenario",
            "comparison__response_a", "comparison__response_b",
        )
        .order_by("run_id", "comparison__position", "comparison_id", "preference_id", "order")
    ):  # fmt: skip
        comparison, session = row.comparison, row.comparison.turn.session
        yield {
            "run": row.run_id, "run_kind": row.run.kind, "judge": row.run.judge,
            "annotator": row.run.annotator and row.run.annotator.username,
            "set_dataset": None, "distiller": None, "selected_by": None, "basis": None,
            "session": session.key, "scenario": session.scenario.name,
            "turn": comparison.turn.position + 1, "comparison": comparison.key,
            "model_a": comparison.response_a.model, "model_b": comparison.response_b.model,
            "preference": row.preference_id, "preference_kind": row.preference.kind,
            "control": row.preference.control, "order": row.order, "status": row.status,
            "verdict": row.verdict, "log_odds": row.log_odds, "error_code": row.error_code,
            "call": row.call and row.call.key, "raw": row.call and row.call.reply,
        }  # fmt: skip


def main(arguments: Sequence[str]) -> dict[str, Any]:
    """Fill the database of this process, or write a file, as the first word says."""
    if arguments[0] == "fill":
        fill(int(arguments[1]))
        return {}
    kind, form, *how = arguments[1:]
    return written(kind, form, naive=any(how))


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
