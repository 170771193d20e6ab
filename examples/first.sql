CREATE STREAM packets (src STRING, bytes INT) FROM bursty WITH (rate = 2000, src_distinct = 50, bytes_high = 1499);
CREATE STREAM replies (src STRING, code INT) FROM poisson WITH (rate = 300, src_distinct = 50, code_low = 200, code_high = 599);
CREATE QUERY big AS SELECT src, bytes FROM packets WHERE bytes > 1200;
CREATE QUERY small AS SELECT src, bytes FROM packets WHERE bytes < 64;
CREATE QUERY failures AS SELECT src, code FROM replies WHERE code >= 500;
CREATE QUERY echoes AS SELECT p.src, p.bytes, r.code FROM packets [RANGE 5 SECONDS] AS p, replies [ROWS 100] AS r
  WHERE p.src = r.src AND p.bytes > 1200 AND r.code >= 500;
SET policy = 'bsd';
