-- streams: sales. The changelog of a selection: what was dear in the last hour.
SELECT store, price FROM sales [RANGE INTERVAL '1' HOUR] WHERE price > 100 EMIT CHANGES
