from __future__ import annotations

import pytest

from annotation.core.language import language_of


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
