"""What a test expects to be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from annotation.core.refusals import Refused


@contextmanager
def refuses(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[Refused]]:
    """Fail unless the block is refused with this code, its words matching where that is asked."""
    with pytest.raises(Refused, match=match) as refused:
        yield refused
    assert refused.value.code == code


def refusal(call: Callable[..., object], *arguments: Any, **more: Any) -> str:
    """The code with which a call is refused."""
    with pytest.raises(Refused) as refused:
        call(*arguments, **more)
    return refused.value.code
