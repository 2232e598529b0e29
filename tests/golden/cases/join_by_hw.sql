-- streams: sales (four times). A pipeline of hash joins that keeps partial combinations.
SELECT /*+ algorithm(hw) */ s1.item, s1.store AS store1, s2.store AS store2, s3.store AS store3
FROM sales s1, sales s2, sales s3, sales s4
WHERE s1.item = s2.item AND s2.item = s3.item AND s3.item = s4.item
WINDOW = INTERVAL '1' HOUR
