"""What a test expects to be refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from annotation.core.refusals import Refused


@contextmanager
def refuses(code: str, match: str | None = None) -> Iterator[pytest.ExceptionInfo[Refused]]:
    """Fail unless the block is refused with this code, its words matching where that is asked."""
    with pytest.raises(Refused, match=match) as refused:
        yield refused
    assert refused.value.code == code
