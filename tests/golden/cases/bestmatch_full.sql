-- streams: temperature, humidity. Pairs are judged for both of their rows; bounds differ by side.
SELECT t.celsius, h.percent
FROM temperature t FULL OUTER BESTMATCH JOIN humidity h ON t.ts MINDIST h.ts, t.x MINDIST h.x WITHIN 100
WHERE h.ts BETWEEN t.ts - INTERVAL '10' MINUTES AND t.ts + INTERVAL '5' MINUTES KEEP UNMATCHED
