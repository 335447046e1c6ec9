"""docs/formats.md names what there is, and its examples are read without a fault."""

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

TEXT = (ROOT / "docs" / "formats.md").read_text("utf-8")
EXAMPLES = re.findall(r"(?:^    \{\"(?:scenario|type)\".*\n(?:^     .*\n)*)", TEXT, re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [*ALL_FORMATS, *EXPORTS, *JUDGED, *DECIDED, *DETAILS, *VERDICT, *Reason, *Hallucination],
)
def test_everything_is_named(name):
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`|^## {name}\b", TEXT, re.MULTILINE)


def test_there_are_examples():
    assert len(EXAMPLES) == 2


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_are_read_without_a_fault(example):
    assert parsed(1, json.loads(example), parse).faults == ()
