"""SQLite, with the transactions of one process waiting in line.

A writer that finds the database locked sleeps in SQLite, for up to a tenth of a second at a time,
and tries again: with many at once some wait several times as long as others, while nobody writes.
Here a thread first waits for the others of its process. Between processes SQLite's own lock and
timeout hold as ever, and whoever waited that long in line goes on to them.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from threading import Lock
from typing import Any, Final

from django.db.backends.sqlite3 import base

from sensejudge_site.private_files import create_private

_lines: Final[defaultdict[str, Lock]] = defaultdict(Lock)
_PATIENCE: Final = 5.0  # seconds, as SQLite's own default


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection that holds its process's place from the start of a transaction to its end."""

    _held: Lock | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect; SQLite gives its log the rights of the file, which is its owner's alone."""
        path = str(conn_params["database"])
        if not path.startswith(("file:", ":memory:")):
            create_private(Path(path))
        return super().get_new_connection(conn_params)

    def _start_transaction_under_autocommit(self) -> None:
        line = _lines[str(self.settings_dict["NAME"])]
        patience = self.settings_dict["OPTIONS"].get("timeout", _PATIENCE)
        if self._held is None and line.acquire(timeout=patience):
            self._held = line
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc] # in no stub
        except BaseException:
            self._let_go()
            raise

    def _commit(self) -> Any:
        done = super()._commit()  # type: ignore[misc] # in no stub
        self._let_go()  # not where it failed: a rollback follows
        return done

    def _rollback(self) -> Any:
        try:
            return super()._rollback()  # type: ignore[misc] # in no stub
        finally:
            self._let_go()

    def _close(self) -> Any:
        try:
            return super()._close()  # type: ignore[misc] # in no stub
        finally:
            self._let_go()

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None
