"""Statements that run with every labelling page, written down: composing them costs a tenth."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, TypeAlias
from weakref import WeakKeyDictionary

from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model
from django.db.models.expressions import Col
from django.utils.functional import cached_property
from django.utils.timezone import is_aware, make_aware

_Converters: TypeAlias = list[tuple[int, Any, list[Any]]]


def rows_of(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    """The rows of a statement; moments are given as the database writes them."""
    for name, value in values.items():
        if isinstance(value, datetime):
            values[name] = connection.ops.adapt_datetimefield_value(value)
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def moment_of(value: Any) -> datetime:
    """A moment in a row of `rows_of`; SQLite has it as text, in the database's time zone."""
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
    return moment if is_aware(moment) else make_aware(moment, connection.timezone)


class Joined:
    """A statement that selects whole rows of several tables, as instances of their models.

    Django composes a query of many joins anew each time, which costs more than running it.
    """

    def __init__(self, source: str, **tables: type[Model]) -> None:
        """Take the statement from FROM on, and the model behind each of its aliases."""
        self._source: Final = source
        self._tables: Final = tables
        self._kept: Final[WeakKeyDictionary[BaseDatabaseWrapper, _Converters]] = WeakKeyDictionary()

    def rows(self, **values: Any) -> list[dict[str, Any]]:
        """Instances by alias; None where an outer join found no row."""
        used = connections[connection.alias]
        found = rows_of(self._statement, **values)
        return [self._instances([*row], used) for row in found]

    @cached_property
    def _columns(self) -> list[Col]:
        return [
            field.get_col(alias)
            for alias, model in self._tables.items()
            for field in model._meta.concrete_fields  # noqa: SLF001 - documented
        ]

    @cached_property
    def _statement(self) -> str:
        columns = ", ".join(f'{col.alias}."{col.target.column}"' for col in self._columns)
        return f"SELECT {columns} {self._source}"

    def _instances(self, row: list[Any], used: BaseDatabaseWrapper) -> dict[str, Any]:
        for place, column, converters in self._converters(used):
            for convert in converters:
                row[place] = convert(row[place], column, used)
        return {
            alias: None if row[key] is None else model.from_db(used.alias, names, row[columns])
            for alias, model, names, columns, key in self._places
        }

    @cached_property
    def _places(self) -> list[tuple[str, type[Model], list[str], slice, int]]:
        """For each alias where its columns stand, and where its primary key."""
        places = []
        start = 0
        for alias, model in self._tables.items():
            names = [field.attname for field in model._meta.concrete_fields]  # noqa: SLF001
            end = start + len(names)
            key = start + names.index(model._meta.pk.attname)  # noqa: SLF001
            places.append((alias, model, names, slice(start, end), key))
            start = end
        return places

    def _converters(self, used: BaseDatabaseWrapper) -> _Converters:
        """What turns the columns' values into Python's, where the database gives others."""
        kept = self._kept.get(used)
        if kept is None:
            kept = self._kept[used] = [
                (place, column, converters)
                for place, column in enumerate(self._columns)
                if (
                    converters := [
                        *used.ops.get_db_converters(column),
                        *column.get_db_converters(used),
                    ]
                )
            ]
        return kept
