"""How figures read on a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from django import template
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from annotation.models.wording import REASONS
from annotation.templatetags.look import label, percent
from benchmark.core.metrics import MetricName
from benchmark.core.replay_items import items_named
from benchmark.core.satisfaction_groups import SATISFIED, UNKNOWN
from judging.core.rules import JudgePrompt

register = template.Library()
_LEAST_P: Final = 0.001
_SUREST: Final = 0.99


@register.filter
def share_number(share: float, places: int = 0) -> str:
    """A share of 0-1 in percent without its unit, as the end of an interval."""
    return f"{share * 100:.{places}f}"


@register.filter
def chance(share: float) -> str:
    """A share of draws as a probability: never that of all of them, however many were drawn."""
    return f"> {percent(_SUREST)}" if share > _SUREST else percent(share)


@register.filter
def count_of(counts: Mapping[str, int], word: str) -> int:
    """How often a word was counted."""
    return counts.get(word, 0)


@register.filter
def p_relation(p: float) -> str:
    """What stands behind "p": `= 0.034`, or `< 0.001` where three places would be zeros."""
    return f"= {p:.3f}" if p >= _LEAST_P else f"< {_LEAST_P}"


@register.filter
def prompt_name(prompt: str) -> str:
    """How a page calls a prompt that takes no preferences; the word of any other."""
    return {
        JudgePrompt.PAIRWISE.value: _("Generic rubric"),
        JudgePrompt.THOUGHT.value: _("Generic rubric, solving the request first"),
        JudgePrompt.REFERENCE.value: _("With a reference answer"),
        JudgePrompt.OWN_REFERENCE.value: _("With a reference answer written by the judge"),
        JudgePrompt.SINGLE.value: _("Grades from 1 to 10"),
        JudgePrompt.SINGLE_REFERENCE.value: _("Grades with a reference answer"),
        JudgePrompt.REWARD.value: _("Reward model scores"),
    }.get(prompt, prompt)


@register.filter
def items_told(word: str) -> str:
    """Which turns were replayed, named as in a command, in words."""
    chosen = items_named(word)
    more = chosen.version or chosen.size
    return f"{label(chosen.rule)} ({more})" if more else label(chosen.rule)


@register.filter
def setting_words(setting: str) -> str:
    """How a page calls what an evaluator goes by; words that it does not know stay."""
    known = {
        "global": pgettext("evaluator", "global"),
        "history": pgettext("evaluator", "history"),
        "trained": pgettext("evaluator", "trained"),
        "held out": pgettext("evaluator", "held out"),
        "memory": pgettext("evaluator", "memory"),
        "no memory": pgettext("evaluator", "no memory"),
        "raw": pgettext("evaluator", "raw"),
    }
    if setting in known:
        return known[setting]
    asked, space, scale = setting.rpartition(" ")
    return f"{known.get(asked, asked)}{space}{known.get(scale, scale)}"


@register.filter
def curve_metric(name: str) -> str:
    """How a page calls a figure of the learning curve; `_expected` is of unrounded scores."""
    known = label(MetricName(name.removesuffix("_expected")))
    return _("%(metric)s, unrounded") % {"metric": known} if name.endswith("_expected") else known


@register.filter
def reason_word(word: str) -> str:
    """How a page calls a row or column of the table of reasons."""
    known = {
        SATISFIED: _("satisfied"),
        UNKNOWN: _("reason not recorded"),
        **dict(REASONS),
    }
    return str(known[word])
