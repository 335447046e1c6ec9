"""What the judges that were chosen cannot do: choices that a form keeps shut, each with why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext

from judging.core.rules import LEARNED, WITHOUT_PROMPTS, JudgePrompt, Variant
from judging.core.verdicts import VerdictRule
from judging.models import ModelEndpoint, RunKind
from judging.services.judges import LEXICAL

Shut = dict[str, dict[str, str]]
"""By field and value, why that cannot be chosen."""


class Limited(forms.widgets.ChoiceWidget):
    """Choices of which some are shut, and say why."""

    shut: Mapping[str, str] = {}

    def create_option(
        self, name: str, value: Any, label: int | str, *args: Any, **kwargs: Any
    ) -> Any:
        """One line; what is chosen already stays open: it is sent, and refused with the reason."""
        why = self.shut.get(str(value))
        option = super().create_option(
            name, value, f"{label} ({why})" if why else label, *args, **kwargs
        )
        if why and not option["selected"]:
            option["attrs"]["disabled"] = True
        return option


class LimitedChoices(Limited, forms.Select):
    """They as a list."""


class LimitedRadios(Limited, forms.RadioSelect):
    """They as buttons."""


def shut_for(judges: Iterable[str], endpoints: Sequence[ModelEndpoint]) -> Shut:
    """What one of these judges cannot do; each has a run of its own of what is chosen.

    Args:
        judges: by name.
        endpoints: those in use.
    """
    shut: Shut = {"kind": {}, "prompt": {}, "verdict": {}, "variant": {}}
    rows = {row.name: row for row in endpoints}
    for judge in judges:
        row = rows.get(judge)
        if judge == LEARNED:
            why = gettext("The learned evaluator scores satisfaction only.")
            _shut(shut["kind"], (RunKind.DISTIL, RunKind.TEST), why)
        elif judge == LEXICAL:
            why = gettext("The lexical judge compares in its own way only.")
            _shut(shut["prompt"], set(JudgePrompt) - {JudgePrompt.PERSONAL}, why)
            why = gettext("The lexical judge returns no log-probabilities.")
            _shut(shut["verdict"], (VerdictRule.LOGPROB,), why)
            why = gettext("The lexical judge scores by a memory or without one.")
            _shut(shut["variant"], set(Variant) - WITHOUT_PROMPTS, why)
        elif row is not None:
            _shut_for_endpoint(shut, row)
    return shut


def _shut_for_endpoint(shut: Shut, row: ModelEndpoint) -> None:
    if row.has_scores:
        why = gettext("%(name)s is a reward model: it only scores responses.") % {"name": row}
        _shut(shut["kind"], (RunKind.DISTIL, RunKind.SATISFACTION), why)
        _shut(shut["prompt"], set(JudgePrompt) - {JudgePrompt.REWARD}, why)
    else:
        why = gettext("%(name)s is not a reward model.") % {"name": row}
        _shut(shut["prompt"], (JudgePrompt.REWARD,), why)
    if row.has_scores or row.can("logprobs") is False:
        why = gettext("%(name)s returns no log-probabilities.") % {"name": row}
        _shut(shut["verdict"], (VerdictRule.LOGPROB,), why)


def _shut(values: dict[str, str], which: Iterable[str], why: str) -> None:
    for value in which:
        values.setdefault(str(value), why)


def with_abilities(row: ModelEndpoint) -> str:
    """An endpoint's name with what is known of it; a reward model never has letters."""
    if row.has_scores:
        return gettext("%(name)s (reward model)") % {"name": row.name}
    known = row.can("logprobs")
    said = gettext("unknown until first use")
    if known is not None:
        said = gettext("yes") if known else gettext("no")
    values = {"name": row.name, "said": said, "tokens": f"{row.told_context or 0:,}"}
    if row.told_context is None:
        return gettext("%(name)s (log-probabilities: %(said)s)") % values
    return gettext("%(name)s (log-probabilities: %(said)s, context: %(tokens)s tokens)") % values
