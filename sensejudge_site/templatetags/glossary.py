"""Terms of the method on pages, each with what it means."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import get_language

from sensejudge_site.methods import glossary

register = template.Library()


@register.simple_tag
def term(anchor: str, words: str) -> SafeString:
    """The words of a page as a link to an entry of docs/glossary.md; its text shows on hover."""
    meant = glossary(get_language() or "")[anchor]
    return format_html(
        '<a class="term" href="{}#{}" title="{}">{}</a>',
        reverse("glossary"),
        anchor,
        meant.text,
        words,
    )
