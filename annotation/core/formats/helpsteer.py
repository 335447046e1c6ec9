"""HelpSteer: ratings of responses by attribute, and preferences with the reasons of annotators.

HelpSteer2's rows rate one response each, from 0 to 4, as the mean of annotators; the rows of one
prompt follow one another. Its disagreements have the annotators' own ratings as lists. Preferences,
of HelpSteer2 and of HelpSteer3, go from -3 (the first response is much better) to 3 (the second).

Annotators have no names. The place in the list stands for one, `unnamed-1` and so on, and is nobody
across rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Reason, Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import (
    SpokenMessage,
    open_turn,
    read_messages,
    without_system,
)
from annotation.core.formats.chat_logs import language_code
from annotation.core.formats.compared import compared, paired, ranked_comparisons, told_apart
from annotation.core.formats.fields import SCENARIO_CHARS, Fields, number_of
from annotation.core.formats.format import Format
from annotation.core.formats.grouped import JsonObject, read_grouped, rows_of
from annotation.core.formats.reading import RawRow
from annotation.core.formats.records import (
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

RATED: Final = "helpsteer2"
DISAGREEMENTS: Final = "helpsteer2-disagreements"
PREFERENCE: Final = "helpsteer2-preference"
THIRD: Final = "helpsteer3"
SCENARIO: Final = "helpsteer2"

_TOLD: Final = ("prompt", "response", "helpfulness")
_ATTRIBUTES: Final = ("correctness", "coherence", "complexity", "verbosity")
_HIGHEST: Final = 4
_STRONGEST: Final = 3
_NEITHER: Final = -100
"""The strength by which an annotator says that neither response is valid."""
_MARK: Final = "<extra_id_1>"
_OF_PREFERENCE: Final = ("prompt", "response_1", "response_2", "preference_strength")
_RATIONALE: Final = ("preference_statement", "preference_elaboration")
_OF_THIRD: Final = ("context", "response1", "response2", "overall_preference")
_CODE: Final = "code"
"""The domain whose language is a programming language."""


def looks_like_rated(row: object) -> bool:
    """Whether a row rates one response as the mean of annotators."""
    return _is_rated(row) and not isinstance(_helpfulness(row), list)


def looks_like_disagreements(row: object) -> bool:
    """Whether a row has each annotator's ratings of one response."""
    return _is_rated(row) and isinstance(_helpfulness(row), list)


def looks_like_preference(row: object) -> bool:
    """Whether a row is a preference of HelpSteer2."""
    return isinstance(row, Mapping) and set(_OF_PREFERENCE) <= row.keys()


def looks_like_third(row: object) -> bool:
    """Whether a row is a preference of HelpSteer3."""
    return isinstance(row, Mapping) and {*_OF_THIRD, "individual_preference"} <= row.keys()


def _is_rated(row: object) -> bool:
    return isinstance(row, Mapping) and {*_TOLD, *_ATTRIBUTES} <= row.keys()


def _helpfulness(row: object) -> object:
    return row["helpfulness"] if isinstance(row, Mapping) else None


def parse_rated(fields: Fields) -> SessionRecord:
    """The rows of one prompt as a session whose responses compare by their helpfulness."""
    responses, values = [], {}
    rows = rows_of(fields)
    for place, row in enumerate(rows):
        row.refuse_unplaced(*_TOLD)
        score = row.whole("helpfulness", 0, _HIGHEST)
        values[str(place)] = float(score)
        gold = (GoldRecord("DATASET", score=score + 1),)
        text, extra = row.answer("response"), row.kept(*_TOLD)
        responses.append(ResponseRecord(str(place), text, extra=extra, gold=gold))
    turns, message = _dialogue(rows[0])
    apart = told_apart(responses)
    pairs = ranked_comparisons(message, apart, values, is_gold=True)
    return _session(rows[0], turns, TurnRecord(message, apart, tuple(pairs)))


def parse_disagreements(fields: Fields) -> SessionRecord:
    """The rows of one prompt as a session whose responses each annotator rated."""
    rows = rows_of(fields)
    apart = told_apart(_rated_by_each(row, str(place)) for place, row in enumerate(rows))
    turns, message = _dialogue(rows[0])
    pairs = paired(message, apart)
    return _session(rows[0], turns, TurnRecord(message, apart, tuple(pairs)))


