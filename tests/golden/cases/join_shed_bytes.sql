SELECT /*+ memory(2 MB), on_memory(shed), shed_strategy(inverse), service_rate(100) */ a.x, b.x AS other
FROM a, b
WHERE a.k = b.k
WINDOW = INTERVAL '1' MINUTE
