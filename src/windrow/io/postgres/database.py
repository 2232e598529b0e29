"""A connection to PostgreSQL that is made anew after it broke, and what goes wrong there, in our words.

What passes by itself (a server that restarts, a lost connection, a deadlock) is `Unavailable`: whoever runs
a query tries again. All else is the user's, or of who owns the data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from windrow.errors import BindError, DataError, ResourceError, WindrowError
from windrow.io.protocol import Unavailable

if TYPE_CHECKING:
    import psycopg

LEAST_VERSION = 15
"""Of the server: the first one in which NULLs can be equal in a unique index."""

MOST_NAME_BYTES = 63
"""PostgreSQL cuts longer names off, in silence."""

_DEFAULTS = {
    "application_name": "windrow",
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,  # a server that is gone without a word, in milliseconds
    "keepalives_idle": 30,
}
_SETTINGS = (
    "SET client_encoding = 'UTF8'; SET standard_conforming_strings = on;"
    " SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres';"
    " SET bytea_output = 'hex'; SET extra_float_digits = 1; SET synchronize_seqscans = off"
)
_PASSING = ("08", "40", "53", "55", "57", "58")
"""Classes of SQLSTATE that say nothing about the statement: connection, conflict, resources, operator."""

_READ_ONLY = "25006"  # a server that has become a standby
_LOGIN = ("authentication failed", "no pg_hba.conf entry", "no password supplied")
_NO_PLACE = ("does not exist",)
_OPTION = re.compile(
    "invalid [^:]*value|invalid port number|could not parse network address|definition of service"
    "|unrecognized configuration parameter|SSL was required"
)
"""What is said of an option in the url that cannot be: to try again would not help."""


def driver() -> Any:
    """The package that speaks to PostgreSQL.

    Raises:
        ResourceError: it is not installed.
    """
    try:
        import psycopg  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ResourceError(
            "psycopg-missing",
            "psycopg, which connects to PostgreSQL, is not installed",
            reason=str(error),
            hint="pip install 'windrow[postgres]'",
        ) from error
    return psycopg


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def literal(text: str) -> str:
    """A text as SQL takes it."""
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


class Database:
    """A database, connected to when it is first asked, and again after the connection broke.

    It can be pickled; the copy connects by itself.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_url": self._url, "_connection": None}

    def __del__(self) -> None:
        # Of a sink that was dropped as it stood.
        self.close()

    @property
    def place(self) -> str:
        """Where it is, for messages: without a password."""
        told = self._told
        host = told.get("host") or told.get("hostaddr") or "the local socket"
        port = f":{told['port']}" if told.get("port") else ""
        return f"{host}{port}/{told.get('dbname') or told.get('user') or ''}"

    @property
    def _told(self) -> dict[str, Any]:
        psycopg = driver()
        try:
            told: dict[str, Any] = psycopg.conninfo.conninfo_to_dict(self._url)
        except psycopg.ProgrammingError as error:
            raise _bad_url(_first_line(error)) from error
        return told

    @contextmanager
    def transaction(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in a transaction, which is committed at the end of the block.

        Raises:
            Unavailable: the server does not answer; nothing of the block has happened, or, where the
                connection broke as it was committed, perhaps all of it.
            WindrowError: the server refuses something.
        """
        psycopg = driver()
        try:
            with self._connected() as connection, connection.transaction():
                yield connection
        except psycopg.Error as error:
            failure = self._failure(error)
            if isinstance(failure, Unavailable):
                self.close()
            raise failure from error

    def close(self) -> None:
        """Ends the connection; it may be used again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):  # it may be broken
                connection.close()

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
        yield self._connection

    def _connect(self) -> psycopg.Connection[Any]:
        own = driver()
        told = self._told
        chosen = {name: value for name, value in _DEFAULTS.items() if name not in told}
        try:
            found: psycopg.Connection[Any] = own.connect(
                self._url, autocommit=True, prepare_threshold=None, **chosen
            )
        except own.ProgrammingError as error:
            raise _bad_url(_first_line(error)) from error
        except own.OperationalError as error:
            raise self._not_connected(error) from error
        try:
            self._check_version(found.info.server_version // 10_000)
            found.execute(_SETTINGS)
        except BaseException:
            found.close()
            raise
        return found

    def _check_version(self, version: int) -> None:
        if version < LEAST_VERSION:
            raise ResourceError(
                "postgres-version",
                f"the server at {self.place} is PostgreSQL {version}",
                reason=f"Windrow needs PostgreSQL {LEAST_VERSION} or newer",
                hint="use a newer server",
            )

    def _not_connected(self, error: BaseException) -> WindrowError:
        said = " ".join(str(error).split())
        if _OPTION.search(said):
            return _bad_url(said)
        if any(text in said for text in (*_LOGIN, *_NO_PLACE)):
            return ResourceError(
                "postgres-login",
                f"PostgreSQL at {self.place} refused the login",
                reason=said,
                hint="look at user, password and database in the url",
            )
        return self._away(said)

    def _failure(self, error: Any) -> WindrowError:
        """What an error of the driver is to the user."""
        psycopg = driver()
        state, said = error.sqlstate or "", _first_line(error)
        is_broken = isinstance(error, psycopg.InterfaceError) or (
            isinstance(error, psycopg.OperationalError) and not state
        )
        if is_broken or state[:2] in _PASSING or state == _READ_ONLY:
            return self._away(said)
        diag = error.diag
        said = f"{said}; {diag.message_detail}" if diag.message_detail else said
        if state == "42501":
            return ResourceError(
                "postgres-privilege",
                f"the user of the url may not do this at {self.place}",
                reason=said,
                hint="grant it, or use another user: a sink makes tables in the schema of its own",
            )
        if state[:2] == "22":
            return DataError(
                "postgres-value",
                "PostgreSQL refused a value",
                reason=said,
                hint="cast or filter it in the query",
            )
        if state[:2] == "23":
            column = f" in the column {diag.column_name!r}" if diag.column_name else ""
            return DataError(
                "postgres-constraint",
                f"a row breaks a constraint of the table {diag.table_name or ''}{column}",
                reason=said,
                hint="drop the constraint, or write a query whose answer keeps to it",
            )
        return ResourceError(
            "postgres-refused",
            f"PostgreSQL at {self.place} refuses a statement",
            reason=f"{said} (SQLSTATE {state})",
            hint="check the table and its triggers, rules and types",
        )

    def _away(self, said: str) -> Unavailable:
        return Unavailable(
            "postgres-away",
            f"PostgreSQL at {self.place} does not answer",
            reason=said,
            hint="check that the server runs, and the url",
        )


def _bad_url(said: str) -> BindError:
    return BindError(
        "bad-url",
        "the url of the database cannot be used",
        reason=said,
        hint="for instance  postgresql://user@localhost:5432/sales?connect_timeout=5",
    )


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
