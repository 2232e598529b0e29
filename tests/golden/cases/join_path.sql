-- streams: sales (three times). A self join; predicates of one stream, and one of two.
SELECT s1.item, s1.store AS first_store, s3.store AS last_store, s3.price - s1.price AS rise
FROM sales s1, sales s2, sales s3
WHERE s1.item = s2.item AND s2.item = s3.item
  AND s1.price > 4 AND s2.store = 'north' AND s1.price < s3.price
WINDOW (s1, s2) = INTERVAL '1' HOUR AND WINDOW (s2, s3) = INTERVAL '30' MINUTES
