"""SPUR-style rubrics: reasons drawn from rated turns one by one, condensed in two steps (B 2.2).

For each class, at most 150 turns of training users (drawn with seed 42) give up to 3 reasons each;
reasons of 26 turns at a time (at most 78; the released code takes 80) become up to 20, and those
become up to 10 rubrics.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final, TypeVar

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.money import estimate_tokens
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import dialogue_block, with_reminders
from judging.core.questions import GradeQuestion, ShownPair
from judging.core.rules import JudgePrompt, Window, excerpt
from judging.core.structured import last_object

TURNS_A_CLASS: Final = 150
REASONS_A_TURN: Final = 3
TURNS_A_CHUNK: Final = 26
REASONS_A_CHUNK: Final = 20
RUBRICS_A_CLASS: Final = 10
SEED: Final = 42
KEY: Final = "rubrics"
_CHARACTERS: Final = 400

Rated = TypeVar("Rated")


def drawn(turns: Sequence[Rated], *, most: int = TURNS_A_CLASS, seed: int = SEED) -> list[Rated]:
    """At most so many turns of one class, drawn without regard to anything, in their order."""
    if len(turns) <= most:
        return list(turns)
    places = random.Random(seed).sample(range(len(turns)), most)
    return [turns[place] for place in sorted(places)]


def chunks(turns: int) -> int:
    """How many chunks the reasons of so many turns make; one chunk needs no step of its own."""
    return -(-turns // TURNS_A_CHUNK)


def read_phrases(reply: str) -> tuple[str, ...]:
    """The sentences of a reply: {"rubrics": [...]}, each once.

    Raises:
        Refused: no such object, or nothing in it.
    """
    found = last_object(reply, key=KEY)
    texts = None if found is None else found[KEY]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused("rubrics:unparseable", "the reply is no list of sentences")
    sentences = dict.fromkeys(" ".join(text.split())[:_CHARACTERS] for text in texts)
    sentences.pop("", None)
    if not sentences:
        raise Refused("rubrics:unparseable", "the reply names no reason")
    return tuple(sentences)


_STYLES: Final = {
    JudgePrompt.PAIRWISE: "rubric_pair_generic",
    JudgePrompt.THOUGHT: "rubric_pair_thought",
    JudgePrompt.REFERENCE: "rubric_pair_reference",
    JudgePrompt.OWN_REFERENCE: "rubric_pair_reference",
    JudgePrompt.SINGLE: "grade_generic",
    JudgePrompt.SINGLE_REFERENCE: "grade_reference",
}
_WITHOUT_REFERENCE: Final = {
    JudgePrompt.REFERENCE: JudgePrompt.PAIRWISE,
    JudgePrompt.SINGLE_REFERENCE: JudgePrompt.SINGLE,
}
_LETTER: Final = "_letter"
_TURNS: Final = "_turns"
_WRITE: Final = "write_reference"


def rubric_pair_prompt(
    pair: ShownPair,
    *,
    mode: JudgePrompt,
    language: str,
    window: Window,
    budget: int,
    letter: bool = False,
    book: PromptBook = FILES,
) -> str:
    """Which of two shown responses is better by a rubric that is nobody's own."""
    reference = pair.reference if mode.guided else ""
    name = _name(mode, reference, several=pair.turns > 1, letter=letter)
    prompt = book.load(name, language=language)
    texts = (prompt.text, pair.first, pair.second, reference)
    shown = excerpt(pair.dialogue, window=window, budget=budget - sum(map(estimate_tokens, texts)))
    values = {
        "dialogue": dialogue_block(shown, language=prompt.language),
        "response_a": pair.first,
        "response_b": pair.second,
    }
    return prompt.render(values | ({"reference": reference} if reference else {}))


def reference_prompt(
    pair: ShownPair, *, language: str, window: Window, budget: int, book: PromptBook = FILES
) -> str:
    """What the judge would answer itself (seed 004); the same for both orders of a comparison.

    It is shown what both responses answer, and neither of them.
    """
    prompt = book.load(_WRITE, language=language)
    asked = tuple(Message(Speaker.USER, text) for text in pair.following)
    tokens = budget - estimate_tokens(prompt.text)
    shown = excerpt((*pair.dialogue, *asked), window=window, budget=tokens)
    return prompt.render({"dialogue": dialogue_block(shown, language=prompt.language)})


def grade_prompt(
    question: GradeQuestion,
    *,
    mode: JudgePrompt,
    window: Window,
    budget: int,
    book: PromptBook = FILES,
) -> str:
    """How good one response is, from 1 to 10."""
    reference = question.reference if mode.guided else ""
    name = _name(mode, reference, several=question.turns > 1)
    prompt = book.load(name, language=question.language)
    texts = (prompt.text, question.response, reference)
    shown = excerpt(
        question.dialogue, window=window, budget=budget - sum(map(estimate_tokens, texts))
    )
    values = {
        "dialogue": dialogue_block(shown, language=prompt.language),
        "response": question.response,
    }
    return prompt.render(values | ({"reference": reference} if reference else {}))


def rubric_prompts_used(
    mode: JudgePrompt, language: str, *, letter: bool = False, book: PromptBook = FILES
) -> dict[str, str]:
    """The digest of every prompt that a way of asking uses, by label; none for the paper's own."""
    if mode not in _STYLES:
        return {}
    styles = {mode, _WITHOUT_REFERENCE.get(mode, mode)}
    ends = [f"{_LETTER if letter else ''}{turns}" for turns in ("", _TURNS)]
    names = [f"{_STYLES[style]}{end}" for style in sorted(styles) for end in ends]
    if mode is JudgePrompt.OWN_REFERENCE:
        names.append(_WRITE)
    prompts = [book.load(name, language=language) for name in with_reminders(names)]
    return {prompt.label: prompt.digest for prompt in prompts}


def _name(mode: JudgePrompt, reference: str, *, several: bool, letter: bool = False) -> str:
    style = mode if reference else _WITHOUT_REFERENCE.get(mode, mode)
    return f"{_STYLES[style]}{_LETTER if letter else ''}{_TURNS if several else ''}"
