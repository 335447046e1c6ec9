from __future__ import annotations

from annotation.core.datasets import facts_of


def test_fields_are_shown_as_a_reader_likes_them():
    fields = {"age": 20, "job": "cook", "likes": ["tea", "rain"], "odd": [1, "a"], "o": {"a": "否"}}
    assert facts_of(fields) == (
        ("age", "20"),
        ("job", "cook"),
        ("likes", "tea, rain"),
        ("odd", '[1, "a"]'),
        ("o", '{"a": "否"}'),
    )
