"""How the rules of a run read on its page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.splits import SplitSampling
from judging.core.calibration import Calibration
from judging.core.judge_modes import DistilPrompt, JudgePrompt
from judging.core.satisfaction_variants import LEVEL_TEXTS, VARIANT_TEXTS
from judging.core.verdicts import VerdictRule
from judging.core.windows import Window

register = template.Library()

_AS_IN_THE_PAPER: Final = _("as in the paper's code")
_NAMES: Final = {
    "dev_size": _("dev comparisons a scenario"),
    "seed": _("seed"),
    "sampling": _("how the dev part is drawn"),
    "verdict_rule": _("how a verdict is read"),
    "prompt": _("how the judge is asked"),
    "distil_prompt": _("how a preference is written"),
    "window": _("shown of a conversation"),
    "aggregate_eligible": _("the joint preference can be selected"),
    "shuffled_control": _("control with shuffled labels"),
    "sets_of": _("preferences of"),
    "calibration": _("calibration"),
    "with_memory": _("with user memories"),
    "variant": _("how the judge is asked"),
    "level": _("what is scored"),
    "train": _("training users from"),
    "memories_of": _("memories of run"),
    "ratings": _("fingerprint of the ratings"),
    "ablation": _("for an ablation alone"),
    "batch_file": _("calls by batch file"),
    "recorded_in": _("recorded in the file"),
}
_WORDS: Final = {
    "sampling": {
        SplitSampling.DEFAULT.value: _("by data, size and seed"),
        SplitSampling.PAPER.value: _AS_IN_THE_PAPER,
    },
    "verdict_rule": {
        VerdictRule.STRICT.value: _("strictly, the stated verdict alone"),
        VerdictRule.PAPER.value: _AS_IN_THE_PAPER,
        VerdictRule.LOGPROB.value: _("by the probability of the letters"),
    },
    "window": {
        Window.ALL.value: _("all turns"),
        Window.LAST_TURN.value: _("the last turn"),
        Window.LAST_TWO_TURNS.value: _("the last two turns"),
    },
    "prompt": {
        JudgePrompt.PERSONAL.value: _("as in the paper, with preferences or without"),
        JudgePrompt.PAIRWISE.value: _("to compare by a generic rubric"),
        JudgePrompt.THOUGHT.value: _("to solve the request first, then to compare"),
        JudgePrompt.REFERENCE.value: _("to compare beside a reference answer"),
        JudgePrompt.OWN_REFERENCE.value: _("to answer itself first, then to compare beside that"),
        JudgePrompt.SINGLE.value: _("to grade each response from 1 to 10"),
        JudgePrompt.SINGLE_REFERENCE.value: _("to grade beside a reference answer"),
        JudgePrompt.REWARD.value: _("for a score of each response"),
    },
    "distil_prompt": {
        DistilPrompt.SENTENCES.value: _("in about three sentences, as in the paper"),
        DistilPrompt.SENTENCE.value: _("in one sentence, as in the paper's code"),
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
