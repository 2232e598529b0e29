-- streams: sales, returns. A join of changelogs without an equality runs in one place.
SELECT s.n AS sold, r.n AS returned
FROM (SELECT item, COUNT(*) AS n FROM sales [RANGE INTERVAL '1' HOUR] GROUP BY item) s,
     (SELECT item, COUNT(*) AS n FROM returns [RANGE INTERVAL '1' HOUR] GROUP BY item) r
WHERE s.n < r.n
