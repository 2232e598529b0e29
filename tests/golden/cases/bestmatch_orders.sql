-- streams: temperature, humidity. Orders by age, and by what two arrays share.
SELECT t.celsius, h.percent
FROM temperature t RIGHT OUTER BESTMATCH JOIN humidity h
     ON t.ts YOUNGEST h.ts WITHIN INTERVAL '10' MINUTES, array(t.x, t.y) SUBSET array(h.x, h.y)
WHERE t.sensor = h.sensor
