"""Every format that can be imported: those of data, and those with verdicts of recorded judges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.formats.detect import FORMATS
from annotation.core.formats.format import Format, formats_in
from judging.core import formats

RECORDED: Final[Mapping[str, Format]] = formats_in(formats)

ALL_FORMATS: Final[Mapping[str, Format]] = {**RECORDED, **FORMATS}
"""Tables come last, since they know almost any text."""
