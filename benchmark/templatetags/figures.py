"""How figures read on a page."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.models.wording import REASONS
from benchmark.core.calibrated import Recalibration
from benchmark.core.metrics import MetricName, UndefinedMetric
from benchmark.core.paper_satisfaction import Differs
from benchmark.core.satisfaction_groups import SATISFIED, UNKNOWN
from judging.core.calibration import Fallback
from judging.core.rules import JudgePrompt

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
        JudgePrompt.THOUGHT.value: _("Generic rubric, solving the request first"),
        JudgePrompt.REFERENCE.value: _("With a reference answer"),
        JudgePrompt.OWN_REFERENCE.value: _("With a reference answer written by the judge"),
        JudgePrompt.SINGLE.value: _("Grades from 1 to 10"),
        JudgePrompt.SINGLE_REFERENCE.value: _("Grades with a reference answer"),
        JudgePrompt.REWARD.value: _("Reward model scores"),
    }.get(prompt, prompt)


@register.filter
def metric_name(name: MetricName) -> str:
    """How a page calls a metric that stands in a table."""
    return {
        MetricName.PEARSON: _("Pearson"),
        MetricName.SPEARMAN: _("Spearman"),
        MetricName.WITHIN_USER_PEARSON: _("Pearson within users"),
        MetricName.QWK: _("weighted kappa"),
        MetricName.F1_DSAT: _("F1 (dissatisfied)"),
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
        Differs.NOT_RUN: _(
            "quoted only: running it would need a 2 GB dependency for the weakest rows"
        ),
        Differs.NEAREST: _(
            "word weights come from the training users' texts and are not recomputed in each block"
        ),
        Differs.PROMPT: _("our own prompt, based on the paper's description"),
        Differs.TEACHING: _(
            "our own prompt, based on the paper's description; examples for a user come only "
            "from other users"
        ),
        Differs.MEMORY: _(
            "history mean and distribution are computed, ties get equal scores, and short "
            "histories keep raw scores"
        ),
    }[differs]


@register.filter
def undefined_reason(reason: UndefinedMetric) -> str:
    """Why a metric has no value."""
    return {
        UndefinedMetric.EMPTY: _("no turns"),
        UndefinedMetric.CONSTANT_GOLD: _("all user scores are equal"),
        UndefinedMetric.CONSTANT_PREDICTION: _("all predicted scores are equal"),
        UndefinedMetric.ONE_CLASS: _("one of the two classes never occurs"),
        UndefinedMetric.NO_USABLE_USER: _("no user has enough turns with different scores"),
    }[reason]


@register.filter
def reason_word(word: str) -> str:
    """How a page calls a row or column of the table of reasons."""
    known = {
        SATISFIED: _("satisfied"),
        UNKNOWN: _("reason not recorded"),
        **dict(REASONS),
    }
    return str(known[word])


@register.filter
def fallback_reason(reason: Fallback) -> str:
    """Why a score could not be calibrated."""
    return {
        Fallback.NO_HISTORY: _("raw score: no history in other scenarios"),
        Fallback.SHORT_HISTORY: _("raw score: fewer than five turns of history"),
        Fallback.NO_REFERENCE: _("raw score: no original responses in the block to compare with"),
    }[reason]


@register.filter
def recalibration_name(method: Recalibration) -> str:
    """A way to map raw scores, in words."""
    return {
        Recalibration.RAW: _("none"),
        Recalibration.MEAN_SHIFT: _("mean shift"),
        Recalibration.CDF: _("match to the user's distribution (CDF)"),
        Recalibration.PAPER_MEAN_SHIFT: _("mean shift, as in the paper's code"),
        Recalibration.PAPER_CDF: _("match to the user's distribution, as in the paper"),
    }[method]
