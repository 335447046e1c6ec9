"""Auto-J's test pairs: scenario, prompt, "response 1", "response 2" and label, by people.

The label is 0 where the first response is better, 1 where the second is, 2 for a tie. It is the
gold answer and, as with RewardBench, the label of an annotator named BENCHMARK.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.compared import BENCHMARK
from annotation.core.formats.fields import SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    ComparisonRecord,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "auto-j"

_TOLD: Final = ("scenario", "label", "prompt", "response 1", "response 2")
_NEEDS: Final = frozenset(_TOLD)
_VERDICTS: Final = {0: Verdict.A, 1: Verdict.B, 2: Verdict.TIE}


def looks_like(row: object) -> bool:
    """Whether a row has this format's fields."""
    return isinstance(row, Mapping) and row.keys() >= _NEEDS


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn with one comparison."""
    fields.refuse_unplaced(*_TOLD)
    scenario = fields.short("scenario", SCENARIO_CHARS)
    prompt = fields.text("prompt")
    first, second = fields.answer("response 1"), fields.answer("response 2")
    verdict = _VERDICTS.get(fields.whole("label", 0, 2), Verdict.TIE)
    return gold_pair(
        scenario,
        prompt,
        (ResponseRecord("1", first), ResponseRecord("2", second, variant="B" * (first == second))),
        verdict,
        extra=fields.kept(*_TOLD),
    )


def gold_pair(
    scenario: str,
    prompt: str,
    responses: tuple[ResponseRecord, ResponseRecord],
    verdict: Verdict,
    *,
    name: str = "",
    extra: Mapping[str, object],
) -> SessionRecord:
    """A comparison of two responses whose right answer is known; equal prompts share a session."""
    one, two = responses
    content = content_key(prompt, one.model, one.text or "", two.model, two.text or "")
    comparison = ComparisonRecord(
        key=f"{name}-{content[:12]}" if name else content,
        a=one.key,
        b=two.key,
        extra=extra,
        labels=(PairwiseRecord(LabelDetails(BENCHMARK), verdict),),
        gold=(GoldRecord("DATASET", verdict),),
    )
    turn = TurnRecord(prompt, responses, (comparison,))
    return SessionRecord(content_key(scenario, prompt), scenario, (turn,))


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Auto-J test pairs"),
        line=gettext_noop("Two responses to a prompt, with the better one as the gold answer."),
        looks_like=looks_like,
        needs=_NEEDS,
        parse=parse,
    ),
)
