"""Django's `migrate`, which leaves a database alone that another version's migrations made."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.utils.translation import gettext

from sensejudge_site.management.parsing import OTHER_VERSION, OneLineCommand, is_of_another_version


class Command(OneLineCommand, migrate.Command):
    """Migrate, unless migrations were applied that are not here."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse a database of another version, then do what Django does."""
        if is_of_another_version():
            raise CommandError(gettext(OTHER_VERSION))
        super().handle(*args, **options)
