"""Pausing an annotator, or letting them go on, from whichever page it is asked for."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404
from django.utils import timezone

from annotation.core.refusals import Refused
from annotation.models import Participation
from annotation.views.access import SignedInRequest


def change_pause(
    request: SignedInRequest,
    change: Callable[..., None],
    *,
    study: str,
    annotator: int,
    done: str,
    already: str,
) -> None:
    """Call `pause` or `resume` and say what came of it.

    Raises:
        Http404: The annotator is not in the study.
    """
    try:
        change(study=study, annotator=annotator, by=request.user, now=timezone.now())
    except Participation.DoesNotExist as missing:
        raise Http404 from missing
    except Refused:
        messages.info(request, already)
    else:
        messages.success(request, done)
