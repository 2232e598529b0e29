SELECT st.region, COUNT(*) AS n, SUM(s.price) AS total
FROM sales [RANGE INTERVAL '1' HOUR] s, stores st, favorites f
WHERE s.store = st.store AND s.price BETWEEN f.least AND f.least * 2
GROUP BY st.region
