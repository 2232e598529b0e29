-- streams: a, b. Without a key one task does it all; without a tolerance rows wait for a match.
SELECT a.x, b.y FROM a ASOF JOIN b MATCH_CONDITION (a.ts < b.ts)