"""Bestmatch joins of real streams against DuckDB, read in place where the data is present."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from match_oracle import best_pairs, least
from sessions import session

pytestmark = pytest.mark.law

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


def sample(name: str, query: str) -> pa.Table:
    """Rows of a file, numbered; the test is skipped, saying so, where it is absent."""
    file = FOLDER / name
    if not file.exists():
        pytest.skip(f"no such data here: {name}")
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        rows = connection.sql(query.format(file=file)).to_arrow_table()
    return rows.append_column("id", pa.array(range(len(rows))))


def check(left: pa.Table, right: pa.Table, kind: str, ticks: int, limits: dict[str, float]) -> None:
    """Compares the join on time and on the limited columns with DuckDB's answer."""
    w = session({"l": left, "r": right}, time="ts")
    dimensions = [f"l.{name} MINDIST r.{name} WITHIN {eps}" for name, eps in limits.items()]
    answer = w.sql(
        f"SELECT l.id AS l, r.id AS r FROM l {kind} BESTMATCH JOIN r"
        f" ON l.ts MINDIST r.ts WITHIN {ticks}, {', '.join(dimensions)} KEEP UNMATCHED"
    ).to_arrow()
    found = list(zip(*answer.to_pydict().values(), strict=True))
    names = {"ts": ticks, **limits}
    expected = best_pairs(
        {"l": left, "r": right},
        " AND ".join(f"abs(l.{name} - r.{name}) <= {eps}" for name, eps in names.items()),
        [least(f"abs(l.{name} - r.{name})") for name in names],
        kind,
        keep_unmatched=True,
    )
    assert len(expected) > 100
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize("kind", ["left outer", "full outer"])
def test_motes_of_a_laboratory_that_measure_near_each_other(kind):
    query = """
        SELECT (t_s * 1000 + moteid * 137 % 30000)::BIGINT AS ts, x::DOUBLE AS x, y::DOUBLE AS y
        FROM '{file}' WHERE t_s < 450 AND moteid % 2 = {rest} ORDER BY ts, moteid
    """
    name = "intel_lab_5day/readings.parquet"
    odd, even = (sample(name, query.replace("{rest}", str(rest))) for rest in (1, 0))
    check(odd, even, kind, 20_000, {"x": 6, "y": 6.5})


@pytest.mark.parametrize("kind", ["left outer", "right outer"])
def test_blasts_and_the_quakes_around_them(kind):
    query = """
        SELECT epoch_ms(t::TIMESTAMP) AS ts, lat, lon FROM read_csv('{file}')
        WHERE t::TIMESTAMP < TIMESTAMP '2016-02-15' ORDER BY t
    """
    blasts = sample("ncedc_earthquakes/blasts.csv", query)
    quakes = sample("ncedc_earthquakes/earthquakes.csv.gz", query)
    check(blasts, quakes, kind, 2 * 86_400_000, {"lat": 1.5, "lon": 1.5})


@pytest.mark.parametrize("kind", ["right outer", "full outer"])
def test_stations_of_a_city_that_are_as_warm_at_the_same_hour(kind):
    query = """
        SELECT epoch(date)::BIGINT AS ts, Latitude AS lat, Longitude AS lon, airT AS warm
        FROM '{file}' WHERE date < TIMESTAMP '2019-01-03' AND hash(station) % 2 = {rest}
        ORDER BY date, station
    """
    name = "berlin_uco_stations/air_temperature_hourly.parquet"
    some, others = (sample(name, query.replace("{rest}", str(rest))) for rest in (1, 0))
    check(some, others, kind, 3600, {"lat": 0.1, "lon": 0.15, "warm": 1.5})
