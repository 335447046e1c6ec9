"""Setting with whom the participants of a study talk."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from annotation.models import AuditEvent, Study, User
from judging.models import ConversationSetup, ModelEndpoint


@transaction.atomic
def set_up(
    *,
    study: Study,
    endpoints: Collection[ModelEndpoint],
    system_prompt: str,
    temperature: float,
    max_tokens: int,
    by: User,
) -> None:
    """Store how conversations of a study are held; those under way keep their model."""
    setup, _created = ConversationSetup.objects.update_or_create(
        study=study,
        defaults={
            "system_prompt": system_prompt,
            "temperature": temperature,
            "max_tokens": max_tokens,
        },
    )
    setup.endpoints.set(endpoints)
    AuditEvent.objects.create(
        actor=by,
        action="study.conversation",
        target="study",
        target_id=study.pk,
        detail={
            "endpoints": sorted(endpoint.name for endpoint in endpoints),
            "system_prompt": system_prompt,
            "temperature": temperature,
            "max_tokens": max_tokens,
        },
    )
