-- streams: a, b. A pair in one direction.
SELECT a.x, b.x AS then_x FROM a, b WHERE a.k = b.k DWINDOW (a, b) = INTERVAL '10' MINUTES
