"""`manage.py leaderboard`: which model wins, by a dataset's verdicts or a file of battles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from annotation.core.intervals import ends
from annotation.core.refusals import Refused
from annotation.queries.label_sampling import Ground
from benchmark.core.bradley_terry import OutcomeCells
from benchmark.core.corrected import MeanEstimate, Obstacle
from benchmark.core.rank_agreement import DRAWS_BETWEEN, reference_agreement
from benchmark.core.ranking import (
    HeadToHead,
    ModelRating,
    Ranking,
    RatingMethod,
    duels_of_counts,
    rank_models,
)
from benchmark.core.snapshots import SnapshotKind
from benchmark.queries.boards import Board, agreement_fields, dataset_board
from benchmark.queries.corrected import CorrectedBoard, dataset_corrected
from benchmark.queries.ranking import DRAWS, Source
from benchmark.queries.snapshot_questions import board_question
from benchmark.queries.trust import SEED
from benchmark.services.snapshots import keep
from judging.core.formats.battles import read_battles
from judging.core.rules import JudgePrompt
from sensejudge_site.management.parsing import (
    INPUT_WRONG,
    OneLineCommand,
    counted,
    few_sessions_told,
    kin_lines,
    number_from,
    runs_told,
)
from sensejudge_site.management.rankings import (
    between_annotators,
    draws_told,
    grades,
    in_words,
    reference_of,
)

MOST_DRAWS: Final = 100_000
_OF_DATASET: Final = ("scenario", "annotator", "language", "prompt")
_USUAL: Final = {
    "verdicts": Source.HUMAN.value,
    "method": RatingMethod.BRADLEY_TERRY.value,
}
_OF_MODELS: Final = ("sessions", "annotator", "method", "style", "reference")
_NOT_WITH: Final = {
    "grades": (
        *("sessions", "scenario", "annotator", "language", "method", "style", "reference"),
        *("verdicts", "corrected", "between_annotators", "anchor", "bootstrap", "prompt"),
    ),
    "corrected": (*_OF_MODELS, "scenario", "language", "between_annotators", "prompt"),
    "between_annotators": (*_OF_MODELS, "verdicts", "judge", "anchor", "prompt"),
    "battles": ("verdicts", "judge", *_OF_DATASET, "style"),
    "dataset": ("sessions",),
}
"""What each way of asking has no use for; the first that is asked counts."""
_Duels = dict[tuple[str, str], HeadToHead]


class Command(OneLineCommand):
    """Ranks models with intervals; what the data cannot say has no number."""

    help = (
        "Bradley-Terry ratings (400 points are odds of ten to one), Elo or win rates with 95 % "
        "bootstrap intervals over sessions. A model that never lost or never won has no "
        "Bradley-Terry rating."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose verdicts, and how they are resampled."""
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--dataset", metavar="SLUG", help="rate by this dataset's verdicts")
        source.add_argument(
            "--battles", type=Path, metavar="FILE", help="columns: model_a, model_b, winner"
        )
        parser.add_argument(
            "--sessions",
            default="",
            metavar="COLUMN",
            help="with --battles: the column by which battles belong together",
        )
        parser.add_argument(
            "--verdicts",
            choices=[each.value for each in Source],
            default=_USUAL["verdicts"],
            help="with --dataset: by human labels, by the annotators' stand-ins, by the "
            "judge under their selected preferences, or by the base judge",
        )
        parser.add_argument(
            "--judge",
            default="",
            metavar="NAME",
            help="with --verdicts of a judge: which one (default: the one with most comparisons)",
        )
        for name, what in zip(_OF_DATASET, ("NAME", "NAME", "CODE", "NAME"), strict=True):
            parser.add_argument(
                f"--{name}", default="", metavar=what, help=f"with --dataset: only this {name}"
            )
        parser.add_argument(
            "--method",
            choices=[each.value for each in RatingMethod],
            default=_USUAL["method"],
            help="what models are ordered by (default: bradley-terry)",
        )
        parser.add_argument(
            "--reference",
            type=Path,
            metavar="FILE",
            help="compare with scores of models from elsewhere: CSV or JSON with model and score",
        )
        parser.add_argument(
            "--between-annotators",
            action="store_true",
            help="with --dataset: how each annotator ranks the models, and how well any two agree",
        )
        parser.add_argument(
            "--style",
            action="store_true",
            help="with --dataset: Bradley-Terry ratings with length, headings, lists and bold "
            "controlled for, and the effect of each",
        )
        parser.add_argument(
            "--corrected",
            action="store_true",
            help="with --dataset: win rates by people, by the base judge (or --verdicts selected: "
            "by the annotators' stand-ins), and by that judge corrected by people",
        )
        parser.add_argument(
            "--grades",
            action="store_true",
            help="with --dataset: the mean grade of each model, MT-Bench's score, by the run "
            "with most grades, or that of --judge with most",
        )
        parser.add_argument(
            "--anchor", metavar="MODEL", help="model rated 1000 (default: the mean)"
        )
        draws = number_from(0, MOST_DRAWS)
        parser.add_argument("--bootstrap", type=draws, metavar="N")
        parser.add_argument("--seed", type=number_from(0), default=SEED, metavar="N")
        parser.add_argument(
            "--snapshot", action="store_true", help="with --dataset: save a numbered snapshot"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Rates and prints; exits 2 where the input cannot be understood."""
        other = options["between_annotators"] or options["grades"]
        if options["snapshot"] and (other or options["battles"] is not None):
            message = "--snapshot needs --dataset, and the board of models or --corrected"
            raise CommandError(message, returncode=INPUT_WRONG)
        _refuse_idle(options)
        if options["bootstrap"] is None:
            options["bootstrap"] = DRAWS_BETWEEN if options["between_annotators"] else DRAWS
        if options["corrected"]:
            found = _corrected(options)
            number = _kept(options, found) if options["snapshot"] else None
            fields = _corrected_fields(found) | {"snapshot": number}
            lines = [*_corrected_lines(found), *_kept_line(number)]
            told = json.dumps(fields, ensure_ascii=False)
            self.stdout.write(told if options["json"] else "\n".join(lines))
            return
        if options["grades"]:
            self.stdout.write(grades(options))
            return
        if options["between_annotators"]:
            self.stdout.write(between_annotators(options))
            return
        reference = reference_of(options["reference"])
        ranking, duels, board = _ranking(options)
        beside = reference_agreement(ranking, reference) if reference else None
        kept = _kept(options) if options["snapshot"] else None
        if options["json"]:
            fields = _fields(ranking, duels, board) | {"snapshot": kept}
            fields["reference"] = beside and agreement_fields(beside)
            self.stdout.write(json.dumps(fields, ensure_ascii=False))
        else:
            lines = [*_lines(ranking), *(_shown(board) if board else ())]
            if reference:
                lines.append(f"beside the reference: {in_words(beside)}")
            self.stdout.write("\n".join([*lines, *_kept_line(kept)]))


def _refuse_idle(options: dict[str, Any]) -> None:
    """Options that would change nothing are a mistake, never ignored."""
    mode = next((name for name in _NOT_WITH if options[name]), "dataset")
    idle = [
        name for name in _NOT_WITH[mode] if options[name] not in {None, "", _USUAL.get(name, False)}
    ]
    if mode == "dataset" and options["verdicts"] == Source.HUMAN.value:
        idle += [name for name in ("judge", "prompt") if options[name]]
    if mode == "corrected" and options["verdicts"] in {"subset", "drawn"}:
        idle.append(f"verdicts {options['verdicts']}")
    if idle:
        told = ", ".join(f"--{name.replace('_', '-')}" for name in idle)
        message = f"--{mode.replace('_', '-')} has no use for {told}"
        raise CommandError(message, returncode=INPUT_WRONG)


def _kept_line(number: int | None) -> list[str]:
    return [] if number is None else [f"kept as snapshot {number}"]


def _kept(options: dict[str, Any], found: CorrectedBoard | None = None) -> int:
    """The number under which the board of models is kept, or the corrected one that was found."""
    question = board_question(
        options["dataset"],
        found.source.value if found else options["verdicts"],
        judge=found.judge if found else options["judge"],
        part={name: options[name] for name in _OF_DATASET},
        method=RatingMethod(options["method"]),
        style=options["style"],
        draws=options["bootstrap"],
        seed=options["seed"],
        anchor=options["anchor"],
    )
    number: int = keep(SnapshotKind.CORRECTED if found else SnapshotKind.BOARD, question).pk
    return number


def _ranking(options: dict[str, Any]) -> tuple[Ranking, _Duels, Board | None]:
    """The ratings, and the leaderboard that they are of; None for a file of battles."""
    settings = {
        "draws": options["bootstrap"],
        "seed": options["seed"],
        "anchor": options["anchor"],
    }
    method = RatingMethod(options["method"])
    if method is RatingMethod.WIN_RATE and options["anchor"]:
        raise CommandError("--anchor means nothing to win rates", returncode=INPUT_WRONG)
    part = {name: options[name] for name in _OF_DATASET}
    if options["style"] and method is not RatingMethod.BRADLEY_TERRY:
        raise CommandError("--style needs bradley-terry", returncode=INPUT_WRONG)
    if options["battles"] is not None:
        table = read_battles(options["battles"], session=options["sessions"])
        ranking = rank_models(OutcomeCells.of_battles(table), method, **settings)
        return ranking, duels_of_counts(table.verdicts), None
    source, judge = Source(options["verdicts"]), options["judge"]
    board = dataset_board(
        options["dataset"],
        source,
        judge=judge,
        part=part,
        method=method,
        style=options["style"],
        **settings,
    )
    return board.ranking, dict(board.duels), board


def _corrected(options: dict[str, Any]) -> CorrectedBoard:
    if options["dataset"] is None or options["anchor"] is not None:
        raise Refused(
            "leaderboard:corrected-of", "--corrected needs --dataset, and takes no anchor"
        )
    is_own = options["verdicts"] == Source.SELECTED.value
    return dataset_corrected(
        options["dataset"],
        Source.SELECTED if is_own else Source.BASE,
        judge=options["judge"],
        seed=options["seed"],
        draws=options["bootstrap"],
    )


def _corrected_fields(board: CorrectedBoard) -> dict[str, object]:
    labels, ranking = board.labels, board.ranking
    said = labels.statement
    left_out = ("source", "judge", "grounds")
    return {
        "verdicts": board.source.value,
        "judge": board.judge,
        "grounds": [each.value.lower() for each in labels.grounds],
        "studies": list(labels.studies),
        "statement": said and said.statement,
        "labels_left_out": labels.left_out,
        "lambda": ranking and ranking.weight,
        "bootstrap": ranking and ranking.draws,
        "seed": ranking and ranking.seed,
        "agreement": board.agreement.cells(judge="consistency"),
        "models": [
            {name: value for name, value in row.items() if name not in left_out}
            for row in board.records()
        ],
    }


def _corrected_lines(board: CorrectedBoard) -> Iterator[str]:
    width = max(len(model) for model, _figure in board.models)
    yield f"{'model':<{width}}  {'people':>22}  {'judge':>22}  {'corrected':>22}       r  labels"
    for model, figure in board.models:
        ways = (figure.human, figure.judge, figure.corrected)
        r = "-" if figure.correlation is None else f"{figure.correlation:.3f}"
        cells = "  ".join(f"{_share(each):>22}" for each in ways)
        yield f"{model:<{width}}  {cells}  {r:>6}  {figure.labels}"
    grounds = _BY_CHANCE if board.labels.chances else _GROUNDS[board.labels.grounds[0]]
    yield f"judge: {board.judge}; {grounds}"
    for obstacle, told in _OBSTACLES.items():
        held = [row for row in board.models if row[1].obstacle is obstacle]
        if held:
            names = ", ".join(model for model, _figure in held)
            most = max(figure.missing for _model, figure in held)
            more = f", up to {counted(most, 'more label')} needed" if most else ""
            yield f"{obstacle.lower()}: {told}{more} ({names})"
    for studies, told in (
        (board.labels.unfinished, "count once every item there is answered or skipped"),
        (board.labels.unknown, "have no known inclusion probability"),
        (board.labels.shared, "were drawn unevenly, and several annotators shared them"),
        (board.labels.partial, "were drawn unevenly, and the judge was asked about a part of them"),
    ):
        if studies:
            yield f"labels of {', '.join(studies)} {told}"
    if board.agreement.human and board.agreement.human.units.few:
        yield few_sessions_told(board.agreement.human.units)


_OBSTACLES: Final = {
    Obstacle.OUT_OF_RANGE: "the judge's scores are on another scale",
    Obstacle.FEW_LABELS: "too few labels",
    Obstacle.NOT_RANDOM: "the labels are not known to be a random part of what it judged",
    Obstacle.OTHER_TARGETS: "people and the judge answered about other targets",
}
_GROUNDS: Final = {
    Ground.ALL: "everything that it judged is labelled",
    Ground.STUDIES: "the labels are the first items of studies drawn here",
    Ground.STATED: "the labels are stated to be a random sample",
    Ground.NONE: "not corrected: label a random sample in a study, or import_records "
    "--labels-random says how labels were drawn",
}
_BY_CHANCE: Final = "each label counts for as many comparisons as it stands for in its study's draw"


def _share(found: MeanEstimate | None) -> str:
    if found is None:
        return "-"
    interval = found.interval
    told = f" ({interval.low:.1%} to {interval.high:.1%})" if interval else ""
    return f"{found.value:.1%}{told}"


def _stands_in(board: Board) -> str | None:
    """What decided in the annotators' stead; None where that was no judge, or the base judge."""
    if board.source is Source.SELECTED and board.voted:
        return "stack"
    if board.source is Source.DRAWN:
        return "drawn"
    return "selected" if board.source in {Source.SELECTED, Source.SUBSET} else None


def _shown(board: Board) -> Iterator[str]:
    """Whose verdicts the ratings count."""
    words = {
        "stack": "under the weighted vote that stands in for the annotators; --verdicts subset has "
        "their selected preferences",
        "selected": "under the annotators' selected preferences",
        "drawn": "under preferences drawn at random",
        None: "without preferences",
    }
    if board.judge:
        way = f" (prompt {JudgePrompt(board.prompt).word})" if board.prompt else ""
        yield f"by {board.judge}{way}, {words[_stands_in(board)]}; {runs_told(board.runs)}"
    yield from _style_lines(board)
    if board.edited:
        yield "some of these preferences were edited after their test verdicts could be seen"
    yield from kin_lines(board.kin)


def _fields(ranking: Ranking, duels: _Duels, board: Board | None) -> dict[str, object]:
    return {
        "verdicts": board and board.source.value,
        "judge": (board and board.judge) or None,
        "prompt": JudgePrompt(board.prompt).word if board and board.prompt else None,
        "runs": list(board.runs) if board else [],
        "stands_in": board and _stands_in(board),
        "edited": board and board.edited,
        "method": ranking.method.value,
        "seed": ranking.seed,
        "bootstrap": ranking.draws,
        "bounded_draws": ranking.bounded_draws,
        "comparisons": ranking.comparisons,
        "sessions": ranking.sessions,
        "effective_sessions": ranking.units.effective,
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
                "first": ranking.first.get(row.model),
                "comparisons": row.comparisons,
                "standing": row.standing.lower(),
            }
            for row in ranking.models
        ],
        "style": board and _style_fields(board),
        "pairs": [
            {
                "model": model,
                "opponent": other,
                **asdict(duel),
                "above": ranking.above.get((model, other)),
            }
            for (model, other), duel in sorted(duels.items())
        ],
    }


