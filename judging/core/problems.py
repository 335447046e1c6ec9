"""What an endpoint says went wrong, read from an error of any shape.

Providers and gateways put an error at the top, under `error`, `detail`, `errors` or `base_resp`, as
an object, a list or a text, with or without a matching HTTP status.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

LONGEST_MESSAGE: Final = 2_000
"""Characters of a message that are read."""
_DEEPEST: Final = 6
_MOST_PARTS: Final = 3
_TEXTS: Final = (
    "message",
    "msg",
    "error_message",
    "errorMessage",
    "error_msg",
    "status_msg",
    "err_msg",
    "error_description",
    "description",
    "title",
)
_INNER: Final = ("error", "errors", "detail", "base_resp", "innererror", "err", "fault")
_KINDS: Final = ("code", "type", "status", "reason", "error_code", "errorCode", "error_type")
_STATUSES: Final = ("code", "status", "status_code", "statusCode", "http_code", "error_code")
FINE: Final = ("", "0", "200", "20000", "ok", "success", "null", "none")
_LOWEST, _HIGHEST = 400, 599


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as an endpoint told it.

    `kinds` are its codes and types, `parameter` the field of the request that it names, `status`
    the HTTP status that it states (0: none), `wait` the seconds that it asks to wait, `cause` a
    code that is certain whatever the words are.
    """

    message: str = ""
    kinds: tuple[str, ...] = ()
    parameter: str = ""
    status: int = 0
    wait: float | None = None
    cause: str = ""

    @property
    def text(self) -> str:
        """The message, or else its codes."""
        return self.message or " ".join(self.kinds)

    @property
    def words(self) -> str:
        """All of it in small letters, for a search."""
        return f"{self.parameter} {self.message} {' '.join(self.kinds)}".lower()


def read_problem(body: object) -> Problem | None:
    """The error in the JSON, or text, of a refusal; None if it says nothing."""
    found = _read(body, _DEEPEST)
    return found if found.message or found.kinds else None


def _read(value: object, deepest: int) -> Problem:
    if not deepest:
        return Problem()
    if isinstance(value, str):
        return _of_text(value, deepest)
    if isinstance(value, list):
        return _joined([_read(part, deepest - 1) for part in value[:_MOST_PARTS]])
    return _of_object(value, deepest) if isinstance(value, Mapping) else Problem()


def _of_text(text: str, deepest: int) -> Problem:
    """A text; gateways quote the JSON of the provider behind them."""
    text = text.strip()[:LONGEST_MESSAGE]
    if text.startswith(("{", "[")):
        try:
            inner = _read(json.loads(text), deepest - 1)
        except (ValueError, RecursionError):
            inner = Problem()
        if inner.message:
            return inner
    return Problem(text)


def _of_object(body: Mapping[str, object], deepest: int) -> Problem:
    inner = [_read(body[name], deepest - 1) for name in _INNER if body.get(name)]
    inner += [_read(body[name], deepest - 1) for name in _TEXTS if _is_nested(body.get(name))]
    inner += list(_particulars(body, deepest))
    message = next((text for name in _TEXTS if (text := words_in(body.get(name)))), "")
    if not message and not any(each.message for each in inner):
        message = words_in(body.get("reason"))
    where = _place(body.get("loc")) or words_in(body.get("param"))
    where = "" if where.lower() in FINE else where
    if where and where not in message:
        message = f"{where}: {message}" if message else where
    if "n_ctx" in body:  # llama.cpp tells beside its words how long a request may be
        message = f"{message} (n_ctx {words_in(body['n_ctx'])})"
    kinds = [words_in(body.get(name)) for name in _KINDS]
    own = Problem(
        message[:LONGEST_MESSAGE],
        tuple(kind for kind in kinds if kind.lower() not in FINE),
        where,
        next((found for name in _STATUSES if (found := _status(body.get(name)))), 0),
        _seconds(body.get("retryDelay")) or _seconds(body.get("retry_after")),
    )
    return _joined([own, *inner])


def _particulars(body: Mapping[str, object], deepest: int) -> Iterator[Problem]:
    """Google's `details`, and what OpenRouter says of the provider behind it."""
    details = body.get("details")
    for part in details[:_MOST_PARTS] if isinstance(details, list) else ():
        found = _read(part, deepest - 1)
        yield Problem(kinds=found.kinds, wait=found.wait)
    metadata = body.get("metadata")
    if isinstance(metadata, Mapping):
        yield _read(metadata.get("raw"), deepest - 1)
        reasons = metadata.get("reasons")
        for reason in reasons[:_MOST_PARTS] if isinstance(reasons, list) else ():
            yield Problem(words_in(reason))


def _joined(parts: Sequence[Problem]) -> Problem:
    """Several errors as one; a message that another one repeats is left out."""
    messages: list[str] = []
    for part in parts:
        if part.message and not any(part.message in other for other in messages):
            messages = [other for other in messages if other not in part.message]
            messages.append(part.message)
    return Problem(
        "; ".join(messages)[:LONGEST_MESSAGE],
        tuple(dict.fromkeys(kind for part in parts for kind in part.kinds)),
        next((part.parameter for part in parts if part.parameter), ""),
        next((part.status for part in parts if part.status), 0),
        next((part.wait for part in parts if part.wait is not None), None),
    )


def _is_nested(value: object) -> bool:
    return isinstance(value, Mapping | list)


def words_in(value: object) -> str:
    """A text or number on one line; "" for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    if isinstance(value, int) and abs(value) >= 10**18:
        return ""
    return " ".join(str(value)[:LONGEST_MESSAGE].split())


def _place(loc: object) -> str:
    """The field that a validation error is about, without `body`."""
    parts = [words_in(part) for part in loc] if isinstance(loc, list) else []
    return ".".join(part for part in parts if part not in ("", "body"))


def _status(value: object) -> int:
    """An HTTP status of a failure; 0 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and _LOWEST <= value <= _HIGHEST else 0  # type: ignore[operator,return-value]


def _seconds(value: object) -> float | None:
    """Seconds of `2s`, `"2"` or 2; None for anything else."""
    text = value.removesuffix("s") if isinstance(value, str) else value
    try:
        seconds = float(text) if isinstance(text, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return seconds if 0 <= seconds < math.inf else None


_WAIT: Final = re.compile(
    r"(?:retry|try again) (?:in|after) (?:(\d{1,4})m)?(\d{1,6}(?:\.\d{1,9})?)"
)


def wait_in(message: str) -> float | None:
    """Seconds that a message asks to wait, as in "try again in 1m26.4s"; None if it asks none."""
    found = _WAIT.search(message.lower())
    if found is None:
        return None
    unit = message[found.end() : found.end() + 2].lower()
    seconds = float(found[2]) / (1000 if unit == "ms" else 1)
    return 60 * int(found[1] or 0) + seconds
