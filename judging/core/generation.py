"""Having a model answer turns: which of them, under which settings, and what it is sent.

The contexts are those of memory-augmented candidates (seed 003, appendix G.3; protocols B 2.2).
What a model sees of a user beside the conversation comes from the user's OTHER scenarios. It is
what was said there, never how it was rated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.intervals import FloatArray
from judging.core.conversations import messages_for_model
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import PromptText, neutralise, prompt_language
from judging.core.questions import GenerationQuestion
from judging.core.retrieval import UserTurn, conversation
from judging.core.rules import AnsweredTurns, GenerationContext


class SessionTurn(NamedTuple):
    """A turn as a plan sees it: whether the user said something, and has an original response."""

    id: int
    is_asked: bool
    is_answered: bool


class AskedTurn(NamedTuple):
    """A turn to answer; `previous` is the one whose own reply it continues, None: the original.

    `depth` counts the own replies before it: turns of one depth can be asked at once.
    """

    id: int
    previous: int | None
    depth: int


def asked_turns(turns: Sequence[SessionTurn], choice: AnsweredTurns) -> list[AskedTurn]:
    """The turns of one session to answer, in order.

    A conversation with original responses is a fixed prefix: every turn goes on from these, and
    what the user said unanswered before it stands as it is. Where there are none the model goes on
    from its own replies, as in MT-Bench; the turns before are then answered as well, whatever was
    chosen. Turns on which the user said nothing are passed over.

    Args:
        turns: all of the session, in order.
        choice: which of them.
    """
    asked = [turn for turn in turns if turn.is_asked]
    is_fixed = any(turn.is_answered for turn in turns)
    if choice is AnsweredTurns.LAST and is_fixed:
        asked = asked[-1:]
    elif choice is AnsweredTurns.OPEN:
        asked = [turn for turn in asked if not turn.is_answered]
    if is_fixed:
        return [AskedTurn(turn.id, None, 0) for turn in asked]
    before = [None, *(turn.id for turn in asked)]
    return [AskedTurn(turn.id, before[depth], depth) for depth, turn in enumerate(asked)]


RETRIEVED: Final = 4
MOST_FEATURES: Final = 50_000
QUERY_MESSAGES: Final = 8
SNIPPET_MESSAGES: Final = 4
REPLY_CHARACTERS: Final = 700
LINE_CHARACTERS: Final = 350
LONGEST_GRAM: Final = 5
_CUT: Final = "…"
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)


class Snippet(NamedTuple):
    """One turn of another scenario as a candidate sees it: texts alone, cut to their lengths.

    `context` are the last messages before it, at most SNIPPET_MESSAGES.
    """

    scenario: str
    context: Dialogue
    user_message: str
    response: str

    @property
    def text(self) -> str:
        """What it is found by."""
        return "\n".join((*(one.text for one in self.context), self.user_message, self.response))


def snippets(scenario: str, turns: Sequence[UserTurn]) -> Iterator[Snippet]:
    """The answered turns of one session, in order."""
    for place, turn in enumerate(turns):
        if turn.response is None:
            continue
        before = conversation(turns[:place])[-SNIPPET_MESSAGES:]
        yield Snippet(
            scenario,
            tuple(Message(one.role, _cut(one.text, LINE_CHARACTERS)) for one in before),
            _cut(turn.user_message or "", LINE_CHARACTERS),
            _cut(turn.response, REPLY_CHARACTERS),
        )


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]}{_CUT}"


class SnippetSpace:
    """All turns of one user as counts of character n-grams; no label is read.

    n-grams are those of sklearn's `char_wb` analyser: 2 to 5 characters within words that have a
    space on each side, in lower case. Counting them is what takes the time, so it is done once for
    all scenarios of the user.
    """

    def __init__(self, known: Sequence[Snippet]) -> None:
        self.known = tuple(known)
        grams = [_grams(one.text) for one in self.known]
        sizes = np.array([len(own) for own in grams], dtype=np.intp)
        self.names, columns = np.unique(np.concatenate(grams or [_grams("")]), return_inverse=True)
        rows = np.repeat(np.arange(len(grams)), sizes)
        # A cell is a turn and an n-gram, with how often the one has the other.
        cells, self.counts = np.unique(
            rows.astype(np.int64) * max(len(self.names), 1) + columns, return_counts=True
        )
        self.rows, self.columns = np.divmod(cells, max(len(self.names), 1))

    def outside(self, scenario: str) -> SnippetIndex | None:
        """The turns of all other scenarios; None where there are none."""
        places = [place for place, one in enumerate(self.known) if one.scenario != scenario]
        return SnippetIndex(self, places) if places else None


class SnippetIndex:
    """Some turns of one user, to be found by what a conversation is about (protocols B 2.2).

    TF-IDF of the n-grams of these turns alone, at most MOST_FEATURES of them, the most frequent
    ones; not sublinear; by cosine. Of equals the earlier one is nearer.
    """

    def __init__(self, space: SnippetSpace, places: Sequence[int]) -> None:
        self._known = [space.known[place] for place in places]
        self._names = space.names
        numbers = np.full(len(space.known), -1)
        numbers[list(places)] = np.arange(len(places))
        kept = numbers[space.rows] >= 0
        self._rows, self._columns = numbers[space.rows[kept]], space.columns[kept]
        counts = space.counts[kept].astype(np.float64)
        size = len(space.names)
        frequency = np.bincount(self._columns, weights=counts, minlength=size)
        found_in = np.bincount(self._columns, minlength=size)
        self._idf = np.where(found_in > 0, np.log((1 + len(places)) / (1 + found_in)) + 1, 0.0)
        if np.count_nonzero(found_in) > MOST_FEATURES:
            self._idf[np.argsort(-frequency, kind="stable")[MOST_FEATURES:]] = 0.0
        self._weights = counts * self._idf[self._columns]
        norms = np.sqrt(np.bincount(self._rows, weights=self._weights**2, minlength=len(places)))
        self._inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)

    def similar(self, dialogue: Dialogue, *, k: int = RETRIEVED) -> tuple[Snippet, ...]:
        """The k turns most like a conversation whose last message is the user's."""
        return tuple(self._ranked(dialogue)[:k])

    def diverse(self, dialogue: Dialogue, *, k: int = RETRIEVED) -> tuple[Snippet, ...]:
        """K turns from the scenarios in turn, the scenario with the most similar turn first."""
        by_scenario: dict[str, list[Snippet]] = {}
        for one in self._ranked(dialogue):
            by_scenario.setdefault(one.scenario, []).append(one)
        longest = max(map(len, by_scenario.values()))
        order = [
            own[place]
            for place in range(longest)
            for own in by_scenario.values()
            if place < len(own)
        ]
        return tuple(order[:k])

    def alike(self, text: str) -> FloatArray:
        """The cosine of each turn with a text, up to a factor that is the same for all."""
        grams, counts = np.unique(_grams(text), return_counts=True)
        places = np.searchsorted(self._names, grams)
        places[places == len(self._names)] = 0
        met = self._names[places] == grams if len(self._names) else np.zeros(len(grams), dtype=bool)
        asked = np.zeros(len(self._names))
        asked[places[met]] = counts[met] * self._idf[places[met]]
        matched: FloatArray = self._weights * asked[self._columns]
        sums = np.bincount(self._rows, weights=matched, minlength=len(self._known))
        return np.multiply(sums, self._inverse, dtype=np.float64)

    def _ranked(self, dialogue: Dialogue) -> list[Snippet]:
        alike = self.alike(query_text(dialogue))
        scale = float(alike.max()) or 1.0
        # Sums in another order differ in their last digits; sorting keeps the order of equals.
        near = (alike / scale).round(12)
        return [self._known[place] for place in np.argsort(-near, kind="stable")]


