"""Conversations that nobody rated: chat messages, ShareGPT, LMSYS-Chat-1M and WildChat.

Every response is the original one of its turn. A system message after the last response, which
ShareGPT's pages leave there, says nothing to it and is kept beside the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, are_messages, read_messages
from annotation.core.formats.chosen import dialogue_session, first_of, rest_of
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.kto import looks_like as is_marked
from annotation.core.formats.llamafactory import looks_like as is_pair
from annotation.core.formats.llamafactory import looks_like_swift as is_swift_pair
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

MESSAGES: Final = "chat-messages"
SHAREGPT: Final = "sharegpt"
LMSYS: Final = "lmsys-chat"
WILDCHAT: Final = "wildchat"
SCENARIO: Final = "chat"

_LANGUAGE_CHARS: Final = 16
_LANGUAGES: Final[Mapping[str, str]] = {
    "arabic": "ar",
    "chinese": "zh",
    "czech": "cs",
    "danish": "da",
    "dutch": "nl",
    "english": "en",
    "finnish": "fi",
    "french": "fr",
    "german": "de",
    "greek": "el",
    "hebrew": "he",
    "hindi": "hi",
    "hungarian": "hu",
    "indonesian": "id",
    "italian": "it",
    "japanese": "ja",
    "korean": "ko",
    "norwegian": "no",
    "persian": "fa",
    "polish": "pl",
    "portuguese": "pt",
    "romanian": "ro",
    "russian": "ru",
    "spanish": "es",
    "swedish": "sv",
    "thai": "th",
    "turkish": "tr",
    "ukrainian": "uk",
    "vietnamese": "vi",
    "unknown": "",
}
"""Codes of the languages that chat logs name in English."""
_OTHERS: Final = ("chosen", "rejected", "type", "scenario", "ans_id")


def language_code(name: str) -> str:
    """The code of a language named in English; a name that is not known stays, if it is short."""
    told = name.strip()
    return _LANGUAGES.get(told.lower(), told if len(told) <= _LANGUAGE_CHARS else "")


def looks_like_messages(row: object) -> bool:
    """Whether a row has a list of messages and nothing that is said of them."""
    return (
        isinstance(row, Mapping)
        and are_messages(row.get("messages"))
        and not any(name in row for name in _OTHERS)
        and not is_marked(row)
        and not is_swift_pair(row)
    )


def looks_like_sharegpt(row: object) -> bool:
    """Whether a row has the conversations of ShareGPT, neither compared nor marked."""
    return (
        isinstance(row, Mapping)
        and are_messages(row.get("conversations"))
        and not any(name in row for name in _OTHERS)
        and not is_marked(row)
        and not is_pair(row)
    )


def looks_like_lmsys(row: object) -> bool:
    """Whether a row has one model's conversation under a `conversation_id`."""
    return (
        isinstance(row, Mapping)
        and {"conversation_id", "model"} <= row.keys()
        and are_messages(row.get("conversation"))
        and not looks_like_wildchat(row)
    )


def looks_like_wildchat(row: object) -> bool:
    """Whether a row has a conversation whose messages say what WildChat knows of them."""
    if not isinstance(row, Mapping) or not are_messages(row.get("conversation")):
        return False
    first = row["conversation"][0]
    return "conversation_hash" in row or ("model" in row and "turn_identifier" in first)


def parse(fields: Fields) -> SessionRecord:
    """One conversation as a session with the original responses, nothing rated."""
    name = first_of(fields, "messages", "conversations", "conversation")
    key = first_of(fields, "conversation_hash", "conversation_id", "id")
    known = [name, key, "model", "language", "hashed_ip"]
    model = fields.text_or("model", longest=MODEL_CHARS)
    messages = [
        replace(each, model=each.model or model) if each.role is Speaker.ASSISTANT else each
        for each in read_messages(fields, name)
    ]
    asked = next((each.text for each in messages if each.role is Speaker.USER), None)
    known += ["prompt"] if fields.data.get("prompt") == asked else []
    after = _after_the_last(fields, messages)
    return dialogue_session(
        fields,
        messages,
        scenario=SCENARIO,
        key=fields.short(key, KEY_CHARS) if fields.has(key) else "",
        user=fields.text_or("hashed_ip") or None,
        language=language_code(fields.text_or("language")),
        extra={**rest_of(fields, *known), **after},
    )


def _after_the_last(fields: Fields, messages: list[SpokenMessage]) -> dict[str, object]:
    """Take away the system messages behind the last message of another, to be kept."""
    told: list[str] = []
    while len(messages) > 1 and messages[-1].role is Speaker.SYSTEM:
        told.insert(0, messages.pop().text)
    if not told:
        return {}
    fields.notes.kept.append("system_after")
    return {"system_after": told}


FORMATS: Final = (
    Format(
        name=MESSAGES,
        title=gettext_noop("Conversations as chat messages"),
        line=gettext_noop(
            "A conversation a row, as in OpenAI fine-tuning files; nothing is rated yet."
        ),
        looks_like=looks_like_messages,
        parse=parse,
    ),
    Format(
        name=SHAREGPT,
        title=gettext_noop("Conversations of ShareGPT"),
        line=gettext_noop("Conversations of people with a model; nothing is rated yet."),
        looks_like=looks_like_sharegpt,
        parse=parse,
    ),
    Format(
        name=LMSYS,
        title=gettext_noop("LMSYS-Chat-1M"),
        line=gettext_noop("Conversations with the models of the arena; nothing is rated yet."),
        looks_like=looks_like_lmsys,
        parse=parse,
    ),
    Format(
        name=WILDCHAT,
        title=gettext_noop("WildChat"),
        line=gettext_noop("Conversations with ChatGPT in many languages; nothing is rated yet."),
        looks_like=looks_like_wildchat,
        parse=parse,
    ),
)
