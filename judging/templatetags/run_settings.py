"""How the rules of a run read on its page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.splits import SplitSampling
from judging.core.calibration import Calibration
from judging.core.rules import LEVEL_TEXTS, VARIANT_TEXTS, DistilPrompt, JudgePrompt, Window
from judging.core.verdicts import VerdictRule

register = template.Library()

_AS_IN_THE_PAPER: Final = _("as in the paper's code")
_NAMES: Final = {
    "dev_size": _("dev comparisons per scenario"),
    "seed": _("seed"),
    "sampling": _("dev split method"),
    "verdict_rule": _("verdict reading"),
    "prompt": _("judge prompt"),
    "distil_prompt": _("preference length"),
    "window": _("conversation shown"),
    "aggregate_eligible": _("joint preference eligible"),
    "shuffled_control": _("shuffled-label control"),
    "sets_of": _("preferences from"),
    "calibration": _("calibration"),
    "with_memory": _("user memories used"),
    "variant": _("judge prompt"),
    "level": _("scored items"),
    "train": _("training users from"),
    "memories_of": _("memories from run"),
    "ratings": _("ratings fingerprint"),
    "ablation": _("ablation only"),
    "batch_file": _("calls by batch file"),
    "recorded_in": _("recorded in file"),
}
_WORDS: Final = {
    "sampling": {
        SplitSampling.DEFAULT.value: _("by dataset, size and seed"),
        SplitSampling.PAPER.value: _AS_IN_THE_PAPER,
    },
    "verdict_rule": {
        VerdictRule.STRICT.value: _("strict: stated verdict only"),
        VerdictRule.PAPER.value: _AS_IN_THE_PAPER,
        VerdictRule.LOGPROB.value: _("by the probabilities of the letters"),
    },
    "window": {
        Window.ALL.value: _("all turns"),
        Window.LAST_TURN.value: _("the last turn"),
        Window.LAST_TWO_TURNS.value: _("the last two turns"),
    },
    "prompt": {
        JudgePrompt.PERSONAL.value: _("as in the paper, with or without preferences"),
        JudgePrompt.PAIRWISE.value: _("compare by a generic rubric"),
        JudgePrompt.THOUGHT.value: _("solve the request first, then compare"),
        JudgePrompt.REFERENCE.value: _("compare with a reference answer"),
        JudgePrompt.OWN_REFERENCE.value: _("write a reference answer first, then compare"),
        JudgePrompt.SINGLE.value: _("grade each response from 1 to 10"),
        JudgePrompt.SINGLE_REFERENCE.value: _("grade with a reference answer"),
        JudgePrompt.REWARD.value: _("score each response"),
    },
    "distil_prompt": {
        DistilPrompt.SENTENCES.value: _("about three sentences, as in the paper"),
        DistilPrompt.SENTENCE.value: _("one sentence, as in the paper's code"),
    },
    "variant": {variant.value: _(text) for variant, text in VARIANT_TEXTS.items()},
    "level": {level.value: _(text) for level, text in LEVEL_TEXTS.items()},
    "train": {"": _("others of this dataset")},
    "calibration": {
        Calibration.RAW.value: _("none"),
        Calibration.MEAN_SHIFT.value: _("mean shift"),
        Calibration.CDF.value: _("match to the user's distribution (CDF)"),
        Calibration.REFERENCE_CDF.value: _("from reference scores (CDF)"),
    },
}


@register.filter
def setting_name(name: str) -> str:
    """How a page calls a setting of a run; a name that it does not know stays as it is."""
    return str(_NAMES.get(name, name))


@register.filter
def setting_value(value: object, name: str) -> str:
    """A setting's value in words; a value that has none stays as it is."""
    if value is None:
        return gettext("none")
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    return str(_WORDS.get(name, {}).get(str(value), value))
