"""What a manager says of an import, and what a reader looks for in a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.dataset_names import split_derived
from annotation.core.formats import tables
from annotation.core.formats.detect import AUTO, FORMATS, Format
from annotation.core.formats.headers import PAIR_KEYS, RATING_KEYS, VERDICT_OF, guess

Choices = list[tuple[Any, Any]]


def grouped_datasets(names: Iterable[tuple[str, str]]) -> Choices:
    """Choices of datasets, by short and shown name, with derived ones in a group at the end."""
    own, derived = split_derived(names)
    return [*own, (_("Derived datasets"), derived)] if derived else [*own]


_FORMAT_NAMES: Final = {
    "sensejudge": _("SenseJudge (JSONL)"),
    "pandalm": _("PandaLM test set"),
    "recllmsim": _("RecLLMSim (JSONL)"),
    "sensebench": _("SenseBench prompts"),
    "mtbench-questions": _("MT-Bench questions"),
    "mtbench-answers": _("MT-Bench answers of a model (FastChat)"),
    "mtbench-references": _("MT-Bench reference answers (FastChat)"),
    "auto-j": _("Auto-J test pairs"),
    "rewardbench": _("RewardBench: chosen and rejected"),
    "uss": _("USS: dialogues with ratings"),
    "urs": _("URS: rated conversations (CSV)"),
    "llmbar": _("LLMBar with recorded judges"),
    "mtbench-votes": _("MT-Bench votes"),
    "labels-wide": _("Labels with a column for each annotator"),
    "preference-pairs": _("Preference pairs: chosen, rejected and who chose"),
    "fastchat-pairs": _("Pair judgments of FastChat"),
    "fastchat-singles": _("Single judgments of FastChat"),
    "alpaca-eval": _("AlpacaEval annotations"),
    "alpaca-eval-outputs": _("AlpacaEval outputs of a model"),
    "judgebench": _("JudgeBench pairs, with judges’ outputs"),
    "arena-battles": _("Arena battles"),
    "arena-hard-questions": _("Arena-Hard questions"),
    "arena-hard-answers": _("Arena-Hard answers of a model"),
    "arena-hard-judgments": _("Arena-Hard judgments"),
    "sensejudge-labels": _("SenseJudge authors: labels of an annotator"),
    "sensejudge-outputs": _("SenseJudge authors: outputs of judges"),
    "csv": _("Table of pairs or ratings (CSV)"),
}

_FORMAT_LINES: Final = {
    "sensejudge": _(
        "Everything SenseJudge stores, a line each: comparisons, conversations, labels "
        "and gold answers."
    ),
    "pandalm": _("Two responses to an instruction, with the verdicts of three annotators."),
    "recllmsim": _(
        "Conversations of users with a model, each reply rated from 1 to 5, with task and "
        "user profile."
    ),
    "sensebench": _("Dialogues without verdicts, sorted by topic."),
    "mtbench-questions": _("Questions of one or more turns by category, without responses."),
    "mtbench-answers": _("One model’s answers to questions that were imported before."),
    "mtbench-references": _(
        "Reference answers to questions that were imported before, for judges to read."
    ),
    "auto-j": _("Two responses to a prompt, with the better one as the gold answer."),
    "rewardbench": _(
        "A chosen and a rejected response to each prompt; the chosen one is the gold "
        "answer. RewardBench 2 too."
    ),
    "uss": _(
        "Dialogues as tab-separated lines, each system turn and the whole dialogue rated "
        "from 1 to 5."
    ),
    "urs": _("A row a conversation, rated as a whole from 1 to 5, with the user’s intent."),
    "labels-wide": _(
        "What SenseJudge exports for spreadsheets: a row a comparison, a column an annotator."
    ),
    "csv": _(
        "Your own spreadsheet: two responses or one rated response a row. The next page "
        "asks what each column is."
    ),
    "llmbar": _(
        "Two outputs for an instruction with a gold answer, and judges’ verdicts in both orders."
    ),
    "mtbench-votes": _("Votes of experts and judges on the answers of two models, a turn a row."),
    "preference-pairs": _(
        "Chosen and rejected responses with who chose: a person or a judge, as SenseJudge "
        "exports them."
    ),
    "fastchat-pairs": _(
        "A judge’s verdicts on two models’ answers in both orders, with its replies."
    ),
    "fastchat-singles": _("A judge’s grades from 1 to 10, one answer a row."),
    "alpaca-eval": _("Two outputs for an instruction, with a judge’s preference between them."),
    "alpaca-eval-outputs": _("One model’s outputs, one instruction a row."),
    "judgebench": _("Two responses with a gold answer, and a judge’s verdicts in both orders."),
    "arena-battles": _("Votes between two models, mostly without texts: enough for leaderboards."),
    "arena-hard-questions": _("Prompts by category, without responses."),
    "arena-hard-answers": _("One model’s answers to questions that were imported before."),
    "arena-hard-judgments": _("A judge’s verdicts on a model against a baseline, in both orders."),
    "sensejudge-labels": _("One annotator’s chosen and rejected responses, named by the file."),
    "sensejudge-outputs": _(
        "Judges’ replies under several preferences, one file a presentation order."
    ),
}


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
                *((name, _FORMAT_NAMES.get(name, name)) for name in formats),
            ],
        )
        self.described = [
            (name, _FORMAT_NAMES.get(name, name), _FORMAT_LINES.get(name, "")) for name in formats
        ]


_VERDICT: Final = "verdict"
_NOT_IMPORTED: Final = ("", _("Not imported"))
_KEY_NAMES: Final = {
    "prompt": _("Prompt"),
    "text_a": _("Response A"),
    "text_b": _("Response B"),
    "model_a": _("Model A"),
    "model_b": _("Model B"),
    "verdict": _("Better response"),
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
_SHARED: Final = [key for key in PAIR_KEYS if key in RATING_KEYS]
_GROUPS: Final = (
    (_("Pairs and ratings"), _SHARED),
    (_("Pairs"), [key for key in PAIR_KEYS if key not in _SHARED]),
    (_("Ratings"), [key for key in RATING_KEYS if key not in _SHARED]),
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
        missing = [str(_KEY_NAMES[key]) for key in tables.missing(set(chosen))]
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
