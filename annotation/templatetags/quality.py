"""How figures of quality read on a page."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.core.quality import Figure, Quality, Share, Undefined
from annotation.models import PauseReason

register = template.Library()


@register.filter
def share_of(quality: Quality, figure: str) -> Share | None:
    """A figure by name; None where studies of the kind have no such figure."""
    return quality.shares.get(Figure(figure))


@register.filter
def is_compared(figure: Figure) -> bool:
    """Whether answers of a figure are compared with another answer."""
    return is_of_gold(figure) or figure in {Figure.REPEATS, Figure.REPEATS_EXACT}


@register.filter
def is_of_gold(figure: Figure) -> bool:
    """Whether they are compared with the gold answer."""
    return figure in {Figure.GOLD, Figure.GOLD_EXACT}


@register.filter
def why_no_share(reason: Undefined) -> str:
    """Why a figure has no value."""
    return {
        Undefined.NO_GOLD: _("none answered"),
        Undefined.NO_REPEATS: _("none answered"),
        Undefined.NO_WINNER: _("no winner known"),
        Undefined.NOT_MEASURED: _("not measured"),
        Undefined.NO_ANSWERS: _("nothing answered"),
    }[reason]


@register.filter
def figure_name(figure: Figure) -> str:
    """How a page calls a figure."""
    return {
        Figure.GOLD: _("Gold items"),
        Figure.GOLD_EXACT: _("Gold items, the very score"),
        Figure.REPEATS: _("Hidden repeats"),
        Figure.REPEATS_EXACT: _("Hidden repeats, the very score"),
        Figure.POSITION: _("Which side won"),
        Figure.FAST: _("Time of answers"),
        Figure.FLAGS: _("Flags"),
        Figure.ANSWERS: _("First answers"),
    }[figure]


@register.filter
def hit_name(figure: Figure) -> str:
    """How a page calls an answer that is a hit of a figure."""
    return {
        Figure.GOLD: _("right"),
        Figure.GOLD_EXACT: _("exactly right"),
        Figure.REPEATS: _("alike"),
        Figure.REPEATS_EXACT: _("the same"),
        Figure.POSITION: _("first shown won"),
        Figure.FAST: _("too fast"),
        Figure.FLAGS: _("flagged"),
        Figure.ANSWERS: _("answered"),
    }[figure]


@register.filter
def miss_name(figure: Figure) -> str:
    """How a page calls an answer that is none."""
    return {
        Figure.GOLD: _("wrong"),
        Figure.GOLD_EXACT: _("not exactly"),
        Figure.REPEATS: _("not alike"),
        Figure.REPEATS_EXACT: _("another score"),
        Figure.POSITION: _("second shown won"),
        Figure.FAST: _("not too fast"),
        Figure.FLAGS: _("not flagged"),
        Figure.ANSWERS: _("not answered"),
    }[figure]


@register.filter
def pause_reason(word: str) -> str:
    """Why an annotator is paused."""
    return str(PauseReason(word).label)
