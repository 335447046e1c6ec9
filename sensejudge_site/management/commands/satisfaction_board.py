"""`manage.py satisfaction_board`: how satisfied users are with each model's answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.refusals import Refused
from annotation.queries.datasets import dataset_of
from benchmark.core.corrected import MeanEstimate
from benchmark.core.model_satisfaction import ModelDifference, mean_cells
from benchmark.queries.model_satisfaction import (
    ModelsBoard,
    SatisfactionQuestion,
    Voice,
    models_board,
)
from sensejudge_site.management.parsing import OneLineCommand, counted, number_from


class Command(OneLineCommand):
    """Compares models by scores of users, of an evaluator, or of the two together."""

    help = (
        "Mean score, satisfied and dissatisfied share of each model's answers, with intervals over "
        "users and the difference of every two models."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declares whose scores of which dataset."""
        parser.add_argument("--dataset", required=True, metavar="SLUG")
        parser.add_argument(
            "--study", default="", metavar="SLUG", help="only ratings of this study"
        )
        parser.add_argument(
            "--voice",
            choices=[each.value for each in Voice],
            default=Voice.PEOPLE.value,
            help="what users rated, what an evaluator scored, or the evaluator corrected by users",
        )
        parser.add_argument(
            "--run",
            type=number_from(1),
            metavar="N",
            help="the evaluator's run (default: the finished one with most scores)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Compares and prints; exits 2 where there is nothing of what was asked for."""
        voice = Voice(options["voice"])
        dataset = dataset_of(options["dataset"])
        board = models_board(
            SatisfactionQuestion(dataset.slug, None, options["run"], options["study"], voice)
        )
        if board.dataset is None or board.dataset.id != dataset.pk:
            message = f"the study {options['study']} is not of the dataset {dataset.slug}"
            raise Refused("benchmark:unknown-choice", message)
        if not (board.answers or board.unnamed or board.runs or board.study):
            message = f"no ratings or scores in {dataset.slug!r}"
            raise Refused("benchmark:unknown-choice", message)
        if board.voice is not voice:
            message = f"no finished satisfaction run has scored {dataset.slug}"
            raise Refused("leaderboard:not-judged", message)
        if options["json"]:
            self.stdout.write(json.dumps(_fields(board), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(_lines(board)))


def _fields(board: ModelsBoard) -> dict[str, object]:
    labels = board.labels
    said = labels and labels.statement
    return {
        "voice": board.voice.value,
        "run": board.run.id if board.run and board.voice is not Voice.PEOPLE else None,
        "whole_conversations": board.whole,
        "users": board.users,
        "unnamed": board.unnamed,
        "unscored": board.unscored,
        "grounds": [each.value.lower() for each in labels.grounds] if labels else [],
        "statement": said and said.statement,
        "models": [
            row.record()
            | {"scenarios": {name: mean_cells(each) for name, each in row.scenarios.items()}}
            for row in board.models
        ],
        "corrected": [record for row in board.corrected for record in row.records()],
        "differences": [
            *(each.record("mean") for each in board.mean_differences),
            *(each.record("dissatisfied") for each in board.low_differences),
        ],
        "questions": [
            {
                "question": each.question,
                "options": list(each.options),
                "models": [
                    {"model": model, "counts": list(counts), "answered": total}
                    for model, counts, total in each.models
                ],
            }
            for each in board.questionnaire
        ],
    }


def _lines(board: ModelsBoard) -> Iterator[str]:
    names = [row.model for row in board.models] + [each.model for each in board.corrected]
    if not names:
        yield "no ratings of named models"
        return
    width = max(map(len, names))
    for row in board.models:
        low = f"{row.dissatisfied.value:.1%} dissatisfied"
        yield f"{row.model:<{width}}  {_told(row.mean)}  {low}  {counted(row.mean.rows, 'answer')}"
    for each in board.corrected:
        ways = (each.mean.human, each.mean.judge, each.mean.corrected)
        people, judge, both = (_told(found) for found in ways)
        yield f"{each.model:<{width}}  people {people}  evaluator {judge}  corrected {both}"
    if board.unscored:
        yield f"{board.unscored} of {counted(board.asked, 'answer')} without a score"
    for difference in board.mean_differences:
        yield _difference(difference)


def _told(found: MeanEstimate | None) -> str:
    if found is None:
        return "-"
    interval = found.interval
    ends = f" ({interval.low:.2f} to {interval.high:.2f})" if interval else ""
    return f"{found.value:.2f}{ends}"


def _difference(each: ModelDifference) -> str:
    p = "" if each.p is None else f", p {each.p:.3f}"
    users = f"{each.both} of {counted(each.users, 'user')} rated both"
    return f"{each.first} less {each.second}: {each.value:+.2f}{p} ({users})"
