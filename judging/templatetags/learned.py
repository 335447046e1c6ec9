"""How the reasons of a learned prediction read on a page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext_lazy as _

from judging.core.satisfaction_features import Group

register = template.Library()

_GROUPS: Final = {
    Group.LEVEL: _("general scoring of this user"),
    Group.LENGTH: _("response length"),
    Group.STRUCTURE: _("structure: lists, headings, tables"),
    Group.STYLE: _("style"),
    Group.CONTENT: _("content: numbers, examples, steps"),
    Group.REQUEST: _("the request"),
    Group.POSITION: _("position in the conversation"),
    Group.CONTINUITY: _("connection to earlier turns"),
    Group.SCENARIO: _("the scenario"),
    Group.WORDING: _("wording close to responses rated before"),
}


_FIGURES: Final = {
    "pearson": _("Pearson"),
    "spearman": _("Spearman"),
    "qwk": _("weighted kappa"),
    "f1_dsat": _("F1 (dissatisfied)"),
    "mae": _("mean absolute error"),
    "pearson_expected": _("Pearson, unrounded"),
    "within_user_pearson_expected": _("Pearson within users, unrounded"),
}


@register.filter
def moved_by(group: Group) -> str:
    """What moved a prediction."""
    return str(_GROUPS[group])


@register.filter
def learned_figure(name: str) -> str:
    """How a page calls a figure of a version's manifest."""
    return str(_FIGURES.get(name, name))
