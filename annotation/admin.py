"""The admin console for people, data and studies."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth.admin import UserAdmin as StockUserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm, AdminUserCreationForm
from django.contrib.auth.models import Group
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from annotation.core.numbers import number_in
from annotation.core.stored_json import StorableDecoder
from annotation.core.study_rules import UNTOUCHED
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Claim,
    Dataset,
    GoldLabel,
    GoldSource,
    PairwiseLabel,
    Participation,
    Role,
    SatisfactionLabel,
    Scenario,
    Study,
    StudyItem,
    User,
)
from annotation.queries.datasets import known_users, written
from annotation.queries.studies import is_touched

admin.site.unregister(Group)  # roles say what one may do
admin.site.site_header = _("SenseJudge administration")
admin.site.site_title = "SenseJudge"
admin.site.index_title = _("Administration")

MANAGED_ROLES = (Role.ANNOTATOR, Role.VIEWER)
"""The roles that a manager may give; others are for admins."""


class SameKindField(forms.JSONField):
    """JSON of the kind that its column begins with: an object, or a list."""

    def clean(self, value: Any) -> Any:
        """The value; an empty one of the kind for nothing.

        Raises:
            ValidationError: it is no JSON, or of another kind.
        """
        empty = self.initial()
        cleaned = super().clean(value)
        if cleaned in self.empty_values:
            return empty
        if type(cleaned) is not type(empty):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return cleaned


JSON_FIELDS: Final[Any] = {
    models.JSONField: {"form_class": SameKindField, "decoder": StorableDecoder}
}
"""For `formfield_overrides` of every admin whose rows may be changed."""


class ReadOnlyAdmin(admin.ModelAdmin[Any]):
    """Rows that people look at here and change elsewhere, or nowhere."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Nobody adds such a row by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody changes one."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Nobody deletes one."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Those who manage may look."""
        return isinstance(request.user, User) and request.user.is_manager

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Listed for those who may look."""
        return self.has_view_permission(request)


class DeletedOnPages(admin.ModelAdmin[Any]):
    """Rows that the console deletes as the pages do: it leads to the page that asks, or nowhere.

    Labels and runs hold on to most rows, so that deleting them here would fail, or take with it
    what nobody named.
    """

    def delete_page(self, row: Any) -> str:  # noqa: ARG002
        """The address of the page that deletes a row; "" if none does."""
        return ""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """One row at a time, and only if a page deletes it."""
        if obj is None or not self.has_change_permission(request, obj):
            return False
        return bool(self.delete_page(obj))

    def delete_view(
        self,
        request: HttpRequest,
        object_id: str,
        extra_context: dict[str, Any] | None = None,  # noqa: ARG002
    ) -> HttpResponse:
        """Lead to the page."""
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.has_delete_permission(request, row):
            raise PermissionDenied
        return redirect(self.delete_page(row))


class NewUserForm(AdminUserCreationForm):  # type: ignore[type-arg]  # generic in the stubs only
    """A new user with a role."""

    class Meta:
        model = User
        fields = ("username", "role")


class ProfileInline(admin.StackedInline[AnnotatorProfile, User]):
    """The structured profile, on its user's page."""

    model = AnnotatorProfile
    extra = 0
    can_delete = False
    formfield_overrides = JSON_FIELDS


