"""MultiPref: two models' responses, compared by crowd workers and by experts.

Annotators of the two groups are told apart by their group, `normal-` or `expert-` before the name.
The verdict is the overall one; those on helpfulness, truth and harm, with how sure the annotator
was and the reasons that were ticked, are kept with the label.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.compared import compared
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SessionRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "multipref"

_TOLD: Final = ("comparison_id", "text", "completion_a", "model_a", "completion_b", "model_b")
_GROUPS: Final = {"normal": "normal_worker_annotations", "expert": "expert_worker_annotations"}
_VERDICTS: Final[Mapping[str, tuple[Verdict, int | None]]] = {
    "A-is-clearly-better": (Verdict.A, 2),
    "A-is-slightly-better": (Verdict.A, 1),
    "Tie": (Verdict.TIE, None),
    "B-is-slightly-better": (Verdict.B, 1),
    "B-is-clearly-better": (Verdict.B, 2),
}
_ASPECTS: Final = ("overall", "helpful", "truthful", "harmless")
_OWN_REASONS: Final = tuple(f"{each}_own_reason" for each in _ASPECTS)


def looks_like(row: object) -> bool:
    """Whether a row has this format's telling fields."""
    return isinstance(row, Mapping) and {*_TOLD[1:], *_GROUPS.values()} <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One row as a session of one turn with everybody's verdict."""
    known = (*_TOLD, *_GROUPS.values(), "category")
    fields.refuse_unplaced(*known)
    scenario = fields.text_or("category", longest=SCENARIO_CHARS) or NAME
    message = fields.text("text")
    one, other = (
        ResponseRecord(
            side,
            fields.answer(f"completion_{side}"),
            fields.text_or(f"model_{side}", longest=MODEL_CHARS),
        )
        for side in "ab"
    )
    turn = compared(
        message,
        (one, other),
        labels=tuple(_labels(fields)),
        key=fields.text_or("comparison_id", longest=KEY_CHARS),
        extra=fields.kept(*known),
    )
    return SessionRecord(content_key(scenario, message), scenario, (turn,))


def _labels(fields: Fields) -> Iterator[PairwiseRecord]:
    for group, name in _GROUPS.items():
        for item in fields.items(name):
            word = item.text("overall_pref")
            if word not in _VERDICTS and item.has("overall_pref"):
                reason = gettext_noop("Expected one of %(words)s")
                item.fault("overall_pref", reason, word, words=", ".join(_VERDICTS))
            verdict, strength = _VERDICTS.get(word, (Verdict.TIE, None))
            reasons = [item.text_or(each) for each in _OWN_REASONS]
            details = LabelDetails(
                f"{group}-{item.annotator('evaluator')}",
                comment="\n".join(filter(None, reasons)),
                active_seconds=item.seconds("time_spent"),
                extra=item.kept("evaluator", "overall_pref", "time_spent"),
            )
            yield PairwiseRecord(details, verdict, strength)


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("MultiPref"),
        line=gettext_noop(
            "Two models’ responses with the verdicts of crowd workers and of experts, and why."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
