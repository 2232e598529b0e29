-- streams: sales. The sliding aggregate of a windowed stream.
SELECT store, SUM(price * quantity) AS revenue, COUNT(*) AS sold
FROM sales [RANGE INTERVAL '1' HOUR] WHERE price > 4 GROUP BY store