def _style_fields(board: Board) -> dict[str, object] | None:
    """What style control says; None without it."""
    if board.style is None:
        return None
    return {
        "unwritten": board.style.unwritten,
        "effects": [
            {"style": each.style, "value": each.value, **ends(each.interval)}
            for each in board.style.effects
        ],
    }


def _style_lines(board: Board) -> Iterator[str]:
    for each in board.style.effects if board.style else ():
        told = "-" if each.value is None else f"{each.value:+.2f}"
        if each.interval:
            told += f" ({each.interval.low:+.2f} to {each.interval.high:+.2f})"
        yield f"{each.style:>10}  {told}  log-odds for one root mean square more"
    if board.style and board.style.unwritten:
        yield f"{counted(board.style.unwritten, 'verdict')} on responses without text left out"


def _lines(ranking: Ranking) -> list[str]:
    if not ranking.models:
        return ["no comparison between named models has a verdict"]
    width = max(len(row.model) for row in ranking.models)
    by_share = ranking.method is RatingMethod.WIN_RATE
    title = "win rate" if by_share else "rating"
    heading = f"{'rank':>10}  {'model':<{width}}  {title:>8}  {'95 % interval':<22}  comparisons"
    write = _percent if by_share else _points
    names = {
        RatingMethod.BRADLEY_TERRY: "Bradley-Terry",
        RatingMethod.ELO: "Elo (mean over all orders)",
        RatingMethod.WIN_RATE: "Win rates",
    }
    return [
        heading,
        *(_line(row, width, write) for row in ranking.models),
        (
            f"{names[ranking.method]} on {counted(ranking.comparisons, 'comparison')} of "
            f"{counted(ranking.sessions, 'session')}; {draws_told(ranking)}"
        ),
    ]


def _points(value: float) -> str:
    return f"{value:.1f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _line(row: ModelRating, width: int, write: Callable[[float], str]) -> str:
    ranks = "-" if row.rank is None else str(row.rank)
    if row.rank_low is not None and row.rank_low != row.rank_high:
        ranks += f" ({row.rank_low}-{row.rank_high})"
    rating = row.standing.lower().replace("_", " ") if row.rating is None else write(row.rating)
    ends = f"{_ends(row, write):<22}"
    return f"{ranks:>10}  {row.model:<{width}}  {rating:>8}  {ends}  {row.comparisons}"


def _ends(row: ModelRating, write: Callable[[float], str]) -> str:
    """The interval; "" without one."""
    sides = ((row.low, row.low_unbounded), (row.high, row.high_unbounded))
    told = [
        "unbounded" if is_open else "" if value is None else write(value)
        for value, is_open in sides
    ]
    return " to ".join(told) if all(told) else ""
