"""How figures of quality read on a page."""

from __future__ import annotations

from collections.abc import Iterable

from django import template
from django.utils.translation import gettext as _

from annotation.core.labelling import TargetKind
from annotation.core.quality import PRECEDENCE, BrokenRule, HitShare, Quality, QualityMeasure
from annotation.forms.quality import gold_choices
from annotation.models import GoldLabel, GoldSource, PauseReason, Study
from annotation.queries.quality_rules import fast_seconds_of
from annotation.templatetags.look import percent

register = template.Library()


@register.filter
def gold_answers(kind: str) -> list[tuple[str, str]]:
    """The answers to an item of a kind, as they are sent and as they read."""
    return [(value, str(words)) for value, words in gold_choices(TargetKind(kind))]


@register.filter
def holding_gold(rows: Iterable[GoldLabel]) -> dict[str, str]:
    """Of an item's gold answers the one that holds, with its source and reason; may be empty."""
    ranked = sorted(rows, key=lambda row: PRECEDENCE.index(row.source))
    if not ranked:
        return {}
    row = ranked[0]
    return {
        "answer": row.verdict if row.verdict is not None else str(row.score),
        "source": row.source,
        "source_name": str(GoldSource(row.source).label),
        "rationale": row.rationale,
    }


@register.filter
def share_of(quality: Quality, figure: str) -> HitShare | None:
    """A figure by name; None where studies of the kind have no such figure."""
    return quality.shares.get(QualityMeasure(figure))


@register.filter
def is_compared(figure: QualityMeasure) -> bool:
    """Whether answers of a figure are compared with another answer."""
    return is_of_gold(figure) or figure in {QualityMeasure.REPEATS, QualityMeasure.REPEATS_EXACT}


@register.filter
def is_of_gold(figure: QualityMeasure) -> bool:
    """Whether they are compared with the gold answer."""
    return figure in {QualityMeasure.GOLD, QualityMeasure.GOLD_EXACT}


@register.filter
def hit_name(figure: QualityMeasure) -> str:
    """How a page calls an answer that is a hit of a figure."""
    return {
        QualityMeasure.GOLD: _("correct"),
        QualityMeasure.GOLD_EXACT: _("exact"),
        QualityMeasure.REPEATS: _("match"),
        QualityMeasure.REPEATS_EXACT: _("the same"),
        QualityMeasure.POSITION: _("first won"),
        QualityMeasure.FAST: _("too fast"),
        QualityMeasure.FLAGS: _("problem reported"),
        QualityMeasure.ANSWERS: _("answered"),
    }[figure]


@register.filter
def miss_name(figure: QualityMeasure) -> str:
    """How a page calls an answer that is none."""
    return {
        QualityMeasure.GOLD: _("wrong"),
        QualityMeasure.GOLD_EXACT: _("not exact"),
        QualityMeasure.REPEATS: _("no match"),
        QualityMeasure.REPEATS_EXACT: _("different score"),
        QualityMeasure.POSITION: _("second won"),
        QualityMeasure.FAST: _("not too fast"),
        QualityMeasure.FLAGS: _("no problem reported"),
        QualityMeasure.ANSWERS: _("not answered"),
    }[figure]


@register.filter
def pause_reason(word: str) -> str:
    """Why an annotator is paused."""
    return str(PauseReason(word).label)


@register.filter
def broken_rule(broken: BrokenRule) -> str:
    """Names the rule that an annotator breaks, with the numbers behind it."""
    words = {
        QualityMeasure.GOLD: _("gold accuracy %(share)s (%(hits)d of %(n)d), below %(limit)s"),
        QualityMeasure.REPEATS: _(
            "repeat consistency %(share)s (%(hits)d of %(n)d), below %(limit)s"
        ),
        QualityMeasure.FAST: _(
            "too fast in %(share)s of answers (%(hits)d of %(n)d), above %(limit)s"
        ),
    }[broken.measure]
    return words % {
        "share": percent(broken.value),
        "hits": broken.hits,
        "n": broken.answers,
        "limit": percent(broken.limit),
    }


@register.filter
def fast_below(study: Study) -> float:
    """Below how many seconds an answer of a study is too fast."""
    return fast_seconds_of(study)
