"""`manage.py leaderboard`: Bradley-Terry ratings of a dataset's models, or of a file of battles."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from annotation.core.formats.reading import read_rows
from benchmark.core.bradley_terry import outcome_of
from benchmark.core.ranking import ModelRating, Ranking, bradley_terry
from benchmark.queries.ranking import DRAWS, Board, Source, dataset_board
from benchmark.queries.trust import SEED
from judging.core.formats.recorded import battles
from sensejudge_site.management.parsing import OneLineCommand, counted, kin_lines, number_from

MOST_DRAWS: Final = 100_000


class Command(OneLineCommand):
    """Ranks models with intervals; what the data cannot say has no number."""

    help = (
        "Bradley-Terry ratings (400 points are odds of ten to one) with 95 % bootstrap intervals "
        "over sessions. A model that never lost or never won has no rating."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose verdicts, and how they are resampled."""
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--dataset", metavar="SLUG", help="rate by this dataset's verdicts")
        source.add_argument(
            "--battles", type=Path, metavar="FILE", help="columns: model_a, model_b, winner"
        )
        parser.add_argument(
            "--verdicts",
            choices=[each.value for each in Source],
            default=Source.HUMAN.value,
            help="with --dataset: by human labels, by what stands in for the annotators, by the "
            "judge under their selected preferences, or by the base judge",
        )
        parser.add_argument(
            "--judge",
            default="",
            metavar="NAME",
            help="with --verdicts of a judge: which one (default: of the run that the pages show)",
        )
        parser.add_argument(
            "--anchor", metavar="MODEL", help="model rated 1000 (default: the mean)"
        )
        draws = number_from(0, MOST_DRAWS)
        parser.add_argument("--bootstrap", type=draws, default=DRAWS, metavar="N")
        parser.add_argument("--seed", type=number_from(0), default=SEED, metavar="N")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Rates and prints; exits 2 where the input cannot be understood."""
        ranking, board = _ranking(options)
        if options["json"]:
            self.stdout.write(json.dumps(_fields(ranking, board), ensure_ascii=False))
        else:
            self.stdout.write("\n".join([*_lines(ranking), *(_shown(board) if board else ())]))


def _ranking(options: dict[str, Any]) -> tuple[Ranking, Board | None]:
    """The ratings, and the leaderboard that they are of; None for a file of battles."""
    settings = {
        "draws": options["bootstrap"],
        "seed": options["seed"],
        "anchor": options["anchor"],
    }
    if options["battles"] is not None:
        fought = battles(read_rows(options["battles"]))
        counts = (outcome_of(each.model_a, each.model_b, [each.verdict]) for each in fought)
        return bradley_terry(counts, **settings), None
    source, judge = Source(options["verdicts"]), options["judge"]
    board = dataset_board(options["dataset"], source, judge=judge, **settings)
    return board.ranking, board


def _stands_in(board: Board) -> str | None:
    """What decided in the annotators' stead; None where that was no judge, or the base judge."""
    if board.source is Source.SELECTED and board.voted:
        return "stack"
    return "selected" if board.source in {Source.SELECTED, Source.SUBSET} else None


def _shown(board: Board) -> Iterator[str]:
    """Whose verdicts the ratings count."""
    words = {
        "stack": "under the weighted vote that stands in for the annotators; --verdicts subset has "
        "their selected preferences",
        "selected": "under the annotators' selected preferences",
        None: "without preferences",
    }
    if board.judge:
        yield f"by {board.judge}, {words[_stands_in(board)]}"
    if board.edited:
        yield "some of these preferences were edited after their test verdicts could be seen"
    yield from kin_lines(board.kin)


def _fields(ranking: Ranking, board: Board | None) -> dict[str, object]:
    return {
        "verdicts": board and board.source.value,
        "judge": (board and board.judge) or None,
        "stands_in": board and _stands_in(board),
        "edited": board and board.edited,
        "method": "bradley-terry",
        "seed": ranking.seed,
        "bootstrap": ranking.draws,
        "bounded_draws": ranking.bounded_draws,
        "comparisons": ranking.comparisons,
        "sessions": ranking.sessions,
        "anchor": ranking.anchor,
        "models": [
            {
                "model": row.model,
                "rating": row.rating,
                "low": row.low,
                "high": row.high,
                "rank": row.rank,
                "rank_low": row.rank_low,
                "rank_high": row.rank_high,
                "low_unbounded": row.low_unbounded,
                "high_unbounded": row.high_unbounded,
                "comparisons": row.comparisons,
                "standing": row.standing.lower(),
            }
            for row in ranking.models
        ],
    }


def _lines(ranking: Ranking) -> list[str]:
    if not ranking.models:
        return ["no comparison between named models has a verdict"]
    width = max(len(row.model) for row in ranking.models)
    heading = f"{'rank':>10}  {'model':<{width}}  {'rating':>8}  {'95 % interval':<22}  comparisons"
    return [
        heading,
        *(_line(row, width) for row in ranking.models),
        (
            f"Bradley-Terry on {counted(ranking.comparisons, 'comparison')} of "
            f"{counted(ranking.sessions, 'session')}; {_draws(ranking)}"
        ),
    ]


def _draws(ranking: Ranking) -> str:
    if ranking.missing:
        return f"too few sessions for intervals: about {ranking.missing} more are needed"
    return (
        f"{ranking.bounded_draws:,} of {counted(ranking.draws, 'bootstrap draw')} "
        f"with finite ratings, seed {ranking.seed}"
    )


def _line(row: ModelRating, width: int) -> str:
    ranks = "-" if row.rank is None else str(row.rank)
    if row.rank_low is not None and row.rank_low != row.rank_high:
        ranks += f" ({row.rank_low}-{row.rank_high})"
    rating = row.standing.lower().replace("_", " ") if row.rating is None else f"{row.rating:.1f}"
    ends = f"{_ends(row):<22}"
    return f"{ranks:>10}  {row.model:<{width}}  {rating:>8}  {ends}  {row.comparisons}"


def _ends(row: ModelRating) -> str:
    """The interval; "" without one."""
    sides = ((row.low, row.low_unbounded), (row.high, row.high_unbounded))
    told = [
        "unbounded" if is_open else "" if value is None else f"{value:.1f}"
        for value, is_open in sides
    ]
    return " to ".join(told) if all(told) else ""
