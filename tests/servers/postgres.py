"""A PostgreSQL server in a temporary folder, which tests may stop and start as they like.

It keeps its data over a stop, the hard one (`-m immediate`, as a crash) included. PostgreSQL does not run
as root: there it runs as a system user without rights.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALLED = Path("/usr/lib/postgresql")
USERS = ("postgres", "nobody")
"""Who runs it where root may not."""

MISSING = "PostgreSQL 15 or newer is not installed: make services"

SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "unix_socket_directories": "''",
    "max_connections": "40",
    "shared_buffers": "64MB",
    "logging_collector": "off",
}


def binaries() -> Path | None:
    """Where the newest server is; None where there is none."""
    found = [own for own in INSTALLED.glob("*/bin") if (own / "initdb").exists()]
    found = [own for own in found if own.parent.name.isdigit() and int(own.parent.name) >= 15]
    if found:
        return max(found, key=lambda own: int(own.parent.name))
    named = shutil.which("initdb")
    return None if named is None else Path(named).resolve().parent


class PostgresServer:
    """One server; `url` is what clients connect to."""

    def __init__(self, folder: Path, bin_folder: Path) -> None:
        self._bin = bin_folder
        self._data = folder / "data"
        self._log = folder / "log"
        self._as: list[str] = []
        if os.geteuid() == 0:
            user = next(name for name in USERS if _exists(name))
            entry = pwd.getpwnam(user)
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            self._as = [
                "setpriv",
                f"--reuid={entry.pw_uid}",
                f"--regid={entry.pw_gid}",
                "--clear-groups",
            ]
        self.port = _free_port()
        self._run(
            "initdb", "--pgdata", self._data, "--username", "windrow", "--auth", "trust",
            "--encoding", "UTF8", "--locale", "C", "--no-sync",
        )  # fmt: skip

    @property
    def url(self) -> str:
        """Of its one database."""
        return f"postgresql://windrow@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        settings = [f"-c {name}={value}" for name, value in SETTINGS.items()]
        options = " ".join([f"-p {self.port}", *settings])
        self._run(
            "pg_ctl", "start", "--pgdata", self._data, "--log", self._log, "--options", options,
            "--wait", "--timeout", "60", "--silent",
        )  # fmt: skip

    def stop(self, mode: str = "immediate") -> None:
        """Stops it: "immediate" is what a crash is, "fast" breaks connections off in order."""
        self._run("pg_ctl", "stop", "--pgdata", self._data, "--mode", mode, "--wait", "--silent")

    def restart(self, mode: str = "immediate") -> None:
        """Stops it and starts it again."""
        self.stop(mode)
        self.start()

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self._as, str(self._bin / program), *map(str, arguments)]
        # Into a file: the server would keep a pipe open.
        with tempfile.TemporaryFile() as said:
            done = subprocess.run(command, stdout=said, stderr=said, cwd="/", check=False)
            if done.returncode:
                said.seek(0)
                text = said.read().decode(errors="replace")
                log = self._log.read_text(errors="replace") if self._log.exists() else ""
                raise RuntimeError(f"{program} failed:\n{text}\n{log[-2000:]}")


@contextmanager
def running() -> Iterator[PostgresServer]:
    """A server that runs until the block ends."""
    found = binaries()
    assert found is not None, MISSING
    folder = Path(tempfile.mkdtemp(prefix="windrow-postgres-"))
    try:
        server = PostgresServer(folder, found)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
