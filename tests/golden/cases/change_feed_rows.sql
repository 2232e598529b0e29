SELECT SUM(bid) AS total FROM quotes [PARTITION BY symbol ROWS 3]
