-- streams: temperature, humidity. What is best among the rows alive, and those that none of them matches.
SELECT t.sensor, t.celsius, h.percent
FROM temperature t [RANGE INTERVAL '10' MINUTES] FULL OUTER BESTMATCH JOIN humidity h [RANGE INTERVAL '5' MINUTES]
ON t.x MINDIST h.x WITHIN 100, array(t.y) SUBSET array(h.y)
WHERE t.sensor = h.sensor
KEEP UNMATCHED