def parse_preference(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn has the two responses and everybody's preference."""
    given = "all_preferences_unprocessed"
    fields.refuse_unplaced(*_OF_PREFERENCE)
    turns, message = _dialogue(fields)
    verdict, strength = _preferred(fields, "preference_strength")
    reasons = [fields.text_or(name) for name in _RATIONALE]
    turn = compared(
        message,
        (
            ResponseRecord("1", fields.answer("response_1")),
            ResponseRecord("2", fields.answer("response_2")),
        ),
        labels=tuple(_labels(fields, given, "strength", "justification")),
        gold=GoldRecord("DATASET", verdict, rationale=" ".join(filter(None, reasons))),
        strength=strength,
        name="preference",
        extra=fields.kept(*_OF_PREFERENCE, *_RATIONALE, given),
    )
    return _session(fields, turns, turn)


def parse_third(fields: Fields) -> SessionRecord:
    """One row of HelpSteer3 as a session whose last turn has the two responses."""
    given = "individual_preference"
    known = [*_OF_THIRD, given, "domain"]
    scenario = fields.text_or("domain", longest=SCENARIO_CHARS) or THIRD
    named = fields.text_or("language")
    language = "" if scenario == _CODE else language_code(named)
    known += ["language"] if language else []
    fields.refuse_unplaced(*known)
    system, messages = without_system(fields, "context", read_messages(fields, "context"))
    turns, message = open_turn(messages)
    verdict, strength = _preferred(fields, "overall_preference")
    turn = compared(
        message,
        (
            ResponseRecord("1", fields.answer("response1")),
            ResponseRecord("2", fields.answer("response2")),
        ),
        labels=tuple(_labels(fields, given, "score", "reasoning")),
        gold=GoldRecord("DATASET", verdict),
        strength=strength,
        extra=fields.kept(*known),
    )
    told = [f"{each.role}:{each.text}" for each in messages]
    return SessionRecord(
        content_key(scenario, language, system, *told),
        scenario,
        (*turns, turn),
        system_prompt=system,
        language=language,
    )


def _dialogue(fields: Fields) -> tuple[tuple[TurnRecord, ...], str | None]:
    """The turns that a prompt holds, and its last message."""
    return open_turn(list(_messages(fields.text("prompt"))))


def _messages(prompt: str) -> Iterator[SpokenMessage]:
    """A prompt's messages: after the first, each begins with a mark and who speaks."""
    first, *others = prompt.split(_MARK)
    yield SpokenMessage(Speaker.USER, first.rstrip("\n") if others else first)
    for each in others:
        speaker, _line, text = each.partition("\n")
        role = Speaker.ASSISTANT if speaker.strip() == "Assistant" else Speaker.USER
        yield SpokenMessage(role, text.rstrip("\n"))


def _session(fields: Fields, turns: Sequence[TurnRecord], last: TurnRecord) -> SessionRecord:
    key = content_key(SCENARIO, str(fields.data.get("prompt")))
    return SessionRecord(key, SCENARIO, (*turns, last))


def _rated_by_each(row: Fields, key: str) -> ResponseRecord:
    row.refuse_unplaced(*_TOLD)
    text, given = row.answer("response"), row.data.get("helpfulness")
    kept = row.kept("prompt", "response", "helpfulness")
    ratings = []
    for place, value in enumerate(given if isinstance(given, list) else []):
        score = number_of(value)
        if score is None or not 0 <= score <= _HIGHEST:
            reason = gettext_noop("Expected a whole number from %(low)d to %(high)d")
            row.fault(f"helpfulness[{place}]", reason, value, low=0, high=_HIGHEST)
            continue
        others = {
            name: told[place]
            for name, told in kept.items()
            if isinstance(told, list) and place < len(told)
        }
        reason_below = None if score + 1 >= SATISFIED_FROM else Reason.NOT_RECORDED
        ratings.append(SatisfactionRecord(_unnamed(place, extra=others), score + 1, reason_below))
    rest = {name: told for name, told in kept.items() if not isinstance(told, list)}
    return ResponseRecord(key, text, extra=rest, satisfaction=tuple(ratings))


def _labels(fields: Fields, name: str, score: str, comment: str) -> Iterator[PairwiseRecord]:
    """What each annotator said; the number itself is kept with the label."""
    for place, item in enumerate(fields.items(name)):
        neither = number_of(item.data.get(score)) == _NEITHER
        verdict, strength = (Verdict.TIE, None) if neither else _preferred(item, score)
        details = _unnamed(place, item.text_or(comment), item.kept(comment))
        yield PairwiseRecord(details, verdict, strength, both_bad=neither)


def _unnamed(
    place: int, comment: str = "", extra: Mapping[str, object] | None = None
) -> LabelDetails:
    return LabelDetails(f"unnamed-{place + 1}", comment=comment, extra=extra or {})


def _preferred(fields: Fields, name: str) -> tuple[Verdict, int | None]:
    """The verdict and strength of a preference; its three strengths become two."""
    told = fields.whole(name, -_STRONGEST, _STRONGEST)
    if told == 0:
        return Verdict.TIE, None
    return Verdict.A if told < 0 else Verdict.B, 1 if abs(told) == 1 else 2


def _same_prompt(rows: Sequence[JsonObject], row: JsonObject) -> bool:
    return rows[-1].get("prompt") == row.get("prompt")


def _read_file(path: Path) -> Iterator[RawRow]:
    return read_grouped(path, _same_prompt)


FORMATS: Final = (
    Format(
        name=RATED,
        title=gettext_noop("HelpSteer2 ratings"),
        line=gettext_noop(
            "Responses rated by attribute from 0 to 4; those to one prompt compare by helpfulness."
        ),
        looks_like=looks_like_rated,
        parse=parse_rated,
        read_file=_read_file,
    ),
    Format(
        name=DISAGREEMENTS,
        title=gettext_noop("HelpSteer2 disagreements"),
        line=gettext_noop("Responses with the ratings of each annotator, who has no name."),
        looks_like=looks_like_disagreements,
        parse=parse_disagreements,
        read_file=_read_file,
    ),
    Format(
        name=PREFERENCE,
        title=gettext_noop("HelpSteer2 preferences"),
        line=gettext_noop(
            "Two responses with a preference from -3 to 3, and what each annotator said."
        ),
        looks_like=looks_like_preference,
        parse=parse_preference,
    ),
    Format(
        name=THIRD,
        title=gettext_noop("HelpSteer3 preferences"),
        line=gettext_noop(
            "Two responses in a dialogue with a preference from -3 to 3, by domain and language."
        ),
        looks_like=looks_like_third,
        parse=parse_third,
    ),
)
