from __future__ import annotations

from annotation.core.datasets import answers_of, facts_of


def test_fields_are_shown_as_a_reader_likes_them():
    fields = {"age": 20, "job": "cook", "likes": ["tea", "rain"], "odd": [1, "a"], "o": {"a": "否"}}
    assert facts_of(fields) == (
        ("age", "20"),
        ("job", "cook"),
        ("likes", "tea, rain"),
        ("odd", '[1, "a"]'),
        ("o", '{"a": "否"}'),
    )


def test_questionnaires_are_questions_and_answers():
    answers = [
        {"query": "Was it detailed?", "summary": "Detail", "option": "yes"},
        {"summary": "Diversity", "option": 3},
        {"free": "text", "n": 1},
    ]
    assert answers_of(answers) == (
        ("Was it detailed?", "yes"),
        ("Diversity", "3"),
        ("free", "text"),
        ("n", "1"),
    )
