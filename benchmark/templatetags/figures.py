"""How figures read on a page."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.models.wording import REASONS
from benchmark.core.metrics import MetricName, UndefinedMetric
from benchmark.core.paper_satisfaction import Differs
from benchmark.core.recalibration import Recalibration
from benchmark.core.satisfaction_reasons import SATISFIED, UNKNOWN
from judging.core.calibration import Fallback
from judging.core.judge_modes import JudgePrompt

register = template.Library()


@register.filter
def share_number(share: float) -> str:
    """A share of 0-1 in percent without its unit, as the end of an interval."""
    return f"{share * 100:.0f}"


@register.filter
def prompt_name(prompt: str) -> str:
    """How a page calls a prompt that takes no preferences; the word of any other."""
    return {
        JudgePrompt.PAIRWISE.value: _("Generic rubric"),
        JudgePrompt.THOUGHT.value: _("Generic rubric, the request solved first"),
        JudgePrompt.REFERENCE.value: _("Beside a reference answer"),
        JudgePrompt.OWN_REFERENCE.value: _("Beside a reference answer that the judge wrote"),
        JudgePrompt.SINGLE.value: _("By grades from 1 to 10"),
        JudgePrompt.SINGLE_REFERENCE.value: _("By grades beside a reference answer"),
        JudgePrompt.REWARD.value: _("By the scores of a reward model"),
    }.get(prompt, prompt)


@register.filter
def metric_name(name: MetricName) -> str:
    """How a page calls a metric that stands in a table."""
    return {
        MetricName.PEARSON: _("Pearson"),
        MetricName.SPEARMAN: _("Spearman"),
        MetricName.WITHIN_USER_PEARSON: _("Pearson within users"),
        MetricName.QWK: _("weighted kappa"),
        MetricName.F1_DSAT: _("F1 of dissatisfied"),
        MetricName.MAE: _("mean absolute error"),
    }[name]


@register.filter
def curve_metric(name: str) -> str:
    """How a page calls a figure of the learning curve; `_expected` is of unrounded scores."""
    known = metric_name(MetricName(name.removesuffix("_expected")))
    return _("%(metric)s, unrounded") % {"metric": known} if name.endswith("_expected") else known


@register.filter
def paper_difference(differs: Differs) -> str:
    """What differs between a row of the paper's table and ours, beyond users and model."""
    return {
        Differs.NOT_RUN: _("quoted only: a dependency of 2 GB for the weakest rows"),
        Differs.NEAREST: _(
            "words are weighed by the training users' texts, not anew in each block"
        ),
        Differs.PROMPT: _("the prompt is written after the paper's description"),
        Differs.TEACHING: _(
            "the prompt is written after the paper's description; no user teaches their own scoring"
        ),
        Differs.MEMORY: _(
            "history mean and distribution are computed, ties get equal scores, and short "
            "histories keep raw ones"
        ),
    }[differs]


@register.filter
def undefined_reason(reason: UndefinedMetric) -> str:
    """Why a metric has no value."""
    return {
        UndefinedMetric.EMPTY: _("no turns"),
        UndefinedMetric.CONSTANT_GOLD: _("all stated scores are equal"),
        UndefinedMetric.CONSTANT_PREDICTION: _("all predicted scores are equal"),
        UndefinedMetric.ONE_CLASS: _("one class never occurs"),
        UndefinedMetric.NO_USABLE_USER: _("no user with three different turns"),
    }[reason]


@register.filter
def reason_word(word: str) -> str:
    """How a page calls a row or column of the table of reasons."""
    known = {
        SATISFIED: _("satisfied"),
        UNKNOWN: _("no reason on record"),
        **dict(REASONS),
    }
    return str(known[word])


@register.filter
def fallback_reason(reason: Fallback) -> str:
    """Why a score could not be calibrated."""
    return {
        Fallback.NO_HISTORY: _("raw, the user has no history in other scenarios"),
        Fallback.SHORT_HISTORY: _("raw, the user has fewer than five turns of history"),
        Fallback.NO_REFERENCE: _("raw, the block has no original responses to refer to"),
    }[reason]


@register.filter
def recalibration_name(method: Recalibration) -> str:
    """A way to map raw scores, in words."""
    return {
        Recalibration.RAW: _("none"),
        Recalibration.MEAN_SHIFT: _("shift of the mean"),
        Recalibration.CDF: _("to the user's distribution (CDF)"),
        Recalibration.PAPER_MEAN_SHIFT: _("shift of the mean, as the paper's code"),
        Recalibration.PAPER_CDF: _("to the user's distribution, as the paper"),
    }[method]
