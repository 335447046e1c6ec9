"""A person's edit of a memory: plain texts in, texts out, citations only where nothing changed.

The cited turns are the judge's evidence for the words it chose. Words that a person wrote rest on
that person, so a statement that was changed cites nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judging.core.memory import MemoryTexts
from judging.core.memory_parsing import parse_texts


@dataclass(frozen=True, slots=True)
class PlainTexts:
    """The texts of a memory as somebody types them: one requirement or observation a line."""

    scoring_style: str
    four_vs_five_distinction: str
    three_vs_four_distinction: str
    user_specific_requirements: Sequence[str]
    preferred_response_format: str
    task_specific_observations: Mapping[str, Sequence[str]]


def plain(texts: MemoryTexts) -> PlainTexts:
    """What an editor starts from; observations by scenario in order of first mention."""
    observations: dict[str, list[str]] = {}
    for item in texts.task_specific_observations:
        observations.setdefault(item.task_name, []).append(item.observation)
    return PlainTexts(
        scoring_style=texts.scoring_style.text,
        four_vs_five_distinction=texts.four_vs_five_distinction.text,
        three_vs_four_distinction=texts.three_vs_four_distinction.text,
        user_specific_requirements=[item.text for item in texts.user_specific_requirements],
        preferred_response_format=texts.preferred_response_format.text,
        task_specific_observations=observations,
    )


def revise(texts: MemoryTexts, edit: PlainTexts) -> MemoryTexts:
    """The texts after an edit.

    Raises:
        Refused: a text is too long, there are too many, or the scoring style is empty.
    """
    cited = _citations(texts)

    def statement(text: str) -> dict[str, object]:
        return {"text": text, "turn_ids": cited.get(("", _folded(text)), [])}

    return parse_texts(
        {
            "scoring_style": statement(edit.scoring_style),
            "four_vs_five_distinction": statement(edit.four_vs_five_distinction),
            "three_vs_four_distinction": statement(edit.three_vs_four_distinction),
            "user_specific_requirements": [
                statement(text) for text in edit.user_specific_requirements
            ],
            "preferred_response_format": statement(edit.preferred_response_format),
            "task_specific_observations": [
                {
                    "task_name": task,
                    "observation": text,
                    "turn_ids": cited.get((task, _folded(text)), []),
                }
                for task, lines in edit.task_specific_observations.items()
                for text in lines
            ],
        },
        turn_ids=texts.cited(),
    ).texts


def _citations(texts: MemoryTexts) -> dict[tuple[str, str], list[str]]:
    """Scenario ("" for none) and text to the turns that it cites."""
    statements = (
        texts.scoring_style,
        texts.four_vs_five_distinction,
        texts.three_vs_four_distinction,
        *texts.user_specific_requirements,
        texts.preferred_response_format,
    )
    found = {("", item.text): list(item.turn_ids) for item in statements}
    for item in texts.task_specific_observations:
        found[item.task_name, item.observation] = list(item.turn_ids)
    return found


def _folded(text: str) -> str:
    return " ".join(text.split())
