"""The servers of a process, each started when a test first asks for it."""

from __future__ import annotations

import uuid

import pytest

from servers import kafka, postgres


@pytest.fixture(scope="session")
def postgres_server():
    if postgres.binaries() is None:
        pytest.skip(postgres.MISSING)
    with postgres.running() as server:
        yield server


@pytest.fixture
def table(postgres_server):
    """A table's name that no other test has, in a schema of its own."""
    import psycopg

    schema = f"s{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        yield f"{schema}.answer"
        connection.close()
    with psycopg.connect(postgres_server.url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def broker():
    if kafka.missing():
        pytest.skip(kafka.missing())
    return kafka.of_this_process()
