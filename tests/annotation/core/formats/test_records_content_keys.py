from __future__ import annotations

import hashlib
import json

import pytest

from annotation.core.formats.records import content_key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        'quotes " and \\ and \\" together',
        "lines\nreturns\r\ntabs\tfeeds\fbells\b",
        "".join(map(chr, range(32))),
        "\x7f\x85\u2028\u2029",
        "中文 😀",
        "half \ud800 a character",
    ],
)
def test_a_key_is_that_of_the_parts_as_json(text):
    told_apart = json.dumps(["a", text, "b"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert content_key("a", text, "b") == hashlib.sha256(told_apart).hexdigest()[:32]
