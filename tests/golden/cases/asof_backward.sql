-- streams: sales, returns. The newest return of an item is kept for as long as a sale may ask for it.
SELECT s.item, s.price, r.reason FROM sales s LEFT ASOF JOIN returns r
MATCH_CONDITION (s.ts >= r.ts) ON s.item = r.item AND r.reason <> 'none'
TOLERANCE INTERVAL '1' DAY WHERE s.price > 10