"""How a construction's stored words read on a page."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.core.choices import Verdict
from annotation.templatetags.look import label
from benchmark.core.personal_data import PersonalDataKind
from judging.core.categories import Category

register = template.Library()


@register.filter
def category_label(word: str) -> str:
    """How a page calls a category."""
    return label(Category(word))


@register.filter
def subcategory_label(word: str) -> str:
    """How a page calls a subcategory."""
    return _(word) if word else ""


@register.filter
def data_kind_label(word: str) -> str:
    """How a page calls a kind of personal data."""
    return label(PersonalDataKind(word))


@register.filter
def strong_or_weak(verdict: Verdict | None) -> str:
    """Who wins, where A is the strong model; a dash without a verdict."""
    words = {Verdict.A: _("strong wins"), Verdict.B: _("weak wins"), Verdict.TIE: _("tie")}
    return "–" if verdict is None else words[verdict]
