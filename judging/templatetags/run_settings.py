"""How the rules of a run read on its page."""

from __future__ import annotations

from typing import Final

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import LabelledEnum
from annotation.core.splits import SplitSampling
from annotation.templatetags.look import label
from judging.core.calibration import Calibration
from judging.core.rules import DistilPrompt, JudgePrompt, Level, Variant, Window
from judging.core.verdicts import VerdictRule

register = template.Library()

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
_VOCABULARIES: Final[dict[str, type[LabelledEnum]]] = {
    "sampling": SplitSampling,
    "verdict_rule": VerdictRule,
    "window": Window,
    "prompt": JudgePrompt,
    "distil_prompt": DistilPrompt,
    "variant": Variant,
    "level": Level,
    "calibration": Calibration,
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
    if (name, value) == ("train", ""):
        return gettext("others of this dataset")
    words = _VOCABULARIES.get(name)
    return label(words(str(value))) if words is not None and value in set(words) else str(value)
