"""Replies that say their question's own words again answer nothing (protocols A1.4, A2.2).

What is taken for an echo is read off the prompts themselves, so that the two cannot drift apart. A
reply that restates the form and then answers is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from judging.core.categories import SortedDialogue, read_sorted
from judging.core.loops import loops
from judging.core.memory_parsing import parse_texts, read_memory
from judging.core.preferences import EMPTY, read_preference
from judging.core.prompt_edits import closing_lines
from judging.core.prompts import LANGUAGES, REMIND_MARK, REMIND_VERDICT, load_prompt
from judging.core.rubrics import read_phrases
from judging.core.structured import (
    REASON_WORDS,
    ReplyForm,
    TurnReply,
    parse_bracketed,
    parse_turn,
)
from judging.core.verdicts import UNPARSEABLE, parse_strict

_TOKEN: Final = re.compile(r"[A-Za-z]+|[一-鿿]")
_BETWEEN: Final = r"[\s:：,，*_~`\"'“”‘’«»「」『』()\[\]{}<>（）【】〔〕《》［］｛｝—–-]*+"
_AFTER: Final = r"(?![A-Za-z0-9_])[*_~`\"'”’»」』)\]}>）】〕》］｝]*+[.。]?"
_ANY_LETTER: Final = "[ABCＡＢＣ]"


def decided(text: str, *, by_marks: bool = False) -> Verdict:
    """The verdict AS SHOWN of a reply, by what is left of it without the prompt's own sentences.

    "If Response A is better: …" and its like say nothing, whichever letters stand in them: a weak
    model that repeats them has not decided.

    Args:
        text: the reply.
        by_marks: [[A]], [[B]] or [[C]] is asked for in place of a sentence.

    Raises:
        Refused: `verdict:echo` where only such sentences would state a verdict; or
            `verdict:unparseable`.
    """
    own = ("rubric_pair_generic", REMIND_MARK) if by_marks else ("judge_pair", REMIND_VERDICT)
    rest = _dictated(own).sub("\n", text)
    verdict = parse_bracketed(rest) if by_marks else parse_strict(rest)
    if verdict is None:
        raise Refused(UNPARSEABLE if rest == text else "verdict:echo")
    return verdict


@cache
def _dictated(names: tuple[str, ...]) -> re.Pattern[str]:
    """The closing sentences of prompts in every language, however they are set."""
    texts = [load_prompt(name, language=language).text for name in names for language in LANGUAGES]
    sentences = [_sentence(line) for text in texts for line in closing_lines(text)]
    return re.compile("|".join(sentences), re.IGNORECASE)


def _sentence(line: str) -> str:
    if not re.search(r"\w{2}", line):
        return re.escape(line)  # a mark alone
    tokens = (_ANY_LETTER if word in "ABC" else word for word in _TOKEN.findall(line))
    return r"(?<![A-Za-z0-9_])" + _BETWEEN.join(tokens) + _AFTER


_SHORTEST: Final = 30
"""Letters and digits that only an echo shares with the question; a Chinese character counts 3."""
_SENTENCES: Final = re.compile(r"[.!?。！？]+")
_ANNOUNCES: Final = re.compile(r"[:：][\s*_]*+$")
_REASONS: Final = re.compile(
    rf"(?<![a-z])(?:{'|'.join(REASON_WORDS)})(?![a-z])".replace(" ", r"[\s_-]++"), re.IGNORECASE
)
_SAYS_NOTHING: Final = frozenset(
    ["", "na", "nil", "none", "null", "nothing", "unknown", "string", "text", "tbd", "无", "空"]
) | {"没有", "暂无", "未知", "不详"}


def preference_said(reply: str, *, asked: str) -> str:
    """The preference in a distiller's reply, without lines of the task that it repeats.

    Args:
        reply: what the model said.
        asked: the prompt that it answers, with its places unfilled; so for all of the following.

    Raises:
        Refused: `preference:echo` where nothing else stands there, `preference:empty` where nothing
            does, `preference:loop` if it says the same over and over.
    """
    text = read_preference(reply)
    if _folded(text) in _SAYS_NOTHING:
        raise Refused(EMPTY, "the reply says nothing")
    if loops(text):
        raise Refused("preference:loop", "the reply repeats itself")
    question = _question(asked)
    lines = text.splitlines()
    if not any(_repeats(line, question) for line in lines):
        return text
    own = [line for line in lines if not _is_part(line, question) and not _ANNOUNCES.search(line)]
    if not any(map(_folded, own)):
        raise Refused("preference:echo", "the reply repeats the task")
    return "\n".join(own).strip()


def memory_said(reply: str, *, aliases: Mapping[str, str], asked: str) -> dict[str, object]:
    """See `memory_parsing.read_memory`; texts beside the scoring style that are the form's go.

    Raises:
        Refused: `memory:echo` where the scoring style says nothing or is the form's;
            `memory:unparseable`.
    """
    found = read_memory(reply, aliases=aliases)
    # Somebody may well want their replies to have one or two sentences.
    form = _form(asked) | {"preferred_response_format": {"text": ""}}
    texts = {name: _own_texts(value, form[name], asked) for name, value in found.items()}
    style = parse_texts(found, turn_ids=()).texts.scoring_style.text
    if _folded(style) in _SAYS_NOTHING or not texts["scoring_style"]:
        raise Refused("memory:echo", "the reply repeats the form")
    return texts


def _own_texts(value: object, form: Any, asked: str) -> object:
    """A statement, or those of a list, without what the form has in the same place."""
    if isinstance(value, list):
        return [item for item in value if not _is_echoed(item, form[0], asked)]
    return "" if _is_echoed(value, form, asked) else value


def _is_echoed(statement: Any, form: Mapping[str, object], asked: str) -> bool:
    """Whether any text of a statement is its placeholder, or a stretch of the question."""
    said = statement if isinstance(statement, Mapping) else {"text": statement}
    return any(
        _folded(said[name]) == _folded(placeholder) or _repeats(said[name], _question(asked))
        for name, placeholder in form.items()
        if isinstance(placeholder, str)
    )


def turn_said(reply: str, *, form: ReplyForm, asked: str, judged: str = "") -> TurnReply:
    """See `structured.parse_turn`.

    Raises:
        Refused: `score:echo` where the analysis says nothing or is the form's;
            `score:unparseable`.
    """
    turn = parse_turn(reply, form, judged=judged)
    # The prompts list the reasons: an analysis that names them says what decided.
    beside = _REASONS.sub(". ", turn.analysis)
    names_reasons = beside != turn.analysis and not _repeats(beside, _question(asked))
    if _is_hollow(turn.analysis, asked) and not names_reasons:
        raise Refused("score:echo", "the analysis repeats the form")
    return turn


def sorted_said(reply: str, *, asked: str) -> SortedDialogue:
    """See `categories.read_sorted`.

    Raises:
        Refused: `sort:echo` where the sentence is the form's; `sort:unparseable`.
    """
    found = read_sorted(reply)
    if _is_of_the_form(found.why, asked):
        raise Refused("sort:echo", "the sentence repeats the form")
    return found


def phrases_said(reply: str, *, most: int, asked: str) -> tuple[str, ...]:
    """See `rubrics.read_phrases`; sentences of the form are left out.

    Raises:
        Refused: `rubrics:echo` where there are no others; `rubrics:unparseable`.
    """
    found = [each for each in read_phrases(reply) if not _is_hollow(each, asked)]
    if not found:
        raise Refused("rubrics:echo", "the reply repeats the form")
    return tuple(found[:most])


def _is_hollow(text: str, asked: str) -> bool:
    return _folded(text) in _SAYS_NOTHING or _is_of_the_form(text, asked)


def _is_of_the_form(text: str, asked: str) -> bool:
    """Whether a text is a placeholder of the form, or a stretch of the question."""
    return _folded(text) in _placeholders(asked) or _repeats(text, _question(asked))


@cache
def _placeholders(asked: str) -> frozenset[str]:
    """What stands in the JSON that ends a prompt where a text belongs."""
    return frozenset(map(_folded, _texts(_form(asked))))


def _form(asked: str) -> dict[str, Any]:
    _announced, *form = closing_lines(asked)
    found: dict[str, Any] = json.loads("\n".join(form))
    return found


def _texts(value: object) -> Iterator[str]:
    """Every text of a form but the reasons, which a reply does name."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name != "reason":
                yield from _texts(item)


@cache
def _question(asked: str) -> str:
    return _folded(asked)


def _folded(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return "".join(character for character in text.casefold() if character.isalnum())


def _repeats(line: str, question: str) -> bool:
    """Whether a line has nothing but sentences of a folded question, and enough of them to tell."""
    length = sum(1 if character.isascii() else 3 for character in _folded(line))
    return length >= _SHORTEST and _is_part(line, question)


def _is_part(line: str, question: str) -> bool:
    return all(_folded(sentence) in question for sentence in _SENTENCES.split(line))
