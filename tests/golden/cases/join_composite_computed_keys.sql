-- streams: a, b. A composite key, one part of it computed.
SELECT a.k, b.x FROM a, b WHERE a.k = b.k AND lower(a.y) = lower(b.y) AND abs(a.ts - b.ts) <= INTERVAL '3' SECONDS
