"""MT-Bench's ways of asking as prompts: comparing by a generic rubric, and grading (seed 004).

A conversation of several turns has a variant of its own, in which all turns are shown. Where a
reference answer is wanted and there is none, the prompt is the one without, as in MT-Bench; or the
judge writes one first.
"""

from __future__ import annotations

from typing import Final

from annotation.core.dialogue import Message, Speaker
from judging.core.judge_modes import JudgePrompt
from judging.core.prompt_blocks import dialogue_block
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.questions import GradeQuestion, ShownPair
from judging.core.tokens import estimate_tokens
from judging.core.windows import Window, excerpt

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
_TURNS: Final = "_turns"
_WRITE: Final = "write_reference"


def rubric_pair_prompt(
    pair: ShownPair,
    *,
    mode: JudgePrompt,
    language: str,
    window: Window,
    budget: int,
    book: PromptBook = FILES,
) -> str:
    """Which of two shown responses is better by a rubric that is nobody's own."""
    reference = pair.reference if mode.guided else ""
    prompt = book.load(_name(mode, reference, several=pair.turns > 1), language=language)
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
    mode: JudgePrompt, language: str, *, book: PromptBook = FILES
) -> dict[str, str]:
    """The digest of every prompt that a way of asking uses, by label; none for the paper's own."""
    if mode not in _STYLES:
        return {}
    styles = {mode, _WITHOUT_REFERENCE.get(mode, mode)}
    names = [f"{_STYLES[style]}{turns}" for style in sorted(styles) for turns in ("", _TURNS)]
    if mode is JudgePrompt.OWN_REFERENCE:
        names.append(_WRITE)
    prompts = [book.load(name, language=language) for name in names]
    return {prompt.label: prompt.digest for prompt in prompts}


def _name(mode: JudgePrompt, reference: str, *, several: bool) -> str:
    style = mode if reference else _WITHOUT_REFERENCE.get(mode, mode)
    return f"{_STYLES[style]}{_TURNS if several else ''}"
