"""LLMBar: pairs with a gold label, and the recorded replies of judges in both orders.

A row has `input`, `output_1`, `output_2` and `label` (1 or 2), and here also `subset`, `index` and
`judges`: {name: [{"swap = False": {completion, winner}, "swap = True": {…}}]}. A winner is given in
the pair's own coordinates, whichever output was shown first; null is a reply without a verdict.
LLMBar's own file of one judge (`evaluators/MODEL/PROMPT/result.json`) has that list as `results`;
its judge is named by these folders, or by the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.formats.fields import SCENARIO_CHARS, Fields, number_of
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    DatasetRecord,
    GoldRecord,
    ResponseRecord,
    Row,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop
from judging.core.formats.recorded import JUDGE_CHARS, RecordedSession, VerdictRecord, recorded

NAME: Final = "llmbar"
SCENARIO: Final = "llmbar"
"""Of rows without a subset."""

_WINNERS: Final = {1: Verdict.A, 2: Verdict.B}
_ORDERS: Final = {"swap = False": Order.ORIGINAL, "swap = True": Order.SWAPPED}
_RESULTS: Final = "results"
_BY_FILE: Final = ""
"""The judge of `results`, until the name of the file is known."""
_KNOWN: Final = ("subset", "input", "output_1", "output_2", "label", "judges", _RESULTS)


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and {"input", "output_1", "output_2", "label"} <= row.keys()


def parse(fields: Fields) -> RecordedSession:
    """One row as a session of one turn, with what every judge said of its pair."""
    fields.refuse_unplaced(*_KNOWN)
    scenario = fields.short("subset", SCENARIO_CHARS) if fields.has("subset") else SCENARIO
    prompt = fields.text("input")
    first, second = fields.answer("output_1"), fields.answer("output_2")
    comparison = ComparisonRecord(
        key=_comparison_key(fields, scenario, (prompt, first or "", second or "")),
        a="1",
        b="2",
        extra=fields.kept(*_KNOWN),
        gold=(GoldRecord("DATASET", _WINNERS.get(fields.whole("label", 1, 2))),),
    )
    responses = (
        ResponseRecord("1", first),
        ResponseRecord("2", second, variant="B" if first == second else ""),
    )
    turn = TurnRecord(prompt, responses, (comparison,))
    session = SessionRecord(content_key(scenario, prompt), scenario, (turn,))
    return recorded(session, _verdicts(fields, comparison.key))


def _comparison_key(fields: Fields, scenario: str, content: tuple[str, ...]) -> str:
    index = fields.whole_or_none("index", 0, 2**31 - 1)
    name = "" if index is None else f"{scenario}/{index}-"
    return f"{name}{content_key(*content)[:12]}"


def _verdicts(fields: Fields, comparison: str) -> Iterator[VerdictRecord]:
    if fields.has(_RESULTS):
        yield from _of_judge(fields, _RESULTS, _BY_FILE, comparison)
    judges = Fields(fields.mapping("judges"), fields.notes, fields.at("judges"))
    for judge in judges.data:
        if not 0 < len(judge) <= JUDGE_CHARS:
            judges.fault(
                judge,
                gettext_noop("Must have 1 to %(longest)d characters"),
                judge,
                longest=JUDGE_CHARS,
            )
        yield from _of_judge(judges, judge, judge, comparison)


def _of_judge(holder: Fields, name: str, judge: str, comparison: str) -> Iterator[VerdictRecord]:
    """The verdicts of one judge in both orders, which a field holds."""
    tries = holder.items(name)
    if len(tries) != 1:
        holder.fault(name, gettext_noop("Expected one pair of replies"), len(tries))
    for given in tries:
        for swap, order in _ORDERS.items():
            if not given.has(swap):
                given.fault(swap, gettext_noop("Missing"))
                continue
            said = Fields(given.mapping(swap), given.notes, given.at(swap))
            yield VerdictRecord(judge, 0, comparison, order, _winner(said), raw=_completion(said))


def named_by_file(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of a file; a judge without a name has that of the file or its folders."""
    folders = path.parts[-4:-1]
    name = Path(path.name.removesuffix(".gz")).stem
    if len(folders) == 3 and folders[0].lower() == "evaluators":
        name = " ".join(folders[1:])
    for row in rows:
        yield replace(row, record=_named(row.record, name[:JUDGE_CHARS]))


def _named(
    record: SessionRecord | DatasetRecord | None, name: str
) -> SessionRecord | DatasetRecord | None:
    if not isinstance(record, RecordedSession):
        return record
    verdicts = (replace(each, judge=each.judge or name) for each in record.verdicts)
    return replace(record, verdicts=tuple(verdicts))


def _winner(said: Fields) -> Verdict | None:
    """1 or 2; null, or text that names neither, is a reply without a verdict."""
    if not said.has("winner"):
        return None
    number = number_of(said.data["winner"])
    if number not in _WINNERS:
        said.fault("winner", gettext_noop("Expected 1, 2 or null"), said.data["winner"])
        return None
    return _WINNERS[number]


def _completion(said: Fields) -> str:
    """The reply: [text, why it ended], or the text alone."""
    given = said.data.get("completion")
    if isinstance(given, list) and given:
        given = given[0]
    return "" if given is None else said.notes.text(given, said.at("completion"))


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("LLMBar with recorded judges"),
        line=gettext_noop(
            "Two outputs for an instruction with a gold answer, and judges’ verdicts in "
            "both orders."
        ),
        looks_like=looks_like,
        parse=parse,
        checked=named_by_file,
    ),
)
