"""What the pages of live conversations need from the template language."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext

from annotation.templatetags.look import UNDEFINED
from judging.core import conversations

register = template.Library()


@register.filter
def talk_text(code: str) -> str:
    """The sentence that a participant reads for a code."""
    return gettext(conversations.talk_text(code))


@register.filter
def seconds(milliseconds: float | None) -> str:
    """Milliseconds as seconds with one decimal; the dash where there is none."""
    return UNDEFINED if milliseconds is None else f"{milliseconds / 1000:.1f}\u202fs"
