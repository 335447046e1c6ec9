"""The test set of PandaLM: one comparison a row, annotator1 to annotator3 each 1, 2 or 0 (a tie).

All rows are one scenario; `motivation_app` is kept beside `idx` as metadata, since as scenarios its
groups would be far too small. Prompts are told apart by content, so the rows of one instruction and
input share a turn. Ids repeat in public files: a comparison is named by its id and its content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.fields import MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "pandalm"
SCENARIO: Final = "pandalm"

_NEEDS: Final = frozenset({"cmp_key", "response1", "response2"})
_ANNOTATORS: Final = ("annotator1", "annotator2", "annotator3")
_VERDICTS: Final = {0: Verdict.TIE, 1: Verdict.A, 2: Verdict.B}
_TOLD: Final = ("cmp_key", "instruction", "input", "response1", "response2", *_ANNOTATORS)


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and {"cmp_key", "response1", "response2"} <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn with one comparison."""
    fields.refuse_unplaced(*_TOLD)
    model_a, model_b = _models(fields)
    prompt = "\n\n".join(
        part for part in (fields.text("instruction"), fields.text_or("input")) if part
    )
    text_a, text_b = fields.answer("response1"), fields.answer("response2")
    variant_b = "B" if (model_a, text_a) == (model_b, text_b) else ""
    extra = fields.kept(*_TOLD)
    comparison = ComparisonRecord(
        key=_comparison_key(fields, (model_a, text_a or "", model_b, text_b or "")),
        a="a",
        b="b",
        extra=extra,
        labels=_labels(fields),
    )
    responses = (
        ResponseRecord("a", text_a, model_a),
        ResponseRecord("b", text_b, model_b, variant=variant_b),
    )
    turn = TurnRecord(prompt, responses, (comparison,))
    return SessionRecord(key=content_key(prompt), scenario=SCENARIO, turns=(turn,))


def _models(fields: Fields) -> tuple[str, str]:
    """The two model names, joined by the only underscore of `cmp_key`."""
    cmp_key = fields.short("cmp_key", 2 * MODEL_CHARS)
    model_a, _mark, model_b = cmp_key.partition("_")
    if cmp_key and (not model_a or not model_b or "_" in model_b):
        reason = gettext_noop("Expected two model names joined by one underscore")
        fields.fault("cmp_key", reason, cmp_key)
    return model_a, model_b


def _comparison_key(fields: Fields, content: tuple[str, ...]) -> str:
    number = fields.text_or("idx", longest=100) if isinstance(fields.data.get("idx"), str) else ""
    idx = number or str(fields.whole_or_none("idx", 0, 2**62) or 0)
    return f"{idx}-{content_key(*content)[:12]}"


def _labels(fields: Fields) -> tuple[PairwiseRecord, ...]:
    """The verdicts of those annotators whom the row names; at least one must be there."""
    given = [name for name in _ANNOTATORS if fields.has(name)]
    if not given:
        fields.fault(_ANNOTATORS[0], gettext_noop("No annotator verdict"))
    labels = []
    for name in given:
        verdict = _VERDICTS.get(fields.whole(name, 0, 2), Verdict.TIE)
        labels.append(PairwiseRecord(LabelDetails(name), verdict))
    return tuple(labels)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("PandaLM test set"),
        line=gettext_noop(
            "Two responses to an instruction, with the verdicts of three annotators."
        ),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
)
