SELECT fast.x, slow.x AS sx, a.x AS ax FROM fast, slow, rare AS a
WHERE fast.k = slow.k AND slow.k = a.k WINDOW = INTERVAL '10' SECONDS
