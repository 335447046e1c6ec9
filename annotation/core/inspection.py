"""What is in a file, told before anything of it is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from annotation.core.formats.detect import AUTO, FORMATS, open_records
from annotation.core.formats.format import Format
from annotation.core.formats.records import FaultLog, ResponseRecord, Row, SessionRecord, TurnRecord
from annotation.core.language import language_of, primary_language
from annotation.core.refusals import gettext_noop

MOST_NAMES: Final = 1000
"""So many names of models and annotators are told apart."""


@dataclass(slots=True)
class FileFacts:
    """The figures of a file, by what its rows say; `whole` if all of its rows were read.

    `overlap` counts comparisons and responses that several annotators answered.
    """

    format: str
    rows: int = 0
    whole: bool = True
    sessions: int = 0
    turns: int = 0
    responses: int = 0
    comparisons: int = 0
    verdicts: int = 0
    ratings: int = 0
    gold: int = 0
    overlap: int = 0
    unanswered: int = 0
    uncompared: int = 0
    models: Counter[str] = field(default_factory=Counter)
    annotators: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    scenarios: Counter[str] = field(default_factory=Counter)
    faults: FaultLog = field(default_factory=FaultLog)
    source: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, object]:
        """The JSON object of `inspect_file --json`."""
        return {
            "format": self.format,
            "source": dict(self.source),
            "rows": self.rows,
            "whole": self.whole,
            "sessions": self.sessions,
            "turns": self.turns,
            "responses": self.responses,
            "comparisons": self.comparisons,
            "verdicts": self.verdicts,
            "ratings": self.ratings,
            "gold": self.gold,
            "models": dict(self.models.most_common()),
            "annotators": dict(self.annotators.most_common()),
            "languages": dict(self.languages.most_common()),
            "scenarios": dict(self.scenarios.most_common()),
            "can": list(self.can()),
            "missing": list(self.missing()),
            "fault_count": self.faults.count,
            "fault_groups": [group.as_dict() for group in self.faults.groups],
        }

    def can(self) -> Iterator[str]:
        """What can be done with the file's rows once they are imported."""
        return (text for holds, text in _CAN if holds(self))

    def missing(self) -> Iterator[str]:
        """What the file lacks for more."""
        return (text for holds, text in _MISSING if holds(self))


_Lines = tuple[tuple[Callable[[FileFacts], object], str], ...]
_CAN: Final[_Lines] = (
    (
        lambda facts: facts.comparisons,
        gettext_noop("Ask annotators, or judges, which response is better"),
    ),
    (
        lambda facts: facts.uncompared,
        gettext_noop("Create comparisons of the responses to a request"),
    ),
    (
        lambda facts: facts.responses,
        gettext_noop("Ask annotators how satisfied they are with each reply"),
    ),
    (lambda facts: facts.unanswered, gettext_noop("Have models answer the requests")),
    (
        lambda facts: facts.verdicts,
        gettext_noop("Learn each annotator's preferences, and measure a judge by them"),
    ),
    (lambda facts: facts.ratings, gettext_noop("Train and measure evaluators of satisfaction")),
    (lambda facts: facts.overlap, gettext_noop("Measure how far annotators agree")),
    (lambda facts: facts.gold, gettext_noop("Measure judges and annotators by gold answers")),
    (
        lambda facts: facts.verdicts and len(facts.models) > 1,
        gettext_noop("Rank the models on a leaderboard"),
    ),
)
_MISSING: Final[_Lines] = (
    (
        lambda facts: not facts.verdicts and not facts.ratings,
        gettext_noop("Verdicts or scores of annotators, to learn from them"),
    ),
    (
        lambda facts: facts.responses and not facts.comparisons and not facts.uncompared,
        gettext_noop("A second response to a request, to compare"),
    ),
    (
        lambda facts: facts.responses and len(facts.models) < 2,
        gettext_noop("Names of models, for a leaderboard"),
    ),
    (
        lambda facts: (facts.verdicts or facts.ratings) and not facts.overlap,
        gettext_noop("Several annotators on the same item, to measure agreement"),
    ),
    (
        lambda facts: facts.comparisons and not facts.gold,
        gettext_noop("Gold answers, to measure accuracy without annotators"),
    ),
)


def inspect(
    path: Path,
    format_name: str = AUTO,
    formats: Mapping[str, Format] = FORMATS,
    most_rows: int | None = None,
) -> FileFacts:
    """Read a file without storing anything; sessions are counted by their keys.

    Args:
        path: The file or directory.
        format_name: A name of `formats`, or `auto`.
        formats: Those that are known.
        most_rows: Read no more rows than this.

    Raises:
        Refused: nothing to read is there, or its format is not known.
    """
    chosen, rows = open_records(path, format_name, formats)
    facts = FileFacts(chosen.name, source={} if path.is_dir() else chosen.source_of(path))
    keys: set[int] = set()
    for row in islice(rows, most_rows):
        _count(facts, row, keys)
    facts.whole = next(rows, None) is None
    facts.sessions = len(keys)
    return facts


def _count(facts: FileFacts, row: Row, keys: set[int]) -> None:
    facts.rows += 1
    facts.faults.extend(row.faults)
    session = row.record
    if not isinstance(session, SessionRecord):
        return
    if hash(session.key) not in keys:
        texts = " ".join(turn.user_message or "" for turn in session.turns)
        language = primary_language(session.language) or language_of(texts)
        _add(facts.languages, language)
        _add(facts.scenarios, session.scenario)
    keys.add(hash(session.key))
    facts.turns += len(session.turns)
    facts.gold += len(session.gold)
    _rate(facts, [label.details.annotator for label in session.satisfaction])
    for turn in session.turns:
        _count_turn(facts, turn)


def _count_turn(facts: FileFacts, turn: TurnRecord) -> None:
    facts.responses += len(turn.responses)
    facts.comparisons += len(turn.comparisons)
    facts.unanswered += turn.user_message is not None and not turn.responses
    facts.uncompared += len(turn.responses) > 1 and not turn.comparisons
    for response in turn.responses:
        _count_response(facts, response)
    for comparison in turn.comparisons:
        names = [label.details.annotator for label in comparison.labels]
        facts.verdicts += len(names)
        facts.gold += len(comparison.gold)
        _overlap(facts, names)


def _count_response(facts: FileFacts, response: ResponseRecord) -> None:
    if response.model:
        _add(facts.models, response.model)
    facts.gold += len(response.gold)
    _rate(facts, [label.details.annotator for label in response.satisfaction])


def _rate(facts: FileFacts, names: list[str]) -> None:
    facts.ratings += len(names)
    _overlap(facts, names)


def _overlap(facts: FileFacts, names: list[str]) -> None:
    facts.overlap += len(set(names)) > 1
    for name in names:
        _add(facts.annotators, name)


def _add(counter: Counter[str], name: str) -> None:
    if name in counter or len(counter) < MOST_NAMES:
        counter[name] += 1
