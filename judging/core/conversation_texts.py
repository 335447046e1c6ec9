"""What a participant reads where a live conversation cannot go on; codes as in `error_texts`.

Participants can change nothing about an endpoint, so its codes have sentences of their own here.
"""

from __future__ import annotations

from typing import Final

from annotation.core.refusals import gettext_noop, register

LATER: Final = gettext_noop("The assistant could not be reached. Try again.")
NEVER: Final = gettext_noop(
    "The assistant cannot answer at the moment. Please contact a study manager."
)

TALK_TEXTS: Final[dict[str, str]] = {
    "llm:unavailable": LATER,
    "llm:malformed": LATER,
    "llm:timeout": gettext_noop("The assistant did not answer in time. Try again."),
    "llm:rate-limited": gettext_noop("The assistant is busy. Wait a minute, then try again."),
    "llm:no-answer": gettext_noop(
        "The assistant's reply was empty. Try again, or edit your message."
    ),
    "llm:bad-request": gettext_noop(
        "The assistant could not process this message; the conversation may be too long. Edit "
        "the message, or end the conversation."
    ),
    "conversation:stopped": gettext_noop("You stopped the reply before it began."),
    "conversation:crashed": gettext_noop("Something went wrong on this site. Try again."),
    "conversation:no-model": gettext_noop(
        "This study has no assistant yet. Please contact a study manager."
    ),
    "conversation:reply-pending": gettext_noop(
        "The assistant is still replying to your last message. Your new message is kept below; "
        "send it once the reply has arrived."
    ),
    "conversation:unanswered": gettext_noop(
        "Your last message has no reply yet. Retry or edit it first; your new message is kept "
        "below."
    ),
    "conversation:incomplete": gettext_noop("The request was incomplete. Try again."),
    "conversation:nothing-to-retry": gettext_noop("There is no message to retry."),
    "conversation:too-early": gettext_noop(
        "You cannot end the conversation yet. It needs more replies, or some requirements are "
        "not met."
    ),
    "conversation:ended": gettext_noop("This conversation has ended."),
    "conversation:message": gettext_noop("Enter a message of at most 20,000 characters."),
}


register({code: text for code, text in TALK_TEXTS.items() if code.startswith("conversation:")})


def talk_text(code: str) -> str:
    """The sentence for a code, untranslated; one for all that a participant cannot mend."""
    return TALK_TEXTS.get(code, NEVER)
