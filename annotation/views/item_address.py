"""The address of a study item, for whatever stands below it, in this app and in those above."""

from __future__ import annotations

from typing import Final

from django.urls import register_converter
from django.urls.converters import IntConverter
from django.utils.crypto import salted_hmac

from annotation.core.item_numbers import hidden, revealed

ITEM: Final = "studies/<slug:slug>/items/<hidden_item:number>/"
"""Every page of an item that annotators can reach begins so: its own number is in no address."""


class HiddenItemConverter(IntConverter):
    """A study item's number where annotators see it: by it no hidden repeat is told."""

    regex = "[0-9]{1,13}"

    def to_python(self, value: str) -> int:
        """The item's own number."""
        return revealed(int(value), key=item_key())

    def to_url(self, value: int | str) -> str:
        """The number that stands for it."""
        return str(hidden(int(value), key=item_key()))


def item_key() -> bytes:
    """What hides the numbers of items from those who see what it made of them."""
    # The salt names where the class stood first: another one would change every address.
    return salted_hmac("annotation.urls.HiddenItemConverter", "item", algorithm="sha256").digest()


register_converter(HiddenItemConverter, "hidden_item")
