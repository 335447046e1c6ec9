"""Why the base judge, a weighted vote or selected preferences stand in for an annotator."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from judging.core.stand_in import StandInChoice
from judging.models import PreferenceSet
from judging.queries.preference_sets import stand_in_of

register = template.Library()


@register.filter
def stand_in(chosen: PreferenceSet) -> StandInChoice:
    """What stands in where a set was selected."""
    return stand_in_of(chosen)


@register.filter
def reason(chosen: StandInChoice) -> str:
    """Which stands in and why, as a sentence."""
    sentence, values = chosen.reason
    return gettext(sentence) % values
