"""How the figures of a learned evaluator read on a page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext_lazy as _

register = template.Library()

_FIGURES: Final = {
    "pearson": _("Pearson"),
    "spearman": _("Spearman"),
    "qwk": _("weighted kappa"),
    "f1_dsat": _("F1 (dissatisfied)"),
    "mae": _("mean absolute error"),
    "pearson_expected": _("Pearson, unrounded"),
    "within_user_pearson_expected": _("Pearson within users, unrounded"),
    "within_block_pearson_expected": _("Pearson within users and scenarios, unrounded"),
}


@register.filter
def learned_figure(name: str) -> str:
    """How a page calls a figure of a version's manifest."""
    return str(_FIGURES.get(name, name))
