"""What a manager says of an import, and what a reader looks for in a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.dataset_names import split_derived
from annotation.core.formats.columns import missing as missing_columns
from annotation.core.formats.detect import AUTO, FORMATS
from annotation.core.formats.format import Format
from annotation.core.formats.headers import (
    KEYS,
    MESSAGE_KEYS,
    PAIR_KEYS,
    RATING_KEYS,
    VERDICT_OF,
    guess,
)

Choices = list[tuple[Any, Any]]


def grouped_datasets(names: Iterable[tuple[str, str]]) -> Choices:
    """Choices of datasets, by short and shown name, with derived ones in a group at the end."""
    own, derived = split_derived(names)
    return [*own, (_("Derived datasets"), derived)] if derived else [*own]


class ImportForm(forms.Form):
    """A file, or one that is kept from an earlier try, and the dataset that it goes to."""

    kept = forms.CharField(required=False, widget=forms.HiddenInput)

    file = forms.FileField(
        label=_("File"),
        allow_empty_file=True,
        help_text=_(
            "JSONL, a JSON array or a CSV table from a spreadsheet, optionally gzipped. All rows "
            "are checked before anything is imported."
        ),
    )
    format = forms.ChoiceField(label=_("Format"))
    dataset = forms.SlugField(
        label=_("Dataset"),
        max_length=80,
        help_text=_(
            "Short name: letters, digits, - and _. Rows are added to an existing dataset; nothing "
            "is overwritten."
        ),
        widget=forms.TextInput(
            attrs={"list": "known-datasets", "autocomplete": "off", "data-names-file": ""}
        ),
    )

    def __init__(
        self,
        *args: Any,
        formats: Mapping[str, Format] = FORMATS,
        kept: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].required = not kept
        if kept:
            self.fields["file"].label = _("Another file (optional)")
        self.fields["format"] = forms.ChoiceField(
            label=_("Format"),
            initial=AUTO,
            choices=[
                (AUTO, _("Detect automatically")),
                *((each.name, _(each.title)) for each in formats.values()),
            ],
        )
        self.described = [(each.name, _(each.title), _(each.line)) for each in formats.values()]


_VERDICT: Final = "verdict"
_NOT_IMPORTED: Final = ("", _("Not imported"))
_KEY_NAMES: Final = {
    "prompt": _("Prompt"),
    "text_a": _("Response A"),
    "text_b": _("Response B"),
    "model_a": _("Model A"),
    "model_b": _("Model B"),
    "verdict": _("Better response"),
    "strength": _("How much better"),
    "both_bad": _("Both are bad (yes or no)"),
    "wins_a": _("A is better (yes or no)"),
    "wins_b": _("B is better (yes or no)"),
    "wins_tie": _("Tie (yes or no)"),
    "wins_both_bad": _("Tie, and both bad (yes or no)"),
    "role": _("Role (user or assistant)"),
    "text": _("Text of the message"),
    "session": _("Session"),
    "response": _("Response"),
    "model": _("Model"),
    "score": _("Score (1–5)"),
    "reason": _("Reason for a low score"),
    "annotator": _("Annotator"),
    "scenario": _("Scenario"),
    "gold": _("Gold answer"),
    "gold_reason": _("Reason for the gold answer"),
    "comment": _("Comment"),
    "system_prompt": _("System prompt"),
}
_KINDS: Final = (PAIR_KEYS, RATING_KEYS, MESSAGE_KEYS)
_SHARED: Final = [key for key in KEYS if sum(key in kind for kind in _KINDS) > 1]
_GROUPS: Final = (
    (_("All tables"), _SHARED),
    (_("Pairs"), [key for key in PAIR_KEYS if key not in _SHARED]),
    (_("Ratings"), [key for key in RATING_KEYS if key not in _SHARED]),
    (_("Conversations, a message a row"), [key for key in MESSAGE_KEYS if key not in _SHARED]),
)


class TableForm(forms.Form):
    """What each column of an uploaded table is; guessed until somebody says so."""

    upload = forms.CharField(widget=forms.HiddenInput)
    dataset = forms.SlugField(max_length=80, widget=forms.HiddenInput)
    dry_run = forms.BooleanField(required=False)

    def __init__(self, *args: Any, header: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._header = header
        self._names = [f"column-{place}" for place in range(len(header))]
        guesses = {
            place: _VERDICT if key.startswith(VERDICT_OF) else key
            for key, place in guess(header).items()
        }
        choices = [
            _NOT_IMPORTED,
            *((group, [(key, _KEY_NAMES[key]) for key in keys]) for group, keys in _GROUPS),
        ]
        for place, (name, title) in enumerate(zip(self._names, header, strict=True)):
            self.fields[name] = forms.ChoiceField(
                label=title or _("Column %(number)d") % {"number": place + 1},
                choices=choices,
                required=False,
                initial=guesses.get(place, ""),
            )

    def column_fields(self) -> list[forms.BoundField]:
        """The selects, in the order of the columns."""
        return [self[name] for name in self._names]

    def columns(self) -> dict[str, int]:
        """The places of the columns that were chosen; several verdicts have their annotators."""
        chosen = [
            (key, place)
            for place, name in enumerate(self._names)
            if (key := self.cleaned_data.get(name))
        ]
        verdicts = [place for key, place in chosen if key == _VERDICT]
        if not self._have_names(verdicts):
            return dict(chosen)
        named = {VERDICT_OF + self._annotator(place): place for place in verdicts}
        return {key: place for key, place in chosen if key != _VERDICT} | named

    def _have_names(self, verdicts: Sequence[int]) -> bool:
        return len(verdicts) > 1 or any(
            self._header[place].lower().startswith(VERDICT_OF) for place in verdicts
        )

    def _annotator(self, place: int) -> str:
        title = self._header[place]
        return title[len(VERDICT_OF) :].strip() if self._have_names([place]) else title

    def clean(self) -> None:
        """Each field once, but for verdicts of several annotators, and those that are needed."""
        chosen: list[str] = []
        for name in self._names:
            key = self.cleaned_data.get(name, "")
            if key and key in chosen and key != _VERDICT:
                self.add_error(name, _("Already chosen for another column."))
            chosen.append(key)
        annotators = [
            self._annotator(place)
            for place, name in enumerate(self._names)
            if self.cleaned_data.get(name) == _VERDICT
        ]
        if len(set(annotators)) < len(annotators):
            self.add_error(None, _("Columns of several annotators need different headers."))
        missing = [str(_KEY_NAMES[key]) for key in missing_columns(set(chosen))]
        if missing:
            names = ", ".join(missing)
            self.add_error(None, _("Choose a column for: %(names)s.") % {"names": names})


class SessionFilterForm(forms.Form):
    """Which sessions of a dataset to list; what makes no sense is ignored."""

    scenario = forms.TypedChoiceField(
        label=_("Scenario"), required=False, coerce=int, empty_value=None
    )
    q = forms.CharField(label=_("Contains"), required=False, max_length=200)

    def __init__(self, *args: Any, scenarios: Sequence[tuple[int, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [("", _("All")), *((str(key), name) for key, name in scenarios)]
        self.fields["scenario"] = forms.TypedChoiceField(
            label=_("Scenario"), required=False, coerce=int, empty_value=None, choices=choices
        )

    def wanted(self) -> tuple[int | None, str]:
        """The scenario's id or None, and the text to look for."""
        self.is_valid()
        return self.cleaned_data.get("scenario"), self.cleaned_data.get("q", "")


class _LinesField(forms.CharField):
    """A line break is one character, as it is where it is typed."""

    def to_python(self, value: Any) -> Any:
        return str(super().to_python(value)).replace("\r\n", "\n")


class SamplingForm(forms.Form):
    """How imported labels were drawn, in a manager's words; empty takes back what was said."""

    statement = _LinesField(required=False, max_length=2000)
