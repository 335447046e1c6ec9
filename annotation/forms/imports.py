"""What the values of a table's columns mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.core.formats.value_counts import ColumnValues
from annotation.core.formats.values import Meaning


class ValuesForm(forms.Form):
    """A choice for each value, as proposed until somebody says otherwise."""

    def __init__(self, data: Mapping[str, Any], *, counts: Sequence[ColumnValues]) -> None:
        self._places = {
            f"value-{each.key}-{place}": (each, word)
            for each in counts
            for place, word in enumerate(each.counts)
        }
        super().__init__(data if any(name in data for name in self._places) else None)
        for name, (each, word) in self._places.items():
            proposal = each.proposal(word)
            choices = [("", _("Choose…"))] if proposal is None else []
            self.fields[name] = forms.ChoiceField(
                choices=[
                    *choices,
                    *((one.value, _(one.label)) for one in each.vocabulary.meanings),
                ],
                initial=proposal.value if proposal else "",
            )

    @property
    def is_open(self) -> bool:
        """Whether somebody has to say what a value means, or what was said is no choice."""
        if self.is_bound:
            return not self.is_valid()
        return any(each.proposal(word) is None for each, word in self._places.values())

    def rows(self) -> list[tuple[str, str, int, forms.BoundField]]:
        """Each value: its key, the value, its rows and the choice."""
        return [
            (each.key, each.written[word], each.counts[word], self[name])
            for name, (each, word) in self._places.items()
        ]

    def means(self) -> dict[str, dict[str, Meaning]]:
        """The meanings that were chosen; none where the usual ones hold."""
        if not self.is_bound:
            return {}
        found: dict[str, dict[str, Meaning]] = {}
        for name, (each, word) in self._places.items():
            found.setdefault(each.key, {})[word] = Meaning(self.cleaned_data[name])
        return found
