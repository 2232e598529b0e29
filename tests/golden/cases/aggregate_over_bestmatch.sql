-- streams: temperature, humidity. An aggregate sees the watermark less the delay of the join below.
SELECT m.sensor, AVG(m.percent) AS mean
FROM (SELECT t.sensor AS sensor, h.percent AS percent
      FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h ON t.ts MINDIST h.ts
      WHERE abs(t.ts - h.ts) <= INTERVAL '1' MINUTE) m [RANGE INTERVAL '1' HOUR]
GROUP BY m.sensor
