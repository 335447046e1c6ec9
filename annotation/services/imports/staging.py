"""What an import adds, in temporary tables of its own connection until it is published.

Nobody else sees these tables, writing them takes no lock of the database, and they are gone with
the connection, however it ends. Each has the columns of a real table. Rows get their real ids when
they are made, so that publishing them is one INSERT ... SELECT a table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from typing import Any, Final, Self, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models, transaction
from django.db.models import Model
from django.utils import timezone

from annotation.models import Dataset, Session

_Row = TypeVar("_Row", bound=Model)

_FIRST_IDS: Final = 500
_MOST_IDS: Final = 20_000
_FIRST_COUNT: Final = 1000
_AS_THEY_ARE: Final = (
    models.AutoField,
    models.BooleanField,
    models.CharField,
    models.FloatField,
    models.ForeignKey,
    models.IntegerField,
    models.TextField,
)
"""Fields whose values a database takes as they stand in the object."""


class Staging:
    """The temporary tables of one import, made as rows for them come."""

    def __init__(self) -> None:
        self._tables: dict[type[Model], _Table] = {}
        self._ids: dict[type[Model], Iterator[int]] = {}
        self._next_ids: defaultdict[type[Model], int] = defaultdict(lambda: _FIRST_IDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for table in self._tables.values():
            table.drop()

    def new_id(self, model: type[Model]) -> int:
        """An id that no other row of the model has or will get."""
        found = next(self._ids.get(model, iter(())), None)
        if found is None:
            number = self._next_ids[model]
            self._next_ids[model] = min(2 * number, _MOST_IDS)
            self._ids[model] = iter(_reserved(model, number))
            found = next(self._ids[model])
        return found

    def put(self, *rows: Model, fresh: bool = False) -> None:
        """Stage rows of one model that are part of no session; they get their ids here."""
        for row in rows:
            row.pk = self.new_id(type(row))
        if rows:
            self.write(type(rows[0]), [(row, 0, fresh) for row in rows])

    def write(self, model: type[Model], rows: Iterable[tuple[Model, int, bool]]) -> None:
        """Stage rows that have their ids, each with its session, and whether it is fresh.

        Fresh is what belongs to no session, run or study that is stored already.
        """
        self._table(model).insert(rows)

    def rows(
        self, model: type[_Row], sessions: Collection[int], *, without: Collection[str] = ()
    ) -> list[_Row]:
        """The staged rows of these sessions, in the order in which they came."""
        table = self._tables.get(model)
        return [] if table is None else table.select("in_session", sessions, without)

    def sessions(self, keys: Collection[str]) -> list[Session]:
        """The staged sessions of these keys."""
        table = self._tables.get(Session)
        return [] if table is None else table.select("key", keys)

    def fresh_rows(self) -> int:
        """How many rows are fresh."""
        return sum(table.fresh_rows for table in self._tables.values())

    def fresh_ids(self, model: type[Model]) -> list[int]:
        """The ids of a model's fresh rows."""
        table = self._tables.get(model)
        return [] if table is None else table.ids()

    def chars(self, model: type[Model], column: str) -> int:
        """How long the texts of a column are together."""
        table = self._tables.get(model)
        return 0 if table is None else table.total(f"LENGTH({column})")

    def publish(self, dataset: Dataset, *, left_out: Collection[type[Model]] = ()) -> None:
        """Copy all to the real tables; of those left out only rows that are not fresh.

        What belongs to a dataset goes to this one. One statement a table: the caller has opened
        the transaction.
        """
        for model, table in self._tables.items():
            table.copy(dataset, "fresh = 0" if model in left_out else "1 = 1")

    def parts(self, model: type[Model], size: int) -> Iterator[tuple[int, int]]:
        """The ids of a model's rows, cut into ranges of about so many rows."""
        table = self._tables.get(model)
        if table is not None:
            first, last = table.ends()
            yield from ((low, low + size - 1) for low in range(first, last + 1, size))

    def publish_part(self, model: type[Model], ids: tuple[int, int], dataset: Dataset) -> None:
        """Copy the fresh rows within a range of ids to the real table."""
        self._tables[model].copy(dataset, "fresh = 1 AND id BETWEEN %s AND %s", ids)

    def _table(self, model: type[Model]) -> _Table:
        if model not in self._tables:
            self._tables[model] = _Table(model)
        return self._tables[model]


