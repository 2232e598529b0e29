SELECT p.v, q.v AS w FROM ticks p, ticks q [ROWS 2] WHERE p.k = q.k AND p.v < q.v WINDOW = 50 ROWS
