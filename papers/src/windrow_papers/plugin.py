"""What this package adds to Windrow, by the registration that is open to everybody."""

from __future__ import annotations

from windrow import extend

extend.command("experiment", "windrow_papers.command:app")
