-- streams: ticks (twice). BIGINT time, no equality: nested loop, one bucket.
SELECT p.v, q.v AS qv FROM ticks p, ticks q WHERE p.v < q.v DWINDOW (p, q) = 100
