-- streams: sales. One group for all: a single task, with a warning.
SELECT COUNT(*) AS sold, AVG(price) AS mean FROM sales [RANGE INTERVAL '10' MINUTES]
