"""A way through the pages, counted: clicks, choices and files are steps, typing is none."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator


class Steps:
    """What somebody has done so far."""

    def __init__(self) -> None:
        self.taken = 0

    def click(self, place: Locator) -> None:
        """Press a button or link, tick or untick a box."""
        place.click()
        self.taken += 1

    def file(self, field: Locator, files: Any) -> None:
        """Choose a file."""
        field.set_input_files(files)
        self.taken += 1
