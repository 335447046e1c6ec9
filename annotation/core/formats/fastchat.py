"""MT-Bench's questions, and the answers of models to them, in FastChat's layout.

A question names its session by `question_id` and leaves its turns unanswered. An answer file adds
one model's responses, each following that model's own answer to the turn before. It does not carry
the questions, so they are imported first; the same holds for votes and judgments. A file of
reference answers, which a judge reads beside a model's, has the layout of answers: it is told by
what it answers, or by its name, and goes to the questions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.reading import read_rows
from annotation.core.formats.records import (
    Fault,
    ResponseRecord,
    Row,
    SessionRecord,
    TurnRecord,
)
from annotation.core.refusals import gettext_noop

QUESTIONS: Final = "mtbench-questions"
ANSWERS: Final = "mtbench-answers"
REFERENCES: Final = "mtbench-references"

SCENARIO: Final = "mt-bench"
"""Of sessions that a file names before any file of questions says their category."""

_QUESTION: Final = ("question_id", "category", "turns")
_ANSWER: Final = ("question_id", "model_id", "choices")
_WITH_REFERENCES: Final = frozenset(str(number) for number in range(101, 131))
"""MT-Bench's questions of reasoning, math and coding, which are graded beside a reference."""
_REFERENCES: Final = "reference_answer"
"""FastChat's folder of them."""


def looks_like_questions(row: object) -> bool:
    """Whether a row is a question of MT-Bench: Arena-Hard's first ones have objects as turns."""
    return (
        isinstance(row, Mapping)
        and {"question_id", "turns"} <= row.keys()
        and not has_objects(row["turns"])
    )


def looks_like_answers(row: object) -> bool:
    """Whether a row is one model's answers to a question."""
    return (
        isinstance(row, Mapping)
        and set(_ANSWER) <= row.keys()
        and not has_objects(row["choices"], "turns")
    )


def has_objects(given: object, inside: str = "") -> bool:
    """Whether a list begins with an object; with `inside`, whether that field of it does."""
    if not isinstance(given, list) or not given or not isinstance(given[0], Mapping):
        return False
    return not inside or has_objects(given[0].get(inside))


def parse_question(fields: Fields) -> SessionRecord:
    """One question as a session of unanswered turns; reference answers are kept with it."""
    fields.refuse_unplaced(*_QUESTION, "reference")
    return SessionRecord(
        key=session_key(fields),
        scenario=fields.short("category", SCENARIO_CHARS),
        turns=tuple(TurnRecord(text) for text in texts(fields, "turns")),
        extra=fields.kept(*_QUESTION),
    )


def parse_answers(fields: Fields) -> SessionRecord:
    """One model's answers, a response a turn; of several choices each is its own variant."""
    fields.refuse_unplaced()
    key, model = session_key(fields), fields.short("model_id", MODEL_CHARS)
    choices = fields.items("choices")
    if not choices:
        reason = gettext_noop("Expected at least one choice")
        fields.fault("choices", reason, fields.data.get("choices"))
    told = [(variant_of(choice), answers(choice, "turns")) for choice in choices]
    most = max((len(given) for _variant, given in told), default=0)
    return SessionRecord(
        key=key,
        scenario=SCENARIO,
        turns=tuple(
            TurnRecord(
                None,
                tuple(
                    line_of(model, given, variant=variant)[place]
                    for variant, given in told
                    if place < len(given)
                ),
            )
            for place in range(most)
        ),
        sketch=True,
    )


