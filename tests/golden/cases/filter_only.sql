-- streams: sales. No state at all.
SELECT item, price * quantity AS paid FROM sales WHERE store = 'north' AND (price > 4 OR quantity > 10)
