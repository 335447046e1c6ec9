"""The html of a page as tests compare it: where its lines break says nothing."""

from __future__ import annotations

import re


def one_line(answer):
    return " ".join(answer.content.decode().split())


def tight(answer):
    """One line without white space beside tags."""
    return re.sub(r"(?<=>) | (?=[<>])", "", one_line(answer))
