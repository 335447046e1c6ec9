"""Fields that every form which starts runs of a judge or of a model has."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _


def budget_field() -> forms.DecimalField:
    """What each run may cost."""
    return forms.DecimalField(
        label=_("Budget of each run"),
        required=False,
        min_value=0,
        max_digits=14,
        decimal_places=4,
        help_text=_(
            "In the currency of the endpoint's prices. Calls that could exceed it are not sent; "
            "replies are kept, and the run can continue with a larger budget. Leave empty for no "
            "limit."
        ),
    )


def again_field() -> forms.BooleanField:
    """Whether a run starts beside an equal one under way."""
    return forms.BooleanField(
        label=_("Start a new run anyway"),
        required=False,
        help_text=_(
            "Start another run even if an identical one is in progress. Stored replies are "
            "reused, so no call is billed twice."
        ),
    )
