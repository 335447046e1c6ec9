"""How the reasons of a learned prediction read on a page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext_lazy as _

from judging.core.satisfaction_features import Group

register = template.Library()

_GROUPS: Final = {
    Group.LEVEL: _("how this user scores in general"),
    Group.LENGTH: _("length of the response"),
    Group.STRUCTURE: _("its structure: lists, headings, tables"),
    Group.STYLE: _("its style"),
    Group.CONTENT: _("its content: numbers, examples, steps"),
    Group.REQUEST: _("what was asked"),
    Group.POSITION: _("where in the conversation it stands"),
    Group.CONTINUITY: _("how it takes up the turns before"),
    Group.SCENARIO: _("the scenario"),
    Group.WORDING: _("its wording, near to what was rated before"),
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
