"""Which environment variables may hold an endpoint's key.

Whoever describes an endpoint chooses where its key is sent, so the name alone must say that the
variable was meant for that: it begins with `LLM_`, or the site's operator lists it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

KEY_PREFIX: Final = "LLM_"

SITE_SECRETS: Final = frozenset({"SECRET_KEY", "DATABASE_URL", "CELERY_BROKER_URL"})
"""What opens the site itself: no list makes a key of it."""


def may_hold_key(variable: str, *, listed: Collection[str]) -> bool:
    """Whether an endpoint's key may be read from a variable; "" stands for no key at all."""
    if variable in SITE_SECRETS:
        return False
    return not variable or variable.startswith(KEY_PREFIX) or variable in listed