@admin.register(User)
class UserAdmin(DeletedOnPages, StockUserAdmin):  # type: ignore[type-arg]  # without groups
    """People and imported raters. Managers see and make annotators and viewers only."""

    add_form = NewUserForm
    change_password_form = AdminPasswordChangeForm
    list_display = ("username", "display_name", "role", "is_active", "last_login")
    list_filter = ("role", "is_active")
    search_fields = ("username", "display_name", "email")
    ordering = ("username",)
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("username", "password", "display_name", "email")}),
        (_("Permissions"), {"fields": ("role", "is_active")}),
        (_("Dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (None, {"fields": ("username", "role", "usable_password", "password1", "password2")}),
    )
    readonly_fields = ("last_login", "date_joined")
    inlines = (ProfileInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        """A rater's name is that of the imported file, which an account may not have."""
        fields = tuple(super().get_readonly_fields(request, obj))
        is_rater = obj is not None and not obj.is_active and ":" in obj.username
        return (*fields, "username") if is_rater else fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """A manager's list holds only those whom a manager may change."""
        rows = known_users(super().get_queryset(request))
        if isinstance(request.user, User) and request.user.is_admin:
            return rows
        return rows.filter(role__in=MANAGED_ROLES)

    def formfield_for_choice_field(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> forms.TypedChoiceField | None:
        """A manager gives no role above their reach."""
        is_admin = isinstance(request.user, User) and request.user.is_admin
        if db_field.name == "role" and not is_admin:
            kwargs["choices"] = [(role.value, role.label) for role in MANAGED_ROLES]
        return super().formfield_for_choice_field(db_field, request, **kwargs)


class ScenarioInline(admin.TabularInline[Scenario, Dataset]):
    """A dataset's scenarios."""

    model = Scenario
    extra = 0
    can_delete = False


@admin.register(Dataset)
class DatasetAdmin(DeletedOnPages):
    """Datasets; their rows come by import."""

    list_display = ("name", "slug", "simulated", "session_count", "created_at", "archived_at")
    list_filter = ("simulated", ("archived_at", admin.EmptyFieldListFilter))
    readonly_fields = ("archived_at",)
    search_fields = ("name", "slug")
    inlines = (ScenarioInline,)
    formfield_overrides = JSON_FIELDS

    def get_queryset(self, request: HttpRequest) -> QuerySet[Dataset]:  # noqa: ARG002
        """Deleted ones too, with the number of sessions in one query."""
        rows = Dataset.with_staged.filter(staged_at__isnull=True).order_by("pk")
        return rows.annotate(sessions_in_all=Count("sessions"))

    def delete_page(self, row: Dataset) -> str:
        """Its own page, which archives it."""
        if row.archived_at is not None:
            return ""
        return reverse("annotation:dataset", args=[row.slug]) + "#delete"

    @admin.display(description=_("sessions"))
    def session_count(self, row: Dataset) -> int:
        """How many sessions the dataset holds."""
        return int(row.sessions_in_all)  # type: ignore[attr-defined]  # annotated above


class NumberedSelect(AutocompleteSelect):
    """A choice among rows; what is no number of a row is none of them, also when shown again."""

    def optgroups(self, name: str, value: Any, attr: Any = None) -> Any:
        """The chosen rows."""
        known = [each for each in value if number_in(str(each)) is not None]
        return super().optgroups(name, known, attr)


class ParticipationInline(admin.TabularInline[Participation, Study]):
    """The annotators of a study."""

    model = Participation
    extra = 0
    can_delete = False
    autocomplete_fields = ("annotator",)
    fields = (
        "annotator",
        "joined_at",
        "consented_at",
        "quiz_passed_at",
        "paused_at",
        "pause_reason",
    )
    readonly_fields = ("consented_at", "quiz_passed_at", "paused_at", "pause_reason")

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        """Choose an annotator by typing."""
        if db_field.name in self.autocomplete_fields:
            kwargs["widget"] = NumberedSelect(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


_CHANGED_ON_PAGES: Final = (
    *("kind", "status", "dataset", "seed"),
    *(name for name in UNTOUCHED if name != "sample"),
)
"""Items are chosen by these and answers given under them; closing asks first."""


@admin.register(Study)
class StudyAdmin(DeletedOnPages):
    """Studies and their rules."""

    list_display = ("name", "kind", "status", "dataset", "overlap", "created_at")
    list_filter = ("status", "kind")
    list_select_related = ("dataset",)
    search_fields = ("name", "slug")
    readonly_fields = (
        "guidelines",
        "guidelines_version",
        "consent",
        "quiz",
        "selection",
        "created_by",
        "created_at",
    )  # each has a page of its own, which keeps what annotators read and agreed to
    inlines = (ParticipationInline,)
    formfield_overrides = JSON_FIELDS

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Adds, for an existing study, the fields that only its pages change."""
        own = tuple(super().get_readonly_fields(request, obj))
        return own if obj is None else (*own, *_CHANGED_ON_PAGES)

    def delete_page(self, row: Study) -> str:
        """Its own page, if it is a draft that nobody has begun."""
        return "" if is_touched(row) else reverse("annotation:study", args=[row.slug])

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:  # noqa: FBT001
        """Remember who made a study."""
        if not change and isinstance(request.user, User):
            obj.created_by = request.user
        super().save_model(request, obj, form, change)


@admin.register(StudyItem)
class StudyItemAdmin(ReadOnlyAdmin):
    """The items of studies."""

    list_display = ("id", "study", "kind", "position", "comparison", "session")
    list_filter = ("study", "kind")
    list_select_related = ("study", "comparison", "session")


@admin.register(Claim)
class ClaimAdmin(ReadOnlyAdmin):
    """Who holds which item, and until when."""

    list_display = ("item", "annotator", "state", "slot", "shown_order", "claimed_at", "expires_at")
    list_filter = ("state", "item__study")
    list_select_related = ("item", "annotator")


@admin.register(PairwiseLabel)
class PairwiseLabelAdmin(ReadOnlyAdmin):
    """Verdicts as given."""

    list_display = (
        "id",
        "annotator",
        "comparison",
        "verdict",
        "shown_order",
        "study",
        "created_at",
    )
    list_filter = ("verdict", "study")
    list_select_related = ("annotator", "comparison", "study")
    search_fields = ("annotator__username", "comparison__key")

    def get_queryset(self, request: HttpRequest) -> QuerySet[PairwiseLabel]:
        """Without what an import is still writing."""
        return written(super().get_queryset(request), "comparison__turn__session")


@admin.register(SatisfactionLabel)
class SatisfactionLabelAdmin(ReadOnlyAdmin):
    """Ratings as given."""

    list_display = (
        "id",
        "annotator",
        "response",
        "session",
        "score",
        "reason",
        "study",
        "created_at",
    )
    list_filter = ("score", "reason", "study")
    list_select_related = ("annotator", "response", "session", "study")
    search_fields = ("annotator__username",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[SatisfactionLabel]:
        """Without what an import is still writing."""
        return written(super().get_queryset(request), "response__turn__session", "session")


@admin.register(GoldLabel)
class GoldLabelAdmin(DeletedOnPages):
    """Answers held to be right."""

    list_display = ("id", "comparison", "response", "session", "verdict", "score", "source")
    list_filter = ("source",)
    raw_id_fields = ("comparison", "response", "session", "created_by")
    formfield_overrides = JSON_FIELDS

    def delete_page(self, row: GoldLabel) -> str:
        """The page on which managers withdraw what they marked themselves."""
        number = row.comparison_id or row.response_id
        if row.source != GoldSource.MANAGER or number is None:
            return ""
        kind = "comparison" if row.comparison_id else "response"
        return reverse("annotation:gold", args=[kind, number])

    def get_queryset(self, request: HttpRequest) -> QuerySet[GoldLabel]:
        """Without what an import is still writing."""
        return written(
            super().get_queryset(request),
            "comparison__turn__session",
            "response__turn__session",
            "session",
        )


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    """Who did what, when."""

    list_display = ("created_at", "actor", "action", "target", "target_id")
    list_filter = ("action",)
    list_select_related = ("actor",)
    date_hierarchy = "created_at"
