SELECT s.item, v.customer
FROM sales s
JOIN visits v ON s.store = v.store
LEFT SEMI JOIN favorites f ON s.item = f.item
LEFT ANTI JOIN stores st ON upper(v.store) = st.store
WINDOW (s, v) = INTERVAL '10' MINUTES
