"""A schema registry, as Confluent's and others answer: schemas of Avro by number and by subject."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from windrow.errors import BindError, ResourceError
from windrow.io.protocol import Unavailable

ANSWER_S = 10.0
_NOT_THERE = {400, 404, 422}
"""Nothing of that name, or no name for anything: each registry has its own answer."""
_LATER, _FAULT = {408, 429}, 500
_LAST_NUMBER = 2**31 - 1


class SchemaRegistry:
    """What is asked for schemas.

    Args:
        address: http or https, a host, and a port; a user and a password before the host, if it wants them.
    """

    def __init__(self, address: str) -> None:
        try:
            parts = urlsplit(address)
            port = "" if parts.port is None else f":{parts.port}"
            host = parts.hostname or ""
        except ValueError:
            parts, port, host = urlsplit(""), "", ""
        if parts.scheme not in {"http", "https"} or not host or set(address) & set(" \t\r\n"):
            raise BindError(
                "bad-kafka-option",
                f"registry={_without_password(address)!r} is not an address of a schema registry",
                hint="registry='http://localhost:8081', or 'https://user:password@host'",
            )
        host = f"[{host}]" if ":" in host else host
        self._url = f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"
        self._login = ""
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._login = f"Basic {base64.b64encode(login.encode()).decode()}"

    def schema(self, number: int) -> str:
        """The schema of a number.

        Raises:
            LookupError: the registry has none.
        """
        if number > _LAST_NUMBER:
            raise LookupError(f"no schema has the number {number}")
        return self._schema(f"schemas/ids/{number}")

    def latest(self, subject: str) -> str:
        """The newest schema of a subject."""
        try:
            return self._schema(f"subjects/{quote(subject, safe='')}/versions/latest")
        except LookupError as error:
            raise BindError(
                "unknown-subject",
                f"the schema registry at {self._url} has no schema of {subject!r}",
                hint="register it, or name the columns with schema='..'",
            ) from error

    def _schema(self, path: str) -> str:
        answer = self._asked(path)
        schema = answer.get("schema") if isinstance(answer, dict) else None
        if not isinstance(schema, str):
            raise self._refused("its answer holds no schema")
        kind = answer.get("schemaType", "AVRO")
        if kind != "AVRO":
            raise BindError(
                "bad-avro-schema",
                f"the schema at {path} of the registry is of the kind {kind}",
                hint="read such messages with format='json' or 'raw'",
            )
        return schema

    def _asked(self, path: str) -> Any:
        request = urllib.request.Request(f"{self._url}/{path}")  # http, or https
        if self._login:
            request.add_unredirected_header("Authorization", self._login)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _NOT_THERE:
                raise LookupError(f"the registry has nothing at {path}") from error
            if error.code in _LATER or error.code >= _FAULT:
                raise self._away(error) from error
            raise self._refused(str(error)) from error
        except (OSError, http.client.HTTPException) as error:
            raise self._away(error) from error
        try:
            return json.loads(content)
        except ValueError as error:
            raise self._refused("its answer is not JSON") from error

    def _away(self, error: Exception) -> Unavailable:
        return Unavailable(
            "registry-away",
            f"the schema registry at {self._url} does not answer",
            reason=str(error),
            hint="start it, or correct registry=",
        )

    def _refused(self, reason: str) -> ResourceError:
        return ResourceError(
            "registry-refused",
            f"the schema registry at {self._url} gives no schemas",
            reason=reason,
            hint="correct registry=; where it wants a password, registry='https://user:password@host'",
        )


def _without_password(address: str) -> str:
    before, at, host = address.rpartition("@")
    return f"..@{host}" if at and before else address
