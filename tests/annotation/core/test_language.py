from __future__ import annotations

import pytest

from annotation.core.language import language_of, primary_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("", "en"),
        ("Write a poem about spring.", "en"),
        ("请写一首关于春天的诗。", "zh"),
        ("请把 Spring is here 翻译成中文", "zh"),
        ("Translate 春天 into English, please.", "en"),
        ("12345 !?", "en"),
        ("¿Qué tal?", "en"),
    ],
)
def test_a_text_is_chinese_where_han_characters_outweigh_words(text, language):
    assert language_of(text) == language


@pytest.mark.parametrize(
    ("code", "language"),
    [("en", "en"), ("zh-Hans", "zh"), ("PT_br", "pt"), ("", "")],
)
def test_a_code_names_its_language_before_script_and_country(code, language):
    assert primary_language(code) == language