def refuse_references(path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    """The rows of a file of answers; where they are reference answers, the last has a fault.

    Fields, `model_id` and all else of a row are as in the answers of that model. What tells them is
    what they answer: one model has answers to every question that is graded beside a reference, and
    to no other, while a model that takes the benchmark answers all eight categories. A file that
    FastChat's folder, or its own name, calls so is one of them whatever it answers.
    """
    answered: set[str] = set()
    models: set[str] = set()
    last: Row | None = None
    for row in rows:
        if last is not None:
            yield last
        last = row
        if isinstance(row.record, SessionRecord):
            answered.add(row.record.key)
            models |= {each.model for turn in row.record.turns for each in turn.responses}
    if last is None:
        return
    if _named_references(path) or _are_references(models, answered):
        reason = gettext_noop(
            "These are MT-Bench's reference answers, not a model's. Choose the format for "
            "reference answers instead."
        )
        last = replace(last, faults=(*last.faults, Fault(0, "", reason)))
    yield last


def _named_references(path: Path) -> bool:
    return _REFERENCES in path.name or path.parent.name == _REFERENCES


def _are_references(models: set[str], answered: set[str]) -> bool:
    return len(models) == 1 and answered == _WITH_REFERENCES


def format_of_answers(path: Path) -> str:
    """The format of a file with the layout of answers: REFERENCES, or ANSWERS."""
    if _named_references(path):
        return REFERENCES
    models: set[str] = set()
    answered: set[str] = set()
    for raw in read_rows(path):
        told = raw.value if isinstance(raw.value, Mapping) else {}
        models.add(str(told.get("model_id")))
        answered.add(str(told.get("question_id")))
        if len(models) > 1 or not answered <= _WITH_REFERENCES:
            return ANSWERS
    return REFERENCES if _are_references(models, answered) else ANSWERS


def parse_reference(fields: Fields) -> SessionRecord:
    """The reference answers to a question, a text a turn, under the model that wrote them."""
    fields.refuse_unplaced()
    key, model = session_key(fields), fields.short("model_id", MODEL_CHARS)
    choices = fields.items("choices")
    if len(choices) != 1:
        reason = gettext_noop("Expected exactly one choice")
        fields.fault("choices", reason, fields.data.get("choices"))
    told = [text for choice in choices[:1] for text in texts(choice, "turns")]
    return SessionRecord(key, SCENARIO, (), extra={f"reference:{model}": told}, sketch=True)


def session_key(fields: Fields) -> str:
    """The session of a `question_id`, which is a number or a text."""
    told = fields.data.get("question_id")
    if isinstance(told, int) and not isinstance(told, bool):
        return str(told)
    return fields.short("question_id", KEY_CHARS)


def line_of(
    model: str, given: Sequence[str | None], *, variant: str = ""
) -> tuple[ResponseRecord, ...]:
    """A model's responses turn by turn, each following its own of the turn before."""
    key = f"{model}/{variant}"
    return tuple(
        ResponseRecord(key, text, model, continues=key if place else None, variant=variant)
        for place, text in enumerate(given)
    )


def texts(fields: Fields, name: str) -> list[str]:
    """A list of texts with at least one."""
    return [fields.notes.text(each, path) for path, each in _listed(fields, name)]


def answers(fields: Fields, name: str) -> list[str | None]:
    """A list of responses' texts with at least one; some may be not available."""
    return [fields.notes.answer(each, path) for path, each in _listed(fields, name)]


def _listed(fields: Fields, name: str) -> list[tuple[str, object]]:
    given = fields.data.get(name)
    if not isinstance(given, list) or not given:
        fields.fault(name, gettext_noop("Expected a list of strings"), given)
        return []
    return [(f"{fields.at(name)}[{place}]", each) for place, each in enumerate(given)]


def variant_of(choice: Fields) -> str:
    """The variant of one of several answers of a model: "" of the first."""
    index = choice.whole_or_none("index", 0, 1_000_000) or 0
    return f"choice {index}" if index else ""


FORMATS: Final = (
    Format(
        name=QUESTIONS,
        title=gettext_noop("MT-Bench questions"),
        line=gettext_noop("Questions of one or more turns by category, without responses."),
        looks_like=looks_like_questions,
        parse=parse_question,
    ),
    Format(
        name=ANSWERS,
        title=gettext_noop("MT-Bench answers of a model (FastChat)"),
        line=gettext_noop("One model’s answers to questions that were imported before."),
        looks_like=looks_like_answers,
        parse=parse_answers,
        checked=refuse_references,
        finer=format_of_answers,
    ),
    Format(
        name=REFERENCES,
        title=gettext_noop("MT-Bench reference answers (FastChat)"),
        line=gettext_noop(
            "Reference answers to questions that were imported before, for judges to read."
        ),
        parse=parse_reference,
    ),
)
