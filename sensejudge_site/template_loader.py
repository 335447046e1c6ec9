"""Templates without the indentation of their lines, which would be a third of every page."""

from __future__ import annotations

import re

from django.template import Origin
from django.template.loaders import filesystem


class Loader(filesystem.Loader):
    """Finds templates in the folders of the settings."""

    def get_contents(self, origin: Origin) -> str:
        """The text of a template, with as many lines as its file has."""
        return re.sub(r"\n[ \t]+", "\n", super().get_contents(origin))
