"""Writing a preference, and judging edited ones again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import Refused
from judging.core.memory import Memory
from judging.core.memory_parsing import MAX_ITEMS, MAX_TEXT, PlainTexts, plain
from judging.core.preferences import MOST_CHARACTERS, edited_text


def _lines(text: str) -> list[str]:
    return [line for line in map(str.strip, text.splitlines()) if line]


class MemoryForm(forms.Form):
    """The six texts; one requirement or observation a line, observations scenario by scenario."""

    scoring_style = forms.CharField(
        label=_("How this user scores"), max_length=MAX_TEXT, widget=forms.Textarea({"rows": 2})
    )
    three_vs_four_distinction = forms.CharField(
        label=_("What makes a 4 rather than a 3"),
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea({"rows": 3}),
    )
    four_vs_five_distinction = forms.CharField(
        label=_("What makes a 5 rather than a 4"),
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea({"rows": 3}),
    )
    preferred_response_format = forms.CharField(
        label=_("Preferred response format"),
        max_length=MAX_TEXT,
        required=False,
        widget=forms.Textarea({"rows": 2}),
    )
    user_specific_requirements = forms.CharField(
        label=_("Specific requests"),
        help_text=_("One per line."),
        required=False,
        widget=forms.Textarea({"rows": 4}),
    )

    def __init__(self, data: Any = None, *, memory: Memory) -> None:
        """Show a memory's texts, with a field for each scenario of its history."""
        texts = plain(memory.texts)
        observed = texts.task_specific_observations
        scenarios = [item.scenario for item in memory.statistics.scenarios]
        self._scenarios = list(dict.fromkeys([*scenarios, *observed]))
        super().__init__(
            data,
            initial={
                "scoring_style": texts.scoring_style,
                "three_vs_four_distinction": texts.three_vs_four_distinction,
                "four_vs_five_distinction": texts.four_vs_five_distinction,
                "preferred_response_format": texts.preferred_response_format,
                "user_specific_requirements": "\n".join(texts.user_specific_requirements),
            },
        )
        for place, scenario in enumerate(self._scenarios):
            self.fields[f"observations_{place}"] = forms.CharField(
                label=gettext("Observations in “%(scenario)s”") % {"scenario": scenario},
                help_text=_("One per line."),
                initial="\n".join(observed.get(scenario, ())),
                required=False,
                widget=forms.Textarea({"rows": 3}),
            )

    def clean(self) -> dict[str, Any]:
        """Check the lines, each of which is a statement of its own."""
        cleaned = super().clean() or {}
        self._check("user_specific_requirements", _lines(self._text("user_specific_requirements")))
        fields = [f"observations_{place}" for place in range(len(self._scenarios))]
        for name in fields:
            self._check(name, _lines(self._text(name)))
        if sum(len(_lines(self._text(name))) for name in fields) > MAX_ITEMS:
            self.add_error(None, gettext("At most %(most)d observations.") % {"most": MAX_ITEMS})
        return cleaned

    def edit(self) -> PlainTexts:
        """What was typed, once the form is valid."""
        return PlainTexts(
            scoring_style=self._text("scoring_style"),
            four_vs_five_distinction=self._text("four_vs_five_distinction"),
            three_vs_four_distinction=self._text("three_vs_four_distinction"),
            user_specific_requirements=_lines(self._text("user_specific_requirements")),
            preferred_response_format=self._text("preferred_response_format"),
            task_specific_observations={
                scenario: _lines(self._text(f"observations_{place}"))
                for place, scenario in enumerate(self._scenarios)
            },
        )

    def _text(self, name: str) -> str:
        return str(self.cleaned_data.get(name, ""))

    def _check(self, name: str, lines: Sequence[str]) -> None:
        if len(lines) > MAX_ITEMS:
            self.add_error(name, gettext("At most %(most)d lines.") % {"most": MAX_ITEMS})
        if any(len(line) > MAX_TEXT for line in lines):
            self.add_error(
                name, gettext("At most %(most)d characters per line.") % {"most": MAX_TEXT}
            )


class PreferenceForm(forms.Form):
    """One preference's text, plain."""

    text = forms.CharField(
        label=_("What this annotator prefers"),
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea({"rows": 6}),
        help_text=_("Plain text, one or a few sentences, as you would explain it to a judge."),
    )

    def __init__(self, data: Any = None, *, own: bool, initial: Any = None) -> None:
        """Address who writes of their own preferences."""
        super().__init__(data, initial=initial)
        if own:
            self.fields["text"].label = _("What you prefer")

    def clean_text(self) -> str:
        """The text as it will be stored."""
        try:
            return edited_text(str(self.cleaned_data["text"]))
        except Refused as error:
            raise forms.ValidationError(gettext(error.text), code=error.code) from error


class AgainForm(forms.Form):
    """What judging again may cost; empty for no limit."""

    budget = forms.DecimalField(
        label=_("Budget"), required=False, min_value=0, max_digits=14, decimal_places=4
    )


class ControlForm(forms.Form):
    """Which control of a test run is judged: another annotator's set, or the generic rubric."""

    RUBRIC = "rubric"

    control = forms.ChoiceField()
    budget = forms.DecimalField(required=False, min_value=0, max_digits=14, decimal_places=4)

    def __init__(self, data: Any = None, *, others: Iterable[int]) -> None:
        """Offer the annotators whose sets can be tried, by number."""
        super().__init__(data)
        field = self.fields["control"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(str(key), str(key)) for key in others] + [(self.RUBRIC, self.RUBRIC)]

    def other(self) -> int | None:
        """Whose preferences; None for the generic rubric."""
        chosen = self.cleaned_data["control"]
        return None if chosen == self.RUBRIC else int(chosen)
