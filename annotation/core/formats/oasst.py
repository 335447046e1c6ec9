"""OpenAssistant: trees of messages, single threads of them, or the messages one by one.

A session is a path of prompts from the root of a tree to a prompt that no other follows. Its turns
have all replies to a prompt, the one that the path goes on with as the original; a prompt that
several paths share has its other replies and their comparisons in the first path alone. Rank 0 is
the best of the replies to a prompt: what many reviewers' rankings say together, and so a gold
answer. Replies that were deleted or did not pass the review have no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from annotation.core.formats.compared import ranked_comparisons, told_apart
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.grouped import ROWS, JsonObject, read_grouped
from annotation.core.formats.reading import RawRow, read_rows
from annotation.core.formats.records import Extra, ResponseRecord, SessionRecord, TurnRecord
from annotation.core.refusals import gettext_noop

TREES: Final = "oasst-trees"
THREADS: Final = "oasst-threads"
MESSAGES: Final = "oasst-messages"
SCENARIO: Final = "oasst"

_PATH: Final = "path"
"""The field with a path of turns, into which the rows of a file are split before they are read."""
_NOT_KEPT: Final = (
    "text",
    "role",
    "lang",
    "rank",
    "model_name",
    "replies",
    "message_tree_id",
    "tree_state",
)
_OF_TREE: Final = ("message_tree_id", "tree_state")
_WORST: Final = 1000
_APART: Final = gettext_noop(
    "The message that this one answers is not here; the messages of a tree must follow one another"
)
_PROMPTER: Final = "prompter"
_ROLES: Final = (_PROMPTER, "assistant")


def looks_like_trees(row: object) -> bool:
    """Whether a row is a tree of messages."""
    return isinstance(row, Mapping) and {"message_tree_id", "prompt"} <= row.keys()


def looks_like_threads(row: object) -> bool:
    """Whether a row is a thread of messages."""
    return isinstance(row, Mapping) and {"thread_id", "thread"} <= row.keys()


def looks_like_messages(row: object) -> bool:
    """Whether a row is one message."""
    return isinstance(row, Mapping) and {"message_id", "text", "role", "lang"} <= row.keys()


@dataclass(frozen=True, slots=True)
class _Turn:
    """A prompt, or none, with the replies to it; `chosen` is the place of the one answered next.

    Where a path before this one has had the turn, it is shared.
    """

    prompt: JsonObject | None
    replies: Sequence[JsonObject]
    chosen: int | None = None
    is_shared: bool = False


def parse(fields: Fields) -> SessionRecord:
    """One path of a tree as a session, its replies compared by their ranks."""
    fields.refuse_unplaced("prompt")
    path = fields.data.get(_PATH)
    if not isinstance(path, list) or not all(isinstance(each, _Turn) for each in path):
        reason = _APART if ROWS in fields.data else gettext_noop("Expected an object")
        fields.fault("prompt", reason, fields.data.get("prompt"))
        return SessionRecord("", SCENARIO, ())
    return _session(fields, path, fields.kept(_PATH, "prompt"))


def parse_thread(fields: Fields) -> SessionRecord:
    """One thread as a session, every reply the original of its turn."""
    fields.refuse_unplaced("thread")
    messages = [each.data for each in fields.items("thread")]
    parents = [None, *range(len(messages) - 1)][: len(messages)]
    [path] = _paths(messages, parents) or [[]]
    if not path:
        fields.fault("thread", gettext_noop("Missing"))
        return SessionRecord("", SCENARIO, ())
    return _session(fields, path, fields.kept("thread"))


def _session(fields: Fields, path: Sequence[_Turn], extra: Extra) -> SessionRecord:
    turns, name, language = [], "", ""
    for turn in path:
        message = None
        if turn.prompt is not None:
            said = _message(fields, turn.prompt)
            message, language = said.text("text"), language or said.text_or("lang", longest=16)
            if not turn.is_shared and (more := said.kept(*_NOT_KEPT)):
                said.notes.keep(said.path, more)
        first = _message(fields, turn.prompt if turn.prompt is not None else turn.replies[0])
        name = first.short("message_id", KEY_CHARS)
        turns.append(_turn(fields, turn, message))
    return SessionRecord(name, SCENARIO, tuple(turns), language=language, extra=extra)


def _message(fields: Fields, data: JsonObject) -> Fields:
    """One message, whose faults are told by its id."""
    message = Fields(data, fields.notes, f"message {data.get('message_id')}")
    message.refuse_unplaced()
    role = message.text("role")
    if role and role not in _ROLES:
        reason = gettext_noop("Expected one of %(words)s")
        message.fault("role", reason, role, words=", ".join(_ROLES))
    return message


def _turn(fields: Fields, turn: _Turn, message: str | None) -> TurnRecord:
    responses, values = [], {}
    original = turn.chosen
    if original is None and len(turn.replies) == 1:
        original = 0
    for place, data in enumerate(turn.replies):
        if turn.is_shared and place != original:
            continue
        reply, key = _message(fields, data), str(place)
        text, model = reply.text("text"), reply.text_or("model_name")
        extra = reply.kept(*_NOT_KEPT)
        if len(model) > MODEL_CHARS:
            extra["model_name"] = model
        responses.append(
            ResponseRecord(key, text, model[:MODEL_CHARS], place == original, extra=extra)
        )
        rank = reply.whole_or_none("rank", 0, _WORST)
        passed = not reply.flag("deleted") and reply.data.get("review_result") is not False
        if rank is not None and passed:
            values[key] = -float(rank)
    apart = told_apart(responses)
    pairs = ranked_comparisons(message, apart, values, is_gold=True)
    return TurnRecord(message, apart, tuple(pairs))


def _paths(
    messages: Sequence[JsonObject], parents: Sequence[int | None]
) -> list[list[_Turn]] | None:
    """The paths of a tree, depth first; None where a message is not reached from a root."""
    replies: list[list[int]] = [[] for _ in messages]
    prompts: list[list[int]] = [[] for _ in messages]
    waiting: list[tuple[list[_Turn], int | None, list[int]]] = []
    for place, (message, parent) in enumerate(zip(messages, parents, strict=True)):
        is_prompt = message.get("role") == _PROMPTER
        if parent is not None:
            (prompts if is_prompt else replies)[parent].append(place)
        else:
            waiting.insert(0, ([], place, replies[place]) if is_prompt else ([], None, [place]))
    found: list[list[_Turn]] = []
    reached: set[int] = set()
    while waiting:
        before, prompt, answers = waiting.pop()
        own = [] if prompt is None else [prompt]
        reached.update(answers, own)
        turn = _Turn(messages[own[0]] if own else None, [messages[each] for each in answers])
        # The place of the reply that is answered, the prompt that does so and the replies to it.
        goes_on: list[tuple[int | None, int | None, list[int]]] = []
        goes_on += [(None, each, replies[each]) for place in own for each in prompts[place]]
        for at, answer in enumerate(answers):
            goes_on += [(at, each, replies[each]) for each in prompts[answer]]
            goes_on += [(at, None, replies[answer])] if replies[answer] else []
        if not goes_on:
            found.append([*before, turn])
        for number, (chosen, next_prompt, next_answers) in reversed(list(enumerate(goes_on))):
            path = [*before, replace(turn, chosen=chosen)]
            if number:
                path = [replace(each, is_shared=True) for each in path]
            waiting.append((path, next_prompt, next_answers))
    return found if len(reached) == len(messages) else None


# Rows of files, split into paths ---------------------------------------------------------------


def _read_trees(path: Path) -> Iterator[RawRow]:
    """The paths of every tree."""
    for raw in read_rows(path):
        tree = raw.value
        if raw.fault is not None or not isinstance(tree, Mapping):
            yield raw
        else:
            yield from _split(raw, tree, *_nested(tree.get("prompt")))


def _nested(prompt: object) -> tuple[list[JsonObject], list[int | None]]:
    """The messages of a tree and the places of their parents; none where one is no object."""
    messages: list[JsonObject] = []
    parents: list[int | None] = []
    waiting: list[tuple[object, int | None]] = [(prompt, None)]
    while waiting:
        message, parent = waiting.pop()
        replies = message.get("replies") or [] if isinstance(message, Mapping) else None
        if not isinstance(message, Mapping) or not isinstance(replies, list):
            return [], []
        waiting += [(each, len(messages)) for each in reversed(replies)]
        messages.append(message)
        parents.append(parent)
    return messages, parents


def _read_messages(path: Path) -> Iterator[RawRow]:
    """The paths of every tree whose messages follow one another."""
    for raw in read_grouped(path, _same_tree):
        group = raw.value
        if raw.fault is not None or not isinstance(group, Mapping):
            yield raw
            continue
        rows = group[ROWS]
        places = {str(row.get("message_id")): place for place, row in enumerate(rows)}
        # A message that is its own parent is reached from no root.
        parents = [
            None if row.get("parent_id") is None else places.get(str(row["parent_id"]), place)
            for place, row in enumerate(rows)
        ]
        tree = {name: rows[0][name] for name in _OF_TREE if rows[0].get(name) is not None}
        yield from _split(raw, tree, rows, parents)


def _same_tree(rows: Sequence[JsonObject], row: JsonObject) -> bool:
    tree = row.get("message_tree_id")
    if tree is not None:
        return tree == rows[0].get("message_tree_id")
    parent = row.get("parent_id")
    return parent is not None and any(each.get("message_id") == parent for each in reversed(rows))


def _split(
    raw: RawRow,
    tree: JsonObject,
    messages: Sequence[JsonObject],
    parents: Sequence[int | None],
) -> Iterator[RawRow]:
    paths = _paths(messages, parents)
    if not paths:
        yield raw
    for each in paths or ():
        yield RawRow(raw.line, {**tree, _PATH: each})


FORMATS: Final = (
    Format(
        name=TREES,
        title=gettext_noop("OpenAssistant trees"),
        line=gettext_noop(
            "Conversations that branch, with several ranked replies to a prompt; a tree a row."
        ),
        looks_like=looks_like_trees,
        parse=parse,
        read_file=_read_trees,
    ),
    Format(
        name=THREADS,
        title=gettext_noop("OpenAssistant threads"),
        line=gettext_noop("Single conversations, nothing ranked; a thread a row."),
        looks_like=looks_like_threads,
        parse=parse_thread,
    ),
    Format(
        name=MESSAGES,
        title=gettext_noop("OpenAssistant messages"),
        line=gettext_noop("OpenAssistant’s trees, a message a row; the messages of a tree adjoin."),
        looks_like=looks_like_messages,
        parse=parse,
        read_file=_read_messages,
    ),
)
