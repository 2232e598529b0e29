-- Memory is bounded and old rows go to disk: of all algorithms the one whose whole state can.
SELECT /*+ memory(50 MB), on_memory(spill) */ fast.x, slow.x AS other
FROM fast, slow
WHERE fast.k = slow.k
WINDOW = INTERVAL '10' SECONDS