def _grams(text: str) -> NDArray[np.uint64]:
    """The n-grams of a text in order of size, each as a number that stands for it."""
    words = [f" {word} " for word in text.lower().split()]
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    lengths = np.array([len(one) for one in words], dtype=np.intp)
    word = np.repeat(np.arange(len(words)), lengths)
    hashes = codes.astype(np.uint64)
    found = []
    for size in range(2, LONGEST_GRAM + 1):
        following = codes[size - 1 :].astype(np.uint64) + np.uint64(1)
        hashes = hashes[: len(following)] * _MIX + following  # wraps around, as a hash may
        whole = word[size - 1 :] == word[: len(following)]
        found.append(hashes[whole] + np.uint64(size))
    return np.concatenate(found)


def query_text(dialogue: Dialogue) -> str:
    """What turns are sought by: the last messages, then the user's last one twice."""
    asked = [message.text for message in dialogue if message.role is Speaker.USER][-1:]
    return "\n".join([*(message.text for message in dialogue[-QUERY_MESSAGES:]), *asked * 2])


def snippets_block(found: Iterable[Snippet]) -> PromptText:
    """Turns of other scenarios as a prompt shows them, one after another."""
    return PromptText("\n\n".join(map(_block, found)))


def _block(one: Snippet) -> str:
    context = [_message(message.role, message.text) for message in one.context]
    return "\n".join(
        [
            "<turn>",
            f"<scenario>\n{neutralise(one.scenario)}\n</scenario>",
            *(["<dialogue>", *context, "</dialogue>"] if context else []),
            _message(Speaker.USER, one.user_message),
            _message(Speaker.ASSISTANT, one.response),
            "</turn>",
        ]
    )


def _message(role: Speaker, text: str) -> str:
    return f"<{role.value}>\n{neutralise(text)}\n</{role.value}>"


_PROMPTS: Final = {
    GenerationContext.MEMORY: ("generate_with_history", "history"),
    GenerationContext.DIVERSE: ("generate_with_history", "history"),
    GenerationContext.COMPRESSED: ("generate_with_memory", "memory"),
}
"""By context the prompt that shows the memory, and the placeholder of it."""


def generation_messages(
    question: GenerationQuestion, *, book: PromptBook = FILES
) -> tuple[Message, ...]:
    """What the model is sent: the system prompt, what is known of the user, the conversation.

    The conversation goes as messages of its own, whole; only what is known of the user goes through
    a prompt, which ends the system prompt.
    """
    system = question.system.strip()
    if question.context in _PROMPTS:
        name, placeholder = _PROMPTS[question.context]
        prompt = book.load(name, language=question.language)
        shown = prompt.render({placeholder: question.memory})
        system = f"{system}\n\n{shown}" if system else shown
    *earlier, (asked, _reply) = question.turns
    return messages_for_model(system, earlier, asked or "")


def generation_prompts_used(
    language: str, *, context: GenerationContext, book: PromptBook = FILES
) -> Mapping[str, str]:
    """The digest of the prompt that shows a user's memory, by label; nothing without one."""
    if context not in _PROMPTS:
        return {}
    prompt = book.load(_PROMPTS[context][0], language=prompt_language(language))
    return {prompt.label: prompt.digest}


def retrieval_of(context: GenerationContext, index: SnippetIndex) -> Callable[[Dialogue], str]:
    """How a context that retrieves finds what it shows of a conversation."""
    find = index.diverse if context is GenerationContext.DIVERSE else index.similar
    return lambda dialogue: snippets_block(find(dialogue))
