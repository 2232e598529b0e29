-- streams: sales. Input triggered: no bound holds while no input arrives.
SELECT /*+ scheduling(ita) */ DISTINCT store
FROM sales [RANGE INTERVAL '1' HOUR] WHERE price > 4
