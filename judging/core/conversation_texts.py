"""What a participant reads where a live conversation cannot go on; codes as in `error_texts`.

Participants can change nothing about an endpoint, so its codes have sentences of their own here.
"""

from __future__ import annotations

from typing import Final

from annotation.core.refusals import gettext_noop, register

LATER: Final = gettext_noop("The assistant could not be reached just now. Try again.")
NEVER: Final = gettext_noop(
    "The assistant cannot answer at the moment. Please tell the people who run this study."
)

TALK_TEXTS: Final[dict[str, str]] = {
    "llm:unavailable": LATER,
    "llm:malformed": LATER,
    "llm:timeout": gettext_noop("The assistant did not answer in time. Try again."),
    "llm:rate-limited": gettext_noop(
        "The assistant is asked too much at the moment. Wait a minute, then try again."
    ),
    "llm:no-answer": gettext_noop(
        "The assistant answered with nothing. Try again, or change your message."
    ),
    "llm:bad-request": gettext_noop(
        "The assistant could not take this message; the conversation may have become too long for "
        "it. Change the message, or end the conversation."
    ),
    "conversation:stopped": gettext_noop("You stopped the reply before it began."),
    "conversation:crashed": gettext_noop("Something went wrong on this site. Try again."),
    "conversation:no-model": gettext_noop(
        "This study has no assistant to talk with yet. Please tell the people who run it."
    ),
    "conversation:reply-pending": gettext_noop(
        "The reply to your last message is still on its way. Your new message is kept below: send "
        "it when the reply is there."
    ),
    "conversation:unanswered": gettext_noop(
        "Your last message has no reply yet. Try it again or change it first; your new message is "
        "kept below."
    ),
    "conversation:incomplete": gettext_noop("Part of that request was missing. Try again."),
    "conversation:nothing-to-retry": gettext_noop("There is no message to try again."),
    "conversation:too-early": gettext_noop(
        "The conversation cannot end yet: it needs more replies, or some requirements are open."
    ),
    "conversation:ended": gettext_noop("This conversation has ended."),
    "conversation:message": gettext_noop("Write a message first, of at most 20,000 characters."),
}


register({code: text for code, text in TALK_TEXTS.items() if code.startswith("conversation:")})


def talk_text(code: str) -> str:
    """The sentence for a code, untranslated; one for all that a participant cannot mend."""
    return TALK_TEXTS.get(code, NEVER)
