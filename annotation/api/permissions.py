"""Who may read what through the API."""

from __future__ import annotations

from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from annotation.models import User


class SeesEveryone(BasePermission):
    """Admins, managers and viewers; annotators must stay blind to models and to one another."""

    message = "Annotators cannot read this. Ask a manager for the viewer role."

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002
        """Whether the signed-in person may read other people's rows."""
        return isinstance(request.user, User) and request.user.sees_everyone
