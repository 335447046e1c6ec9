from __future__ import annotations

import json

import pytest

from annotation.core.stored_json import StorableDecoder


def test_what_every_database_holds_is_read():
    assert json.loads('{"a": [1, 2.5, null]}', cls=StorableDecoder) == {"a": [1, 2.5, None]}


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[1e999]", "-Infinity", "9" * 5_000, "[" * 100_000 + "]" * 100_000]
)
def test_anything_else_is_no_json(text):
    with pytest.raises(json.JSONDecodeError):
        json.loads(text, cls=StorableDecoder)
