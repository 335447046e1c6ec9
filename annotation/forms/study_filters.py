"""What managers choose among the studies and within one: filters, people, who gets an item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from annotation.core.studies import ClaimFilter, StudySort
from annotation.forms.labelling import SKIP_REASONS
from annotation.models import StudyStatus

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


class StatusForm(forms.Form):
    """Whether a study gives out items."""

    status = forms.ChoiceField(choices=StudyStatus.choices)


SORTS: Final[Sequence[tuple[StudySort, StrOrPromise]]] = [
    (StudySort.NEWEST, _("newest first")),
    (StudySort.NAME, _("by name")),
    (StudySort.PROGRESS, _("by progress")),
    (StudySort.ANNOTATORS, _("by number of annotators")),
]


class StudyFilterForm(forms.Form):
    """Which studies are listed, and how."""

    status = forms.ChoiceField(
        label=_("Status"),
        required=False,
        choices=[("", _("all")), *StudyStatus.choices],
    )
    sort = forms.ChoiceField(
        label=_("Order"), required=False, choices=[(each.value, text) for each, text in SORTS]
    )

    def wanted(self) -> tuple[str, StudySort]:
        """Status, empty for all, and order; what cannot be is as if not said."""
        self.full_clean()
        given = self.cleaned_data
        return given.get("status", ""), StudySort(given.get("sort") or StudySort.NEWEST)


class MembersForm(forms.Form):
    """Who comes into a study."""

    annotators = forms.MultipleChoiceField(label=_("People"), widget=forms.CheckboxSelectMultiple)

    def __init__(
        self, data: QueryDict | None = None, *, annotators: Sequence[tuple[str, str]]
    ) -> None:
        super().__init__(data)
        field = self.fields["annotators"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = list(annotators)


class ClaimFilterForm(forms.Form):
    """Which claims of a study are listed."""

    which = forms.ChoiceField(
        label=_("State"),
        required=False,
        choices=[
            (ClaimFilter.ALL.value, _("all")),
            (ClaimFilter.HELD.value, _("in progress")),
            (ClaimFilter.LAPSED.value, _("reservation expired")),
            (ClaimFilter.DONE.value, _("answered")),
            (ClaimFilter.LAST_HOUR.value, _("answered in the last hour")),
            (ClaimFilter.SKIPPED.value, _("skipped")),
            (ClaimFilter.RELEASED.value, _("returned")),
        ],
    )
    annotator = forms.TypedChoiceField(
        label=_("Annotator"), required=False, coerce=int, empty_value=None
    )
    reason = forms.ChoiceField(
        label=_("Skip reason"), required=False, choices=[("", _("all")), *SKIP_REASONS]
    )

    def __init__(self, data: QueryDict, *, annotators: Sequence[tuple[int, str]]) -> None:
        super().__init__(data)
        field = self.fields["annotator"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [("", _("all")), *((str(number), name) for number, name in annotators)]

    def wanted(self) -> dict[str, Any]:
        """The filters; what cannot be is as if not said."""
        self.full_clean()
        given = self.cleaned_data
        return {
            "which": ClaimFilter(given.get("which") or ""),
            "annotator": given.get("annotator"),
            "reason": given.get("reason", ""),
        }


class GiveForm(forms.Form):
    """Who is to answer an item, and whose claim ends for it."""

    annotator = forms.TypedChoiceField(label=_("Assign to"), coerce=int)
    instead_of = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(
        self, data: QueryDict | None = None, *, annotators: Sequence[tuple[int, str]]
    ) -> None:
        super().__init__(data)
        field = self.fields["annotator"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - declared above
        field.choices = [(str(number), name) for number, name in annotators]