class _Table:
    """The temporary table of one model, with two columns more: `in_session` and `fresh`."""

    def __init__(self, model: type[_Row]) -> None:
        self.fresh_rows = 0
        self._rows = 0
        self._counted_at = _FIRST_COUNT
        self._model = model
        self._fields = model._meta.concrete_fields  # noqa: SLF001 - Django's own name
        self._real = _quoted(model._meta.db_table)  # noqa: SLF001
        self._name = _quoted(f"staged_{model._meta.db_table}")  # noqa: SLF001
        self._values = itemgetter(*(field.attname for field in self._fields))
        self._encoders = [
            (place, _encoder(field))
            for place, field in enumerate(self._fields)
            if not isinstance(field, _AS_THEY_ARE)
        ]
        self._stamped = [
            field.attname
            for field in self._fields
            if isinstance(field, models.DateTimeField) and (field.auto_now or field.auto_now_add)
        ]
        columns = self._columns()
        holders = ", ".join(["%s"] * (len(self._fields) + 2))
        self._insert = f"INSERT INTO {self._name} VALUES ({holders})"  # noqa: S608 - names of models
        looked_up = "key" if model is Session else "in_session"
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self._name}")  # what an import left that failed
            cursor.execute(
                f"CREATE TEMPORARY TABLE {self._name} AS SELECT {columns}, "  # noqa: S608
                f"CAST(0 AS bigint) AS in_session, CAST(0 AS smallint) AS fresh "
                f"FROM {self._real} WHERE 1 = 0"
            )
            cursor.execute(
                f"CREATE INDEX {_quoted(f'{self._name[1:-1]}_found')} "
                f"ON {self._name} ({_quoted(looked_up)})"
            )

    def drop(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {self._name}")

    def insert(self, rows: Iterable[tuple[Model, int, bool]]) -> None:
        stamps = dict.fromkeys(self._stamped, timezone.now())
        values: list[Any] = [
            (*self._encoded({**vars(row), **stamps}), session, int(fresh))
            for row, session, fresh in rows
        ]
        self.fresh_rows += sum(1 for row in values if row[-1])
        with _together(), connection.cursor() as cursor:
            cursor.executemany(self._insert, values)
        self._rows += len(values)
        if self._rows >= self._counted_at and connection.vendor == "postgresql":
            self._counted_at = 10 * self._rows
            with connection.cursor() as cursor:  # it takes the table for empty, and no index
                cursor.execute(f"ANALYZE {self._name}")

    def select(
        self, column: str, wanted: Collection[object], without: Collection[str] = ()
    ) -> list[Any]:
        holders = ", ".join(["%s"] * len(wanted))
        return list(
            self._model._default_manager.raw(  # noqa: SLF001
                f"SELECT {self._columns(without)} FROM {self._name} "  # noqa: S608
                f"WHERE {_quoted(column)} IN ({holders}) ORDER BY id",
                list(wanted),
            )
        )

    def copy(self, dataset: Dataset, where: str, values: Sequence[int] = ()) -> None:
        chosen = ", ".join(
            "%s" if field.related_model is Dataset else _quoted(field.column or "")
            for field in self._fields
        )
        own = [dataset.pk for field in self._fields if field.related_model is Dataset]
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {self._real} ({self._columns()}) "  # noqa: S608
                f"SELECT {chosen} FROM {self._name} WHERE {where} ORDER BY id",
                [*own, *values],
            )

    def ids(self) -> list[int]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT id FROM {self._name} WHERE fresh = 1")  # noqa: S608
            return [row[0] for row in cursor.fetchall()]

    def total(self, expression: str) -> int:
        return int(self._asked(f"COALESCE(SUM({expression}), 0)")[0])

    def ends(self) -> tuple[int, int]:
        """The lowest and the highest id; the ids are indexed from here on."""
        index = _quoted(f"{self._name[1:-1]}_by_id")
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE INDEX {index} ON {self._name} (id)")
        low, high = self._asked("COALESCE(MIN(id), 1), COALESCE(MAX(id), 0)")
        return low, high

    def _asked(self, expression: str) -> tuple[Any, ...]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {expression} FROM {self._name}")  # noqa: S608
            row: tuple[Any, ...] = cursor.fetchone()
            return row

    def _columns(self, without: Collection[str] = ()) -> str:
        return ", ".join(
            _quoted(field.column or "") for field in self._fields if field.name not in without
        )

    def _encoded(self, row: Mapping[str, object]) -> list[object]:
        values = list(self._values(row))
        for place, encode in self._encoders:
            values[place] = encode(values[place])
        return values


def _encoder(field: models.Field[Any, Any]) -> Callable[[Any], object]:
    """What makes a field's values those that the database takes."""
    database = connections[DEFAULT_DB_ALIAS]  # not the proxy, which costs something each time

    def encode(value: object) -> object:
        return field.get_db_prep_save(value, database)

    if isinstance(field, models.JSONField):
        empty = encode({})
        return lambda value: empty if value == {} else encode(value)
    return lru_cache(maxsize=256)(encode)


@contextmanager
def _together() -> Iterator[None]:
    """One transaction of SQLite that touches temporary tables alone, and so takes no lock.

    Django would begin one that locks the database; PostgreSQL needs none for one statement.
    """
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SAVEPOINT staged")
        try:
            yield
        except BaseException:
            cursor.execute("ROLLBACK TO staged")
            raise
        finally:
            cursor.execute("RELEASE staged")


def _reserved(model: type[Model], number: int) -> list[int]:
    """New ids of a model's table, in rising order; those that stay unused leave a gap."""
    table = model._meta.db_table  # noqa: SLF001
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)",
                [_quoted(table), number],
            )
            return [row[0] for row in cursor.fetchall()]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE sqlite_sequence SET seq = seq + %s WHERE name = %s", [number, table])
        if not cursor.rowcount:
            cursor.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number]
            )
        cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        last = cursor.fetchone()[0]
    return list(range(last - number + 1, last + 1))


def _quoted(name: str) -> str:
    return connection.ops.quote_name(name)
