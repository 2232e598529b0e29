-- streams: temperature, humidity. A row comes out once nothing that is to come can be nearer.
SELECT t.celsius, h.percent FROM temperature t ASOF JOIN humidity h
MATCH_CONDITION (t.ts NEAREST h.ts) ON t.sensor = h.sensor