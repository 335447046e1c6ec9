"""Statements that run with every labelling page, written down: composing them costs a tenth."""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model

Row = TypeVar("Row", bound=Model)


def rows_of(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement; moments are given as the database writes them."""
    for name, value in values.items():
        if isinstance(value, datetime):
            values[name] = connection.ops.adapt_datetimefield_value(value)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def models_of(model: type[Row], statement: str, **values: Any) -> list[Row]:
    """The rows of a statement that selects all columns of a table."""
    return list(model._default_manager.raw(statement, values))  # noqa: SLF001 - documented
