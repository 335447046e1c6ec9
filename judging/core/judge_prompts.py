"""Distilling, comparing, scoring turns and building a memory as prompts, with the replies' schemas.

Pure: a leak is looked for here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.language import language_of
from judging.core.calibration import HIGHEST, LOWEST
from judging.core.categories import SORTING, SUBCATEGORIES, Category, Usefulness
from judging.core.chat import JsonSchema
from judging.core.memory import TEXT_FIELDS, grouped_examples, statistics
from judging.core.money import estimate_tokens, shorten
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import (
    MARK,
    PairExcerpt,
    Prompt,
    dialogue_block,
    history_block,
    pairs_block,
    profile_text,
    prompt_language,
    rating_word,
    reason_words,
    reasons_block,
    rubrics_block,
    statistics_line,
    text_or_unknown,
    turns_block,
    with_reminders,
)
from judging.core.questions import (
    HistoryTurn,
    InductionQuestion,
    LabelledPair,
    MemoryQuestion,
    ShownPair,
    SortQuestion,
    TurnQuestion,
)
from judging.core.rubrics import rubric_prompts_used
from judging.core.rules import (
    SPECS,
    DistilPrompt,
    Excerpt,
    JudgePrompt,
    Level,
    Need,
    Variant,
    Window,
    excerpt,
)
from judging.core.structured import CLASSIFICATION, PLAIN, ReplyForm

_TEXT: dict[str, object] = {"type": "string"}
_IDS: dict[str, object] = {"type": "array", "items": _TEXT}


def turn_schema(language: str, form: ReplyForm = PLAIN) -> JsonSchema:
    """The reply of a scoring prompt, its fields in the order in which the prompt asks for them."""
    known: dict[str, object] = {
        CLASSIFICATION: {"type": "integer", "enum": list(range(LOWEST, HIGHEST + 1))},
        "reason": {"type": "string", "enum": list(reason_words(language))},
        "analysis": _TEXT,
    }
    return JsonSchema(
        "turn_score", _object({name: known.get(name, {"type": "boolean"}) for name in form.fields})
    )


def phrases_schema() -> JsonSchema:
    """The reply of the prompts that induce rubrics."""
    return JsonSchema("rubrics", _object({"rubrics": {"type": "array", "items": _TEXT}}))


def memory_schema() -> JsonSchema:
    """The reply of the memory prompt: the fields of `core.memory.TEXT_FIELDS`."""
    statement = _object({"text": _TEXT, "turn_ids": _IDS})
    observation = _object({"task_name": _TEXT, "observation": _TEXT, "turn_ids": _IDS})
    lists: dict[str, object] = {
        "user_specific_requirements": {"type": "array", "items": statement},
        "task_specific_observations": {"type": "array", "items": observation},
    }
    return JsonSchema(
        "user_memory", _object({name: lists.get(name, statement) for name in TEXT_FIELDS})
    )


def _object(properties: dict[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


PREFERENCE_TOKENS: Final = 600
"""Kept free for a preference, whatever its length, so that all share one prompt prefix."""
EXAMPLES_PER_SCORE: Final = 4
LEAST_EXAMPLE_TOKENS: Final = 60
MOST_EXAMPLE_TOKENS: Final = 600
EXAMPLE_FRAME_TOKENS: Final = 40
"""What the tags and the heading of one rated turn take."""


MEMORY: Final = "build_memory"
_DISTIL: Final = {
    DistilPrompt.SENTENCES: "distil_preference",
    DistilPrompt.SENTENCE: "distil_sentence",
}


def pair_prompt(
    pair: ShownPair,
    *,
    preference: str,
    language: str,
    letter: bool,
    window: Window,
    budget: int,
    book: PromptBook = FILES,
) -> str:
    """Which of two shown responses is better (seed 001, appendix A.2).

    Dialogue, response A and response B come first and the preference last, so that all prompts of
    one comparison in one order begin alike, the base judge's and the one-letter variant included.
    """
    prompt = book.load(_pair_name(preference, letter=letter), language=language)
    spent = sum(
        map(estimate_tokens, (prompt.text, pair.first, pair.second)), start=PREFERENCE_TOKENS
    )
    shown = excerpt(pair.dialogue, window=window, budget=budget - spent)
    values = {
        "dialogue": dialogue_block(shown, language=prompt.language),
        "response_a": pair.first,
        "response_b": pair.second,
    }
    return prompt.render(values | ({"preference": preference} if preference.strip() else {}))


def distil_prompt(
    pairs: tuple[LabelledPair, ...],
    *,
    language: str,
    window: Window,
    budget: int,
    style: DistilPrompt = DistilPrompt.SENTENCES,
    book: PromptBook = FILES,
) -> str:
    """What one choice, or several together, show of a person (seed 001, appendix A.2)."""
    prompt = book.load(distil_name(pairs, style), language=language)
    room = max(0, budget - estimate_tokens(prompt.text)) // len(pairs)
    tokens = max(LEAST_EXAMPLE_TOKENS, room // 3)
    shown = [_shown_pair(pair, window=window, tokens=tokens) for pair in pairs]
    if len(pairs) > 1:
        return prompt.render({"pairs": pairs_block(shown, tokens=tokens, language=prompt.language)})
    return prompt.render(
        {
            "dialogue": dialogue_block(shown[0].dialogue, language=prompt.language, tokens=tokens),
            "chosen": shorten(shown[0].chosen, tokens=tokens, mark=MARK),
            "rejected": shorten(shown[0].rejected, tokens=tokens, mark=MARK),
        }
    )


def distil_name(pairs: Sequence[LabelledPair], style: DistilPrompt) -> str:
    """The prompt that distils from one pair, or from several."""
    return _DISTIL[style] if len(pairs) == 1 else "distil_aggregate"


def turn_aliases(question: MemoryQuestion) -> dict[str, str]:
    """A short name for each turn id: T1, T2, ... in history order."""
    ids = dict.fromkeys(turn.turn_id for turn in question.history)
    return {turn_id: f"T{place}" for place, turn_id in enumerate(ids, start=1)}


def memory_prompt(question: MemoryQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """What a labelled history shows of a user (seed 003, appendix H.1).

    Raises:
        ValueError: the history is empty, or holds a turn of the target scenario.
    """
    if not question.history:
        raise ValueError("a memory needs a history")
    if any(turn.scenario == question.target_scenario for turn in question.history):
        raise ValueError("the history holds turns of the target scenario")
    prompt = book.load(MEMORY, language=question.language)
    language = prompt.language
    groups = grouped_examples(question.history, per_score=EXAMPLES_PER_SCORE)
    profile = profile_text(question.profile, language=language)
    room = budget - estimate_tokens(prompt.text) - estimate_tokens(profile)
    count = sum(len(group.turns) for group in groups)
    wanted = min(MOST_EXAMPLE_TOKENS, room // count - EXAMPLE_FRAME_TOKENS)
    tokens = max(LEAST_EXAMPLE_TOKENS, wanted)
    return prompt.render(
        {
            "profile": profile,
            "statistics": statistics_line(statistics(question.history), language=language),
            "history": history_block(
                groups, aliases=turn_aliases(question), tokens=tokens, language=language
            ),
        }
    )


def prompts_used(
    language: str,
    *,
    letter: bool,
    mode: JudgePrompt = JudgePrompt.PERSONAL,
    style: DistilPrompt = DistilPrompt.SENTENCES,
    book: PromptBook = FILES,
) -> Mapping[str, str]:
    """The digest of every prompt that a judge uses, by label, for the record of a run."""
    if mode is not JudgePrompt.PERSONAL:
        return rubric_prompts_used(mode, prompt_language(language), letter=letter, book=book)
    names = (
        _DISTIL[style],
        "distil_aggregate",
        _pair_name("some", letter=letter),
        _pair_name("", letter=letter),
    )
    return _digests(names, language, book)


def _digests(names: Sequence[str], language: str, book: PromptBook) -> dict[str, str]:
    found = [book.load(name, language=language) for name in with_reminders(names)]
    return {prompt.label: prompt.digest for prompt in found}


def _pair_name(preference: str, *, letter: bool) -> str:
    return f"judge_pair{'_letter' if letter else ''}{'' if preference.strip() else '_base'}"


def _shown_pair(pair: LabelledPair, *, window: Window, tokens: int) -> PairExcerpt:
    shown = excerpt(pair.dialogue, window=window, budget=tokens)
    return PairExcerpt(shown, pair.chosen, pair.rejected)


def sort_schema() -> JsonSchema:
    """The reply of the prompt that sorts dialogues."""
    own = [name for names in SUBCATEGORIES.values() for name in names]
    words = {
        "quality": [each.value for each in Usefulness],
        "category": [each.value for each in Category],
        "subcategory": own,
    }
    fields: dict[str, object] = {
        name: {"type": "string", "enum": list(enum)} for name, enum in words.items()
    }
    return JsonSchema("sorted_dialogue", _object(fields | {"why": _TEXT}))


def sort_prompt(question: SortQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """Whether a dialogue is of use in a benchmark, and where it belongs (seed 001, 3.1.2)."""
    prompt = book.load(SORTING, language=question.language)
    room = budget - estimate_tokens(prompt.text)
    shown = excerpt(question.dialogue, window=Window.ALL, budget=room)
    return prompt.render({"dialogue": dialogue_block(shown, language=prompt.language)})


def sort_prompts_used(language: str, *, book: PromptBook = FILES) -> Mapping[str, str]:
    """The digest of every prompt that sorting uses, by label, for the record of a run."""
    return _digests([SORTING], language, book)


INDUCTION: Final = ("spur_extract", "spur_condense")
MOST_TURN_TOKENS: Final = 900


def asked_variant(question: TurnQuestion) -> Variant:
    """The variant that is really asked: NO_MEMORY where nothing is known of the user.

    So a user without history is scored by every variant that shows a memory or their own turns,
    and nothing personal is shown, the profile included.
    """
    need = SPECS[question.variant].need
    known = {Need.MEMORY: bool(question.memory.strip()), Need.NEAREST: bool(question.nearest)}
    return question.variant if known.get(need, True) else Variant.NO_MEMORY


def turn_name(question: TurnQuestion) -> str:
    """The prompt that scores a response, or a conversation."""
    return SPECS[asked_variant(question)].prompts[question.level]


def turn_prompt(question: TurnQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """How satisfied a user would be with a response, or with a conversation."""
    prompt = book.load(turn_name(question), language=question.language)
    spent = estimate_tokens(prompt.text) + estimate_tokens(question.response)
    room = budget - spent - sum(map(estimate_tokens, (question.memory, question.task_context)))
    return _rendered(prompt, _values(question, prompt.language, room=room))


def induction_name(question: InductionQuestion) -> str:
    """The prompt that finds reasons in a turn, or makes fewer rubrics of reasons."""
    return INDUCTION[question.turn is None]


def induction_prompt(question: InductionQuestion, *, budget: int, book: PromptBook = FILES) -> str:
    """What one rated turn shows, or several reasons as fewer rubrics.

    Raises:
        ValueError: there is neither a turn nor a reason.
    """
    if question.turn is None and not question.reasons:
        raise ValueError("rubrics need a rated turn, or reasons")
    prompt = book.load(induction_name(question), language=question.language)
    language = prompt.language
    turns = () if question.turn is None else (question.turn,)
    return _rendered(
        prompt,
        {
            "rating": lambda: rating_word(satisfied=question.satisfied, language=language),
            "examples": lambda: turns_block(turns, tokens=budget // 2, language=language),
            "reasons": lambda: reasons_block(question.reasons),
            "most": lambda: str(question.most),
        },
    )


def turn_prompts_used(
    language: str, *, variant: Variant, level: Level, book: PromptBook = FILES
) -> Mapping[str, str]:
    """The digest of every prompt that scoring uses, by label, for the record of a run."""
    spec = SPECS[variant]
    names = [spec.prompts[level]]
    if spec.need.personal:
        names.append(SPECS[Variant.NO_MEMORY].prompts[level])
    if spec.need is Need.MEMORY:
        names.append(MEMORY)
    if spec.need is Need.RUBRICS:
        names += INDUCTION
    return _digests(names, language, book)


def _values(question: TurnQuestion, language: str, *, room: int) -> Mapping[str, Callable[[], str]]:
    def shown() -> Excerpt:
        if question.level is Level.TURN:
            return Excerpt(question.dialogue, 0)
        return excerpt(question.dialogue, window=Window.ALL, budget=room)

    def rated(turns: Sequence[HistoryTurn]) -> str:
        tokens = min(MOST_TURN_TOKENS, room // (2 * max(1, len(turns))))
        return turns_block(turns, tokens=max(LEAST_EXAMPLE_TOKENS, tokens), language=language)

    return {
        "memory": lambda: question.memory,
        "profile": lambda: profile_text(question.profile, language=language),
        "task": lambda: text_or_unknown(question.task_context, language=language),
        "scenario": lambda: text_or_unknown(question.scenario, language=language),
        "dialogue": lambda: dialogue_block(shown(), language=language),
        "response": lambda: question.response,
        "history": lambda: rated(question.nearest),
        "examples": lambda: rated(question.examples),
        "rubrics": lambda: rubrics_block(question.rubrics, language=language),
    }


def _rendered(prompt: Prompt, values: Mapping[str, Callable[[], str]]) -> str:
    """The prompt with those values that it names, and no others."""
    return prompt.render(
        {name: make() for name, make in values.items() if name in prompt.placeholders}
    )


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A turn before the compared one, with the reply that each line has in it (None: none)."""

    user_message: str | None
    reply_a: str | None
    reply_b: str | None
    same_reply: bool


