"""What stands between a command and its database, in a sentence instead of a stack trace."""

from __future__ import annotations

from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.executor import MigrationExecutor

OUTDATED = "The database is not up to date: run `manage.py migrate` first."


def is_outdated() -> bool:
    """Whether migrations wait to be applied."""
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def trouble_with_database() -> str:
    """Why nothing can be read from the database, or nothing where it can be."""
    connection.close()
    try:
        return OUTDATED if is_outdated() else ""
    except OperationalError as error:
        return f"The database cannot be reached: {str(error).strip()}"
    except DatabaseError:
        return ""
