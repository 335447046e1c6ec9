"""Statements that run with every labelling page, written down: composing them costs a tenth."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import connection


def rows_of(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement; moments are given as the database writes them."""
    for name, value in values.items():
        if isinstance(value, datetime):
            values[name] = connection.ops.adapt_datetimefield_value(value)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())
