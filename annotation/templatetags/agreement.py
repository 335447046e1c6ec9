"""How figures of agreement read on a page."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.core.agreement import Measure, UndefinedAgreement

register = template.Library()


@register.filter
def measure_name(measure: Measure) -> str:
    """How a page calls a measure."""
    return {
        Measure.PERCENT: _("Percent agreement"),
        Measure.KAPPA: _("Cohen’s kappa"),
        Measure.KAPPA_LINEAR: _("Cohen’s kappa, linear weights"),
        Measure.KAPPA_QUADRATIC: _("Cohen’s kappa, quadratic weights"),
        Measure.FLEISS: _("Fleiss’ kappa"),
        Measure.ALPHA_NOMINAL: _("Krippendorff’s alpha, nominal"),
        Measure.ALPHA_ORDINAL: _("Krippendorff’s alpha, ordinal"),
        Measure.ALPHA_INTERVAL: _("Krippendorff’s alpha, interval"),
        Measure.AC1: _("Gwet’s AC1"),
        Measure.AC2_LINEAR: _("Gwet’s AC2, linear weights"),
        Measure.AC2_QUADRATIC: _("Gwet’s AC2, quadratic weights"),
        Measure.AC2_ORDINAL: _("Gwet’s AC2, ordinal weights"),
    }[measure]


@register.filter
def why_undefined(reason: UndefinedAgreement) -> str:
    """Why a measure has no value."""
    return {
        UndefinedAgreement.NO_ITEMS: _("no items with two answers"),
        UndefinedAgreement.ONE_CATEGORY: _("all answers are the same"),
    }[reason]
