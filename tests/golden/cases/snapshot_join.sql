-- streams: sales, returns, visits. Two aggregates and a windowed stream, joined, and grouped again.
SELECT sold.store, COUNT(*) AS visits, SUM(sold.total) AS weight
FROM (SELECT store, SUM(price) AS total FROM sales [RANGE INTERVAL '1' HOUR] GROUP BY store) sold
JOIN (SELECT DISTINCT store FROM returns [RANGE INTERVAL '2' HOURS]) back ON sold.store = back.store
JOIN visits [RANGE INTERVAL '10' MINUTES] v ON v.store = sold.store AND v.customer > sold.total
GROUP BY sold.store
