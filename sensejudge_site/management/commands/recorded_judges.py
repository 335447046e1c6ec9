"""`manage.py recorded_judges`: judges against gold and beside people, as papers print them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.core.management.base import CommandParser

from annotation.core.agreement import Coefficient
from annotation.core.intervals import Interval, ends
from benchmark.core.trust import PERSONAL, SELECTED
from benchmark.core.vote_agreement import AgreementTables, Fraction
from benchmark.queries.annotators import JudgeOption
from benchmark.queries.gold import JudgeReport
from benchmark.queries.gold_rows import RecordedFigures, recorded_figures
from sensejudge_site.management.parsing import OneLineCommand

PAIRS_SHOWN: Final = 12


class Command(OneLineCommand):
    """Prints what recorded verdicts, gold answers and votes of a dataset give."""

    help = (
        "Figures for judges with stored verdicts, over every reply: accuracy against gold answers, "
        "same outcome in both orders, how often the response shown first wins; agreement with "
        "people next to agreement between people; pairwise kappa of annotators."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares which dataset, and which people."""
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        parser.add_argument(
            "--people",
            default="",
            metavar="GROUP",
            help="compare judges only with these; expert means expert_1, expert_2 and so on",
        )
        parser.add_argument(
            "--recorded-only",
            action="store_true",
            help="leave out judges that were run here, which are marked as live",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Measures and prints; exits 2 where the dataset or the people are not known."""
        found = recorded_figures(
            options["dataset"],
            people=options["people"],
            recorded_only=options["recorded_only"],
        )
        if options["json"]:
            self.stdout.write(json.dumps(_fields(found), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(found)))


def _fields(found: RecordedFigures) -> dict[str, object]:
    return {
        "dataset": found.dataset,
        "people": found.people,
        "seed": found.seed,
        "judges": [_judge(each) for each in found.gold],
        "agreement": _agreement(found, "turn"),
        "agreement_by_scenario": _agreement(found, "scenario"),
        "agreement_by_gap": _agreement(found, "gap"),
        "annotators": [_pair(*each) for each in found.kappas],
    }


def _agreement(found: RecordedFigures, by: str) -> list[dict[str, object]]:
    return [
        {"judge": judge.judge, "run": judge.key, "recorded": judge.recorded, **row}
        for judge, tables in found.agreement
        for row in tables.records()[by]
    ]


def _judge(each: JudgeReport) -> dict[str, object]:
    counted = each.report.overall.every_reply
    return {
        "judge": each.judge.judge,
        "run": each.judge.key,
        "recorded": each.judge.recorded,
        "edited": each.judge.edited,
        "comparisons": counted.comparisons,
        "replies": counted.replies,
        "unreadable": counted.unreadable,
        "accuracy": counted.accuracy,
        "same_in_both_orders": counted.same_in_both_orders,
        "picks_first": counted.picks_first,
    }


def _pair(first: str, second: str, kappa: Coefficient) -> dict[str, object]:
    return {
        "first": first,
        "second": second,
        "items": kappa.items,
        "kappa": kappa.value,
        **ends(kappa.interval),
    }


def _lines(found: RecordedFigures) -> Iterator[str]:
    if not (found.gold or found.agreement or found.kappas):
        yield "no gold answer was judged, and no comparison has two votes"
    if found.gold:
        yield from _gold_lines(found.gold)
    for judge, tables in found.agreement:
        yield f"{_name(judge)} and {found.people or 'all people'}, then people with each other"
        yield from _agreement_lines(tables)
    if found.kappas:
        yield from _kappa_lines(found.kappas)


def _agreement_lines(tables: AgreementTables) -> Iterator[str]:
    named = [(f"turn {row.turn}", row) for row in tables.turns]
    if len(tables.scenarios) > 2:
        named += tables.scenarios
    width = max(len(name) for name, _row in named)
    for name, row in named:
        ties = "with ties" if row.ties else "without"
        told = f"{name}, ".ljust(width + 2) + f"{ties:<9}"
        yield f"{told}  {_fraction(row.judge)}  {_fraction(row.people)}"
    if tables.gaps:
        yield "without ties, by the difference in win rate of two models, by all people's votes"
    for first, second, gap, votes in tables.gaps:
        told = f"{gap:.3f}  {_fraction(votes.judge)}  {_fraction(votes.people)}"
        yield f"{told}  {first}, {second}"


def _gold_lines(reports: Sequence[JudgeReport]) -> Iterator[str]:
    width = max(len(_name(each.judge)) for each in reports)
    yield "every reply counts: one without a verdict is wrong, and two such replies are the same"
    yield f"{'judge':<{width}}  {'pairs':>6}  {'right':>6}  {'alike':>6}  {'first':>6}  invalid"
    for each in reports:
        counted = each.report.overall.every_reply
        yield (
            f"{_name(each.judge):<{width}}  {counted.comparisons:>6}  "
            f"{_share(counted.accuracy):>6}  {_share(counted.same_in_both_orders):>6}  "
            f"{_share(counted.picks_first):>6}  {counted.unreadable:>7}"
        )


def _name(judge: JudgeOption) -> str:
    """A judge's name, and that it is live where its verdicts were not imported."""
    voice = {SELECTED: " with preferences", PERSONAL: " by weighted vote"}.get(judge.voice, "")
    of = f" for {judge.of}" if judge.of else ""
    of += ", preferences edited late" if judge.edited else ""
    return judge.judge if judge.recorded else f"{judge.judge}{voice}{of} (live)"


def _kappa_lines(pairs: Sequence[tuple[str, str, Coefficient]]) -> Iterator[str]:
    yield "Cohen's kappa of annotators, ties a category"
    for first, second, kappa in pairs[:PAIRS_SHOWN]:
        between = _between(kappa.interval)
        yield f"{first}, {second}: {_share(kappa.value)}{between} on {kappa.items}"
    if len(pairs) > PAIRS_SHOWN:
        yield f"... and {len(pairs) - PAIRS_SHOWN} more pairs (--json has all)"


def _fraction(fraction: Fraction) -> str:
    counted = f"{fraction.agree}/{fraction.pairs}"
    return f"{counted:>11} = {_share(fraction.value)}{_between(fraction.interval)}"


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.3f}"


def _between(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval.low:.3f} to {interval.high:.3f})"
