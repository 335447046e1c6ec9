"""What the software refuses to do: one exception, a stable code for each reason, a text for people.

Every app registers its codes once, with an English sentence marked for the translators and the
status that HTTP answers with; sentences are translated at the edge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

_TEXTS: Final[dict[str, str]] = {}
_STATUSES: Final[dict[str, HTTPStatus]] = {}


def gettext_noop(text: str) -> str:
    """The text itself, marked as one that a person sees."""
    return text


def register(texts: Mapping[str, str], *, statuses: Mapping[str, HTTPStatus] | None = None) -> None:
    """Add an app's codes with their sentences; a code without a status answers 409.

    Raises:
        ValueError: a code has a text already, or a status and no text.
    """
    doubled = set(texts) & set(_TEXTS)
    lost = set(statuses or {}) - set(texts)
    if doubled or lost:
        message = f"codes registered twice or without a text: {sorted(doubled | lost)}"
        raise ValueError(message)
    _TEXTS.update(texts)
    _STATUSES.update(statuses or {})


def text_of(code: str) -> str:
    """The sentence for a code, untranslated; the code itself where it has none."""
    return _TEXTS.get(code, code)


def status_of(code: str) -> HTTPStatus:
    """What HTTP answers to a refusal with this code."""
    return _STATUSES.get(code, HTTPStatus.CONFLICT)


class Refused(Exception):  # noqa: N818 - a refusal is no error of the program
    """What was asked for cannot be done, for a reason that was foreseen.

    Args:
        code: the stable name of the reason.
        detail: what a log or a command adds to the sentence of the code, or says in its place.
        faults: all that is wrong, where there is more than one thing to say.
        values: what the sentence names.
    """

    def __init__(
        self, code: str, detail: str = "", *, faults: Sequence[Any] = (), **values: Any
    ) -> None:
        super().__init__(code)
        self.code = code
        self.detail = detail
        self.faults = tuple(faults)
        self.values = values

    def __str__(self) -> str:
        """The detail, or the faults, or else the sentence of the code."""
        return self.detail or "; ".join(map(str, self.faults)) or self.text

    @property
    def text(self) -> str:
        """The sentence of the code, untranslated, without its values."""
        return text_of(self.code)

    @property
    def status(self) -> HTTPStatus:
        """What HTTP answers."""
        return status_of(self.code)
