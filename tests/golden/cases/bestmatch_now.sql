-- streams: temperature, humidity. What is best among the rows alive: a changelog above a window join.
SELECT t.celsius, h.percent
FROM temperature t [RANGE INTERVAL '10' MINUTES] LEFT OUTER BESTMATCH JOIN humidity h [RANGE INTERVAL '5' MINUTES]
ON t.x MINDIST h.x, t.y MINDIST h.y
WHERE t.sensor = h.sensor AND abs(t.x - h.x) <= 100
