SELECT /*+ memory(5000 tuples), on_memory(shed), service_rate(400 per second), on_service_rate(shed),
           shed_least(fast = 1000, slow = 1%), seed(7) */
       fast.x, slow.x AS other
FROM fast, slow
WHERE fast.k = slow.k
WINDOW = INTERVAL '10' SECONDS
