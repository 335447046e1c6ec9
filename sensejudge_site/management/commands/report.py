"""`manage.py report`: agreement of the judge with each annotator, without and with preferences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.core.intervals import Interval, ends
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.gold import TIES_SCORE, gold_records
from benchmark.core.metrics import Metric
from benchmark.core.personal import PersonalRow
from benchmark.core.report import ControlRow, ReportRow
from benchmark.core.snapshots import SnapshotKind
from benchmark.core.trust import PERSONAL, SELECTED
from benchmark.queries.annotators import JudgeOption
from benchmark.queries.choices import check_judge
from benchmark.queries.gold import JudgeReport, dataset_gold_reports
from benchmark.queries.satisfaction import SatisfactionFigures
from benchmark.queries.snapshot_questions import report_question
from benchmark.queries.trust import Report, report
from benchmark.services.snapshots import keep
from judging.queries.generation import families_of_runs
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    OneLineCommand,
    counted,
    few_users_told,
    kin_lines,
    runs_told,
)

_LEAST_P: Final = 0.001
_CONTROLS: Final = {
    "base": "base judge",
    "stack": "weighted vote of several ways",
    "shuffled": "preferences from shuffled labels",
    "other": "preferences of {of}",
    "rubric": "no preferences, prompt {of}",
    "longer": "no judge: the longer response",
    "shorter": "no judge: the shorter response",
    "first": "no judge: the response shown first",
    "majority": "no judge: the other annotators",
}
"""What stands beside a result, by the word of its panel."""
_VOICES: Final = {"stack": "vote", "selected": "set", "base": "base", "": ""}
"""What stands in for an annotator: the weighted vote, the selected set, or the base judge."""


class Command(OneLineCommand):
    """Prints agreement, gain, bias and consistency with their intervals."""

    help = "Agreement of judge and annotator on unseen comparisons, with bias and consistency."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose figures."""
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        parser.add_argument(
            "--annotator", default="", metavar="NAME", help="only this one (default: all)"
        )
        parser.add_argument(
            "--judge",
            default="",
            metavar="NAME",
            help="only this judge (default: the run of each annotator that the pages show)",
        )
        parser.add_argument(
            "--gold",
            action="store_true",
            help="instead, accuracy of every judge against gold answers, by subset and section",
        )
        parser.add_argument(
            "--unreadable",
            choices=[each.lower() for each in InvalidPolicy],
            default=InvalidPolicy.EXCLUDED.lower(),
            help="with --gold: what a reply without a verdict counts as",
        )
        parser.add_argument(
            "--snapshot",
            action="store_true",
            help="save its rows as a numbered snapshot, for verify",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Measures and prints; exits 2 where dataset, annotator or judge is not known."""
        if options["snapshot"] and options["gold"]:
            message = "--snapshot keeps agreement with people, and does not go with --gold"
            raise CommandError(message, returncode=INPUT_WRONG)
        fields, lines = _against_gold(options) if options["gold"] else _by_annotator(options)
        if options["json"]:
            self.stdout.write(json.dumps(fields, ensure_ascii=False))
        else:
            self.stdout.write("\n".join(lines))


def _by_annotator(options: dict[str, Any]) -> tuple[dict[str, object], Iterator[str]]:
    asked = {"annotator": options["annotator"], "judge": options["judge"]}
    found = report(options["dataset"], **asked)
    fields: dict[str, object] = {**_fields(found), "snapshot": None}
    lines = _lines(found)
    if options["snapshot"]:
        question = report_question(options["dataset"], **asked)
        number = keep(SnapshotKind.REPORT, question).pk
        fields["snapshot"], lines = number, chain(lines, [f"kept as snapshot {number}"])
    return fields, lines


def _against_gold(options: dict[str, Any]) -> tuple[dict[str, object], Iterator[str]]:
    policy = InvalidPolicy(options["unreadable"].upper())
    found = dataset_gold_reports(options["dataset"], policy=policy)
    judge = options["judge"]
    if judge:
        check_judge(judge, (each.judge.judge for each in found))
        found = tuple(each for each in found if each.judge.judge == judge)
    fields: dict[str, object] = {
        "dataset": options["dataset"],
        "policy": policy.value,
        "rows": [
            {"run": each.judge.key, "edited": each.judge.edited, **row}
            for each in found
            for row in gold_records(each.judge.judge, each.report, each.best_of, each.ties)
        ],
    }
    return fields, _gold_lines(found)


def _gold_lines(found: tuple[JudgeReport, ...]) -> Iterator[str]:
    if not found:
        yield "no comparison with a gold answer has been judged yet"
    yield from kin_lines(families_of_runs(each.judge.run for each in found))
    for each in found:
        edited = ", preferences edited late" if each.judge.edited else ""
        yield f"{_judge(each.judge)}{edited}; 95 % intervals"
        rows = list(gold_records(each.judge.judge, each.report, each.best_of, each.ties))
        width = max(len(_title(row)) for row in rows)
        for row in rows:
            figure = _margins(row) if row["level"] == TIES_SCORE else _accuracy(row)
            yield f"  {_title(row):<{width}}  {row['n']:>6}  {figure}"


def _judge(judge: JudgeOption) -> str:
    voice = {SELECTED: " with preferences", PERSONAL: " by weighted vote"}.get(judge.voice, "")
    return f"{judge.judge}{voice}{f' for {judge.of}' if judge.of else ''}, run {judge.run}"


def _title(row: dict[str, object]) -> str:
    return "Ties, by margins" if row["level"] == TIES_SCORE else str(row["subset"])


def _accuracy(row: dict[str, object]) -> str:
    ends_of_it = _ends(_number(row["low"]), _number(row["high"]))
    return f"{_one_place(row['accuracy'])}{ends_of_it}"


def _margins(row: dict[str, object]) -> str:
    """RewardBench 2's score of Ties as the number that it is: no share, at most 1.01."""
    value, low, high = (_number(row[name]) for name in ("accuracy", "low", "high"))
    ends_of_it = "" if low is None or high is None else f" ({low:.3f} to {high:.3f})"
    return "-" if value is None else f"{value:.3f} of 1.01{ends_of_it}"


def _number(value: object) -> float | None:
    return value if isinstance(value, float) else None


def _one_place(value: object) -> str:
    share = _number(value)
    return "-" if share is None else f"{100 * share:.1f}%"


def _fields(found: Report) -> dict[str, object]:
    return {
        "dataset": found.dataset,
        "judges": list(found.judges),
        "runs": [
            {
                "annotator": annotator,
                "run": run.id,
                "judge": run.judge,
                "selected_by": run.selected_by or None,
                "distiller": run.distiller or None,
                "mode": run.mode.lower() or None,
            }
            for annotator, run in found.runs
        ],
        "seed": found.seed,
        "answers": [
            {
                "annotator": annotator,
                "verdict": answer.verdict.lower(),
                "sentence": answer.sentence(share=_percent),
            }
            for annotator, answer in found.answers
        ],
        "rows": [asdict(row) for row in found.rows],
        "controls": [asdict(row) for row in found.controls],
        "personal": [asdict(row) for row in found.personal],
        "leanings": list(found.leanings),
        "satisfaction": None if found.satisfaction is None else _satisfaction(found.satisfaction),
    }


def _satisfaction(figures: SatisfactionFigures) -> dict[str, object]:
    return {
        "users": figures.users,
        "turns": figures.turns,
        "unreadable": figures.unreadable,
        "failed": figures.failed,
        "fallbacks": figures.fallbacks,
        "metrics": [
            {
                "name": row.name.value,
                "calibrated": _metric(row.calibrated),
                "raw": _metric(row.raw),
            }
            for row in figures.metrics
        ],
    }


def _metric(metric: Metric) -> dict[str, object]:
    interval = metric.interval
    return {
        "value": metric.value,
        **ends(interval),
        "undefined": metric.undefined.value if metric.undefined else None,
    }


def _lines(found: Report) -> Iterator[str]:
    if found.rows:
        runs = runs_told(run.id for _annotator, run in found.runs)
        yield f"judged by {', '.join(found.judges)}, {runs}; 95 % intervals, seed {found.seed}"
        for annotator, run in found.runs:
            if run.has_roles:
                yield (
                    f"{annotator}: preferences selected by {run.selected_by}, "
                    f"distilled by {run.distiller}"
                )
            if run.is_paper:
                yield f"{annotator}: selected as by the paper's code; means over tied subsets"
        yield from kin_lines(families_of_runs(run.id for _annotator, run in found.runs))
        for annotator, answer in found.answers:
            yield f"{annotator}: {answer.sentence(share=_percent)}"
        names = max(len(_name(row)) for row in found.rows)
        yield (
            f"{'':<{names}}  {'n':>5}  {'base':<15}  {'selected':<15}  {'stands in':<21}  "
            f"{'its gain':<15}  {'p':>6}  "
            f"{'shuffled':>8}  {'bias':>5}  {'human bias':>10}  {'consistent':>10}"
        )
        yield from (_line(row, names) for row in found.rows)
        yield ""
        yield from _control_lines(found.controls)
        if found.personal:
            yield ""
            yield from _personal_lines(found.personal)
    else:
        yield "no labelled comparison has been judged yet"
    if found.satisfaction is not None:
        yield ""
        yield from _satisfaction_lines(found.satisfaction)


def _control_lines(rows: Sequence[ControlRow]) -> Iterator[str]:
    """What stands beside each annotator's result, over all their scenarios."""
    together = {row.annotator for row in rows if row.scenario is None}
    shown = [row for row in rows if row.scenario is None or row.annotator not in together]
    width = max((len(_control_name(row)) for row in shown), default=0)
    yield f"{'for comparison':<{width}}  {'n':>5}  agreement"
    for row in shown:
        yield (
            f"{_control_name(row):<{width}}  {row.n:>5}  "
            f"{_percent(row.value)}{_ends(row.low, row.high)}"
        )


def _personal_lines(rows: Sequence[PersonalRow]) -> Iterator[str]:
    """Whether each annotator's judge is theirs, with the two gains and the people's agreement."""
    width = max(len("personal"), *(len(row.annotator) for row in rows))
    yield (
        f"{'personal':<{width}}  {'n':>5}  {'over base':<15}  {'p':>6}  {'n':>5}  "
        f"{'over others':<15}  {'p':>6}  {'people agree':<15}  claim"
    )
    for row in rows:
        base = _points(row.gain_over_base) + _ends(row.gain_over_base_low, row.gain_over_base_high)
        others = _points(row.gain_over_others)
        others += _ends(row.gain_over_others_low, row.gain_over_others_high)
        alike = _percent(row.human_agreement)
        alike += _ends(row.human_agreement_low, row.human_agreement_high)
        edited = "; preferences edited after their test verdicts could be seen"
        yield (
            f"{row.annotator:<{width}}  {row.n:>5}  {base:<15}  "
            f"{_chance(row.gain_over_base_p_holm):>6}  {row.others_n:>5}  {others:<15}  "
            f"{_chance(row.gain_over_others_p_holm):>6}  {alike:<15}  "
            f"{row.claim.label}{edited if row.edited else ''}"
        )


def _control_name(row: ControlRow) -> str:
    return f"{row.annotator}, {_CONTROLS[row.control].format(of=row.of)}"


def _name(row: ReportRow) -> str:
    return f"{row.annotator}, {row.scenario or 'all'}"


def _line(row: ReportRow, width: int) -> str:
    base = _percent(row.base) + _ends(row.base_low, row.base_high)
    selected = _percent(row.selected) + _ends(row.low, row.high)
    own = f"{_percent(row.own)}{_ends(row.own_low, row.own_high)} {_VOICES[row.stands_in]}"
    gain = _points(row.own_gain) + _ends(row.own_gain_low, row.own_gain_high)
    return (
        f"{_name(row):<{width}}  {row.n:>5}  {base:<15}  {selected:<15}  {own:<21}  "
        f"{gain:<15}  {_chance(row.own_gain_p_holm):>6}  "
        f"{_percent(row.shuffled):>8}  {_points(row.position_bias):>5}  "
        f"{_points(row.human_position_bias):>10}  {_percent(row.consistency):>10}"
        f"{'  edited late' if row.edited else ''}"
    )


def _satisfaction_lines(figures: SatisfactionFigures) -> Iterator[str]:
    yield (
        f"satisfaction: {counted(figures.turns, 'turn')} of {counted(figures.users, 'user')}, "
        f"{figures.unreadable} unreadable, {figures.failed} failed"
        + (f"; {few_users_told(figures.units)}" if figures.units.few else "")
    )
    for row in figures.metrics:
        yield (
            f"{row.name.value:<20}  calibrated {_figure(row.calibrated):<22}  "
            f"raw {_figure(row.raw)}"
        )


def _figure(metric: Metric) -> str:
    if metric.value is None:
        return metric.undefined.value.lower().replace("_", " ") if metric.undefined else "-"
    return f"{metric.value:.3f}{_between(metric.interval)}"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval.low:.2f} to {interval.high:.2f})"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f}%"


def _points(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:+.0f}"


def _chance(p: float | None) -> str:
    if p is None:
        return "-"
    return f"{p:.3f}" if p >= _LEAST_P else f"<{_LEAST_P}"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({100 * low:.0f} to {100 * high:.0f})"
