SELECT s.item, st.region, f.customer
FROM sales s
JOIN returns r ON s.item = r.item
JOIN favorites f ON f.item = s.item AND s.price >= f.least
LEFT JOIN stores st ON r.store = st.store AND st.opened < s.ts
WHERE f.customer > 100 AND s.quantity > 1
WINDOW (s, r) = INTERVAL '1' HOUR
