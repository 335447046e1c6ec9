"""Fields that several forms have."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from django import forms
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def budget_field() -> forms.DecimalField:
    """What all calls may cost together."""
    return forms.DecimalField(
        label=_("Budget"),
        required=False,
        min_value=0,
        max_digits=14,
        decimal_places=4,
        help_text=_(
            "Maximum cost of all calls together, in the currency of the endpoint's prices. Leave "
            "empty for no limit."
        ),
    )


def offer(form: forms.Form, **choices: Sequence[tuple[str | int, StrOrPromise]]) -> None:
    """What fields of a form offer, by their names."""
    for name, offered in choices.items():
        field = form.fields[name]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared in the form
        field.choices = offered


def id_field() -> forms.IntegerField:
    """The number of a row."""
    return forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


def one_of(words: type[StrEnum]) -> forms.ChoiceField:
    """One of an enum's values, or nothing."""
    return forms.ChoiceField(required=False, choices=[(each.value, each.value) for each in words])
