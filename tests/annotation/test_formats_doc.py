"""docs/formats.md and its twin name what there is; their examples are read without a fault."""

from __future__ import annotations

import json
import re

import pytest

from annotation.core.choices import Hallucination, Reason
from annotation.core.formats.fields import parsed
from annotation.core.formats.sensejudge import DETAILS, VERDICT, parse
from annotation.exports import EXPORTS
from benchmark.exports import EXPORTS as DECIDED
from judging.core.formats.detect import ALL_FORMATS
from judging.exports import EXPORTS as JUDGED
from tests.paths import ROOT

TEXTS = [(ROOT / "docs" / name).read_text("utf-8") for name in ("formats.md", "formats.zh.md")]
EXAMPLE = re.compile(r"(?:^    \{\"(?:scenario|type)\".*\n(?:^     .*\n)*)", re.MULTILINE)
EXAMPLES = EXAMPLE.findall(TEXTS[0])


@pytest.mark.parametrize(
    "name",
    [*ALL_FORMATS, *EXPORTS, *JUDGED, *DECIDED, *DETAILS, *VERDICT, *Reason, *Hallucination],
)
def test_everything_is_named(name):
    named = re.compile(rf"`[^`]*\b{name}\b[^`]*`|^## {name}\b", re.MULTILINE | re.ASCII)
    assert all(named.search(text) for text in TEXTS)


def test_there_are_examples_and_both_languages_have_the_same():
    assert len(EXAMPLES) == 2
    assert EXAMPLE.findall(TEXTS[1]) == EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_read_without_a_fault(example):
    assert parsed(1, json.loads(example), parse).faults == ()
