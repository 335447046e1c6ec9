"""What people change in their own accounts."""

from __future__ import annotations

from annotation.models import User


def change_password(*, user: User, password: str) -> None:
    """Give somebody another password; their sessions and API tokens end by themselves."""
    user.set_password(password)
    user.save(update_fields=["password"])
