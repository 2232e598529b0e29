-- streams: fast, slow. Rates and different values are known: the state of a MINUS in numbers.
SELECT k FROM fast [RANGE INTERVAL '1' MINUTE]
EXCEPT ALL
SELECT k FROM slow [RANGE INTERVAL '5' SECONDS]
