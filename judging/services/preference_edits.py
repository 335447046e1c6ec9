"""What people do to preferences: edit a text, add one, switch one off. Each is a new version."""

from __future__ import annotations

from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, User
from judging.core.preferences import edited_text
from judging.core.runs import FOR_ABLATION
from judging.models import Control, JudgeRun, Preference, PreferenceKind, RunKind, RunStatus
from judging.queries.configurations import distil_plans

MOST_ADDED: Final = 10
"""Texts that people may add in one scenario: each is judged on every dev comparison."""


def may_edit(owner_id: int | None, user: User) -> bool:
    """Whether somebody may edit preferences: the annotator whose they are, and managers."""
    return user.is_manager or (user.is_active and owner_id is not None and user.pk == owner_id)


def is_owned(run: JudgeRun) -> bool:
    """Whether the preferences of a run are somebody's to edit: a finished first distillation."""
    return (
        run.kind == RunKind.DISTIL
        and run.parent_id is None
        and run.status == RunStatus.DONE
        and FOR_ABLATION not in run.config
    )


def edit_preference(preference: Preference, *, text: str, editor: User) -> Preference:
    """Stores another text as the next version; what was judged under this one keeps it.

    A text for a preference whose distillation failed gives it one.

    Raises:
        Refused: the text cannot be a preference; it is the same text; see there.
        PermissionError: `editor` may not edit this preference.
    """
    _check(preference, editor)
    new = edited_text(text)
    if new == preference.text:
        raise Refused("preference:unchanged")
    return _next_version(preference, editor, action="preference.edited", text=new)


def switch_preference(preference: Preference, *, active: bool, editor: User) -> Preference:
    """Stores the same text as the next version, on or off.

    Raises:
        Refused: it is as asked for; see there; also one without a text, which is judged by nobody.
        PermissionError: `editor` may not edit this preference.
    """
    _check(preference, editor)
    if preference.text is None:
        raise Refused("preference:not-editable")
    if preference.active is active:
        raise Refused("preference:unchanged")
    action = "preference.switched-on" if active else "preference.switched-off"
    return _next_version(preference, editor, action=action, text=preference.text, active=active)


def add_preference(
    run: JudgeRun, *, scenario_id: int | None, text: str, editor: User
) -> Preference:
    """Stores a text that a person adds to a scenario, or to all, of a finished distillation.

    Whoever adds a text that they added before, and that is in force, gets that one: it counts once.

    Raises:
        Refused: the text cannot be a preference; the run has no preferences there that people own;
            see there.
        PermissionError: `editor` may not edit this annotator's preferences.
    """
    if not may_edit(run.annotator_id, editor):
        raise PermissionError
    if not is_owned(run) or not any(
        plan.scenario_id == scenario_id and plan.winners for plan in distil_plans(run.config)
    ):
        raise Refused("preference:not-editable")
    new = edited_text(text)
    here = Preference.objects.filter(run=run, scenario=scenario_id, control=Control.NONE)
    with transaction.atomic():
        JudgeRun.objects.select_for_update().get(
            pk=run.pk
        )  # one at a time, so that the count holds
        same = here.filter(text=new, active=True, edited_by=editor, next_versions=None)
        if (stands := same.first()) is not None:
            return stands
        if here.filter(kind=PreferenceKind.EDITED, root=None).count() >= MOST_ADDED:
            raise Refused("preference:too-many")
        last = here.aggregate(last=Max("position"))["last"] or 0
        added = Preference.objects.create(
            run=run,
            dataset_id=run.dataset_id,
            scenario_id=scenario_id,
            annotator_id=run.annotator_id,
            kind=PreferenceKind.EDITED,
            position=last + 1,
            status=JudgmentStatus.DONE,
            text=new,
            language=_language(here),
            edited_by=editor,
        )
        _trace(added, editor, "preference.added", before=None)
    return added


def _language(rows: Any) -> str:
    """What the scenario's distilled preferences are written in."""
    return rows.order_by("position").values_list("language", flat=True).first() or "en"


def _check(preference: Preference, editor: User) -> None:
    if not may_edit(preference.annotator_id, editor):
        raise PermissionError
    run = preference.run
    fixed = preference.control != Control.NONE or preference.kind in _FIXED
    if run is None or not is_owned(run) or fixed:
        raise Refused("preference:not-editable")


_FIXED: Final = (PreferenceKind.STACK, PreferenceKind.HELD_OUT)
"""What was computed, and what only served to compute it."""


def _next_version(
    before: Preference, editor: User, *, action: str, text: str, active: bool | None = None
) -> Preference:
    try:
        with transaction.atomic():
            after = Preference.objects.create(
                run_id=before.run_id,
                dataset_id=before.dataset_id,
                scenario_id=before.scenario_id,
                annotator_id=before.annotator_id,
                kind=PreferenceKind.EDITED,
                source_comparison_id=before.source_comparison_id,
                source_verdict=before.source_verdict,
                position=before.position,
                status=JudgmentStatus.DONE,
                text=text,
                language=before.language,
                version=before.version + 1,
                previous=before,
                root_id=before.root_id or before.pk,
                active=before.active if active is None else active,
                edited_by=editor,
            )
            _trace(after, editor, action, before=before.text)
    except IntegrityError as error:  # a version that has one after it already
        raise Refused("preference:not-editable") from error
    return after


def _trace(after: Preference, editor: User, action: str, *, before: str | None) -> None:
    AuditEvent.objects.create(
        actor=editor,
        action=action,
        target="preference",
        target_id=after.pk,
        detail={
            "run": after.run_id,
            "root": after.root_id or after.pk,
            "version": after.version,
            "active": after.active,
            "before": before,
            "after": after.text,
        },
    )
