"""What the commands that work runs off have in common."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from django.core.management.base import CommandError, CommandParser, OutputWrapper

from annotation.models import Dataset, User
from annotation.queries.annotators import UnknownAnnotatorError, annotators, resolve_annotator
from annotation.queries.datasets import UnknownDatasetError, dataset_of
from judging.core.endpoints import InvalidEndpointError
from judging.services.judges import UnknownJudgeError
from judging.services.pairwise_plans import NotDistilledError, NothingToJudgeError

INPUT_WRONG: Final = 2
WORK_FAILED: Final = 1
_SHOW_EVERY_SECONDS: Final = 2.0

INPUT_ERRORS: Final = (
    InvalidEndpointError,
    NotDistilledError,
    NothingToJudgeError,
    UnknownAnnotatorError,
    UnknownJudgeError,
)


def add_arguments(parser: CommandParser, *, judge: str) -> None:
    """The arguments of every command about annotators of a dataset."""
    parser.add_argument("--dataset", required=True, metavar="SLUG")
    parser.add_argument("--annotator", default="", metavar="NAME", help="one alone; all without")
    parser.add_argument("--judge", metavar="lexical|ENDPOINT", help=judge)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def dataset_named(slug: str) -> Dataset:
    """The dataset of a short name; the command ends with 2 where there is none."""
    try:
        return dataset_of(slug)
    except UnknownDatasetError as error:
        raise wrong_input(error) from error


def wrong_input(error: Exception) -> CommandError:
    """The way to end a command over something that was asked wrongly."""
    return CommandError(f"{getattr(error, 'code', 'input')}: {error}", returncode=INPUT_WRONG)


def people(dataset: Dataset, name: str) -> Iterator[tuple[str, User]]:
    """The annotator of a name, or all of them, each with the name to print.

    Raises:
        UnknownAnnotatorError: nobody of this name labels in the dataset.
    """
    found = [resolve_annotator(dataset=dataset, name=name)] if name else annotators(dataset=dataset)
    users = User.objects.in_bulk([each.id for each in found])
    for each in found:
        yield each.name, users[each.id]


class ProgressLine:
    """Says on standard error how many answers there are, every two seconds."""

    def __init__(self, stream: OutputWrapper, what: str) -> None:
        self._stream = stream
        self._what = what
        self._answers = 0
        self._shown = time.monotonic()

    def __call__(self, answers: int) -> None:
        """Counts the answers of one commit."""
        self._answers += answers
        if time.monotonic() - self._shown >= _SHOW_EVERY_SECONDS:
            self._stream.write(f"{self._what}: {self._answers} answers")
            self._shown = time.monotonic()