@dataclass(frozen=True, slots=True)
class PairTexts:
    """What a judge is shown of a comparison, A and B in the comparison's own coordinates.

    `turns` counts the turns of the conversation, the compared one included; `following` are what
    the user said after the shared dialogue, which stands in both texts.
    """

    dialogue: Dialogue
    text_a: str
    text_b: str
    language: str
    turns: int = 1
    following: tuple[str, ...] = ()

    def labelled(self, winner: Verdict) -> LabelledPair:
        """What a distiller is shown, where A or B won."""
        if winner is Verdict.A:
            return LabelledPair(self.dialogue, chosen=self.text_a, rejected=self.text_b)
        return LabelledPair(self.dialogue, chosen=self.text_b, rejected=self.text_a)


def pair_texts(
    *,
    system_prompt: str,
    earlier: Sequence[EarlierTurn],
    user_message: str | None,
    text_a: str,
    text_b: str,
    language: str = "",
) -> PairTexts:
    """Puts a comparison together; `language` "" is found from what the user wrote."""
    shared = next(
        (place for place, turn in enumerate(earlier) if not turn.same_reply), len(earlier)
    )
    messages = [Message(Speaker.SYSTEM, system_prompt)] if system_prompt else []
    for turn in earlier[:shared]:
        _add(messages, turn.user_message, turn.reply_a)
    own = earlier[shared:]
    _add(messages, own[0].user_message if own else user_message, None)
    following = [*(turn.user_message for turn in own[1:]), user_message]
    said = "\n".join(turn.user_message or "" for turn in earlier) + (user_message or "")
    return PairTexts(
        dialogue=tuple(messages),
        text_a=_line([turn.reply_a for turn in own], following, text_a),
        text_b=_line([turn.reply_b for turn in own], following, text_b),
        language=language or language_of(said),
        turns=len(earlier) + 1,
        following=tuple(message or "" for message in following) if own else (),
    )


def _add(messages: list[Message], user: str | None, reply: str | None) -> None:
    if user is not None:
        messages.append(Message(Speaker.USER, user))
    if reply is not None:
        messages.append(Message(Speaker.ASSISTANT, reply))


def _line(replies: Sequence[str | None], following: Sequence[str | None], text: str) -> str:
    """A response with the replies of its own that lead to it."""
    if not replies:
        return text
    parts = []
    for reply, message in zip(replies, following, strict=True):
        parts.append(f"[Assistant]\n{reply or ''}")
        parts.append(f"[User]\n{message or ''}")
    return "\n\n".join([*parts, f"[Assistant]\n{text}"])
