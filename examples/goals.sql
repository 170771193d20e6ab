-- A bursty stream, five queries, and goals instead of a policy: the policy is chosen every two seconds.
--
--   penstock run examples/goals.sql --seconds 30                     shows the policies and their time shares
--   penstock run examples/goals.sql --watch                          ... and edit the goals below while it runs
--   penstock run examples/goals.sql --seconds 30 --json | jq .qos    scores, switches, latest statistics

CREATE STREAM packets (src STRING, dst STRING, bytes INT)
  FROM bursty WITH (rate = 3000, flows = 24, seed = 7, src_distinct = 50, bytes_low = 40, bytes_high = 1499);
CREATE STREAM replies (src STRING, code INT)
  FROM poisson WITH (rate = 300, seed = 8, src_distinct = 50, code_low = 200, code_high = 599);

CREATE QUERY alarms AS SELECT src, code FROM replies WHERE code >= 590;
CREATE QUERY big AS SELECT src, dst, bytes FROM packets WHERE bytes > 1400;
CREATE QUERY twice AS SELECT src, bytes * 2 AS doubled FROM packets WHERE bytes % 2 = 1;
CREATE QUERY pairs AS
  SELECT p.src, p.bytes, r.code FROM packets [RANGE 2 SECONDS] AS p, replies [ROWS 50] AS r
  WHERE p.src = r.src AND p.bytes > 1300 AND r.code >= 500;
CREATE QUERY owners AS SELECT upper(src) AS owner FROM packets WHERE bytes < 100;

-- Goals: a small slowdown, and little memory. A weight counts for each result: `alarms` makes one result from
-- 40 rows, so it needs a large weight to be served first.
SET qos = 'minimize avg_slowdown 0.7, minimize queue_memory 0.3, weigh alarms 200';
SET candidates = 'fifo, hr, hnr, bsd.every(20), chain';
