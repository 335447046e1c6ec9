"""Labelled comparisons of a PandaLM file without a database: for measurements that keep nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from annotation.core.choices import Verdict
from annotation.core.formats import pandalm
from annotation.core.formats.detect import open_records
from annotation.core.formats.records import ComparisonRecord, SessionRecord
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem
from judging.core.judge_prompts import PairTexts, pair_texts


@dataclass(frozen=True, slots=True)
class LabelledPairs:
    """The comparisons of one scenario as an import would number them, in file order.

    `labels` are verdicts by annotator and comparison, ties included.
    """

    items: Sequence[SplitItem]
    texts: Mapping[int, PairTexts]
    labels: Mapping[str, Mapping[int, Verdict]]


def read_pandalm(path: Path) -> LabelledPairs:
    """Reads a file in PandaLM's layout.

    Comparisons of one session stand together, where it first appears, as in a database.

    Raises:
        Refused: a row has a fault; the import lists them all; nothing to read is there.
    """
    turns: dict[str, dict[str, tuple[SessionRecord, ComparisonRecord]]] = {}
    for row in open_records(path, pandalm.NAME)[1]:
        if row.faults:
            first = row.faults[0]
            message = f"{path.name}, line {first.line}: {first.field}: {first.reason}"
            raise Refused("pairs:faulty", message)
        session = cast("SessionRecord", row.record)  # a row of this format is nothing else
        for comparison in session.turns[0].comparisons:
            turns.setdefault(session.key, {}).setdefault(comparison.key, (session, comparison))
    return _numbered(turns)


def _numbered(
    turns: Mapping[str, Mapping[str, tuple[SessionRecord, ComparisonRecord]]],
) -> LabelledPairs:
    items: list[SplitItem] = []
    texts: dict[int, PairTexts] = {}
    labels: dict[str, dict[int, Verdict]] = {}
    for turn_id, session, comparison in _in_order(turns):
        number = len(items)
        turn = session.turns[0]
        said = {response.key: response.text or "" for response in turn.responses}
        text_a, text_b = said[comparison.a], said[comparison.b]
        items.append(SplitItem(number, turn_id, text_a, text_b, session.key, comparison.key))
        texts[number] = pair_texts(
            system_prompt=session.system_prompt,
            earlier=(),
            user_message=turn.user_message,
            text_a=text_a,
            text_b=text_b,
            language=session.language,
        )
        for label in comparison.labels:
            labels.setdefault(label.details.annotator, {})[number] = label.verdict
    return LabelledPairs(items, texts, labels)


def _in_order(
    turns: Mapping[str, Mapping[str, tuple[SessionRecord, ComparisonRecord]]],
) -> Iterator[tuple[int, SessionRecord, ComparisonRecord]]:
    for turn_id, known in enumerate(turns.values()):
        for session, comparison in known.values():
            yield turn_id, session, comparison
