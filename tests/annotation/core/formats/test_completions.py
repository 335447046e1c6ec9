"""Prompts with one completion and nothing said of it."""

from __future__ import annotations

from annotation.core.formats.completions import looks_like, parse
from tests.annotation.core.formats.rows import record_of

TRL = {"prompt": "Hi", "completion": "Ho"}


def test_a_completion_without_a_mark_is_an_original_response():
    session = record_of({**TRL, "id": 4}, parse)
    [response] = session.turns[0].responses
    assert (response.text, response.original, session.extra) == ("Ho", True, {"id": 4})
    assert looks_like(TRL)
    assert not looks_like({**TRL, "label": True})
    assert not looks_like({"prompt": "Hi"})
    assert not looks_like([])
