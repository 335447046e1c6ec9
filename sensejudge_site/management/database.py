"""What stands between a command and its database, in a sentence instead of a stack trace."""

from __future__ import annotations

from typing import Final

from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext_noop

OUTDATED: Final = gettext_noop("The database is not up to date: run `manage.py migrate` first.")
OTHER_VERSION: Final = gettext_noop(
    "This database was created by another version of SenseJudge. Export its data with "
    "that version, then import it into an empty database."
)
_APPS: Final = frozenset({"annotation", "judging", "benchmark"})


def schema_trouble() -> str:
    """Why the tables are not those that the code expects, or nothing where they are."""
    executor = MigrationExecutor(connection)
    if _is_of_another_version(executor):
        return OTHER_VERSION
    waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return OUTDATED if waiting else ""


def is_of_another_version() -> bool:
    """Whether the database was migrated by migrations that are not here."""
    return _is_of_another_version(MigrationExecutor(connection))


def _is_of_another_version(executor: MigrationExecutor) -> bool:
    loader = executor.loader
    unknown = set(loader.applied_migrations) - set(loader.disk_migrations)
    return any(app in _APPS for app, _name in unknown)


def trouble_with_database() -> str:
    """Why nothing can be read from the database, or nothing where it can be."""
    connection.close()
    try:
        return schema_trouble()
    except OperationalError as error:
        return f"The database cannot be reached: {str(error).strip()}"
    except DatabaseError:
        return ""
