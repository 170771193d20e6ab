-- Traffic of a small network: three streams, a stored table, eight continuous queries.
--
--   penstock explain examples/traffic.sql               what runs, and what is shared; needs no Spark
--   penstock run examples/traffic.sql --seconds 15      run it on this machine
--   penstock run examples/traffic.sql --watch           ... and edit the queries below while it runs
--   penstock run examples/traffic.sql --policy hnr      the same under another policy

-- Streams ---------------------------------------------------------------------------------------------------
-- Penstock generates these. `bursty` adds up many flows that are on and off for heavy-tailed times, so its rate
-- varies between 0 and several times its mean; `poisson` is steady. With a seed, every run has the same rows.
-- Options that begin with a column's name say which values it takes: strings are src0, src1, … src49.

CREATE STREAM packets (src STRING, dst STRING, port INT, bytes INT)
  FROM bursty WITH (rate = 2000, flows = 32, on_alpha = 1.4, off_alpha = 1.2, seed = 7,
                    src_distinct = 50, dst_distinct = 200, port_zipf = 1.2, port_high = 1023,
                    bytes_low = 40, bytes_high = 1499);

CREATE STREAM replies (src STRING, code INT, millis INT)
  FROM poisson WITH (rate = 300, seed = 8, src_distinct = 50, code_low = 200, code_high = 599, millis_zipf = 1.5);

CREATE STREAM logins (src STRING, account STRING, granted BOOLEAN)
  FROM poisson WITH (rate = 40, seed = 9, src_distinct = 50, account_distinct = 30);

-- A stored table: read once, when the run starts. The path is looked up next to this file.
CREATE TABLE hosts (ip STRING, owner STRING, city STRING, quota INT) FROM csv WITH (path = 'hosts.csv');

-- Queries on one stream -------------------------------------------------------------------------------------
-- `big`, `big_kb`, `owned` and `echo` all begin with bytes > 1400: that selection is one operator of the plan.

CREATE QUERY big AS
  SELECT src, dst, bytes FROM packets WHERE bytes > 1400;

CREATE QUERY big_kb AS
  SELECT src, round(bytes / 1024.0, 2) AS kb, port < 100 AS low_port FROM packets WHERE bytes > 1400;

CREATE QUERY scans AS
  SELECT src, dst, port FROM packets WHERE port > 500 AND bytes BETWEEN 40 AND 100;

CREATE QUERY slow_errors AS
  SELECT src, code, CASE WHEN millis > 100 THEN 'very slow' ELSE 'slow' END AS verdict
  FROM replies WHERE code >= 500 AND millis > 10;

-- With the stored table -------------------------------------------------------------------------------------

CREATE QUERY owned AS
  SELECT h.owner, h.city, p.bytes FROM packets p JOIN hosts h ON p.src = h.ip WHERE p.bytes > 1400;

CREATE QUERY over_quota AS
  SELECT h.owner, p.src, p.bytes - h.quota AS excess
  FROM packets p JOIN hosts h ON p.src = h.ip AND p.bytes > h.quota
  WHERE h.city = 'Graz' AND p.port < 5;

-- Window joins of streams -----------------------------------------------------------------------------------
-- [RANGE 2 SECONDS]: rows not more than 2 s older than the row that completes the pair.
-- [ROWS 100]: the last 100 rows of that stream, counted before WHERE.

CREATE QUERY echo AS
  SELECT p.src, p.bytes, r.code
  FROM packets [RANGE 2 SECONDS] AS p, replies [ROWS 100] AS r
  WHERE p.src = r.src AND p.bytes > 1400 AND r.code >= 590;

CREATE QUERY break_in AS
  SELECT l.account, h.owner, r.code, p.dst
  FROM logins [RANGE 1 SECOND] AS l, replies [RANGE 1 SECOND] AS r, packets [ROWS 200] AS p, hosts AS h
  WHERE l.src = r.src AND l.src = p.src AND l.src = h.ip AND NOT l.granted AND r.code >= 500 AND p.bytes > 1000;

-- The policy: bsd balances slowdown, so that cheap queries do not wait behind expensive ones.
SET policy = 'bsd';
