"""Every function once or more, with what it gives on one row: written by hand, or computed in Python."""

import base64
import hashlib
import math
import zlib
from datetime import UTC, date, datetime

T = "abcab"
TS = datetime(2026, 1, 31, 12, 34, 56, 789_000, UTC)
DAY = date(2026, 2, 3)
ROW = {
    "n": ("BIGINT", 10),
    "i": ("INT", -7),
    "x": ("DOUBLE", 2.5),
    "nan": ("DOUBLE", math.nan),
    "t": ("STRING", T),
    "u": ("STRING", "  hi "),
    "none": ("STRING", None),
    "js": ("STRING", '{"a": {"b": 5}, "c": [1, 2]}'),
    "url": ("STRING", "https://ex.org:8080/p?q=1&r=2"),
    "at": ("STRING", "2026-01-31 12:34:56"),
    "ts": ("TIMESTAMP", TS),
    "day": ("DATE", DAY),
    "raw": ("BINARY", b"abc"),
    "id": ("STRUCT<`host`:STRING,`port`:INT>", {"host": "h", "port": 80}),
    "ns": ("ARRAY<INT>", [3, 1, 2, 3]),
    "tags": ("ARRAY<STRING>", ["b", None, "a"]),
    "m": ("MAP<STRING,INT>", {"k": 3}),
}
SECONDS = int(TS.timestamp())

SAMPLES = [
    # Strings
    ("upper(t)", "ABCAB"), ("lower('Ab')", "ab"), ("initcap('one TWO')", "One Two"), ("reverse(t)", "bacba"),
    ("length(u)", 5), ("char_length(u)", 5), ("trim(u)", "hi"), ("trim(BOTH 'ab' FROM t)", "c"),
    ("trim('ab', t)", "c"), ("ltrim(u)", "hi "), ("ltrim('ab', t)", "cab"), ("rtrim(u)", "  hi"),
    ("rtrim('ab', t)", "abc"), ("lpad(t, 7, '*')", "**abcab"), ("lpad(t, 7)", "  abcab"),
    ("lpad(t, 2, '*')", "ab"),
    ("rpad(t, 7, '*')", "abcab**"), ("left(t, 2)", "ab"), ("right(t, 2)", "ab"), ("substring(t, 2)", "bcab"),
    ("substring(t, 2, 2)", "bc"), ("substring(t FROM 2 FOR 2)", "bc"), ("substr(t, -2)", "ab"),
    ("substring_index(t, 'b', 1)", "a"), ("substring_index('a.b.c', '.', -1)", "c"),
    ("replace(t, 'ab', 'x')", "xcx"),
    ("replace(t, 'ab')", "c"), ("translate(t, 'ab', 'xy')", "xycxy"), ("repeat('ab', 3)", "ababab"),
    ("concat(t, '-', 'x')", "abcab-x"), ("t || '-x'", "abcab-x"), ("concat(t, none)", None),
    ("concat_ws('-', t, none, 'x')", "abcab-x"), ("instr(t, 'b')", 2), ("instr(t, 'z')", 0), ("locate('b', t)", 2),
    ("locate('b', t, 3)", 5), ("startswith(t, 'ab')", True), ("endswith(t, 'c')", False),
    ("contains(t, 'ca')", True),
    ("split('a1b22c', '[0-9]+')", ["a", "b", "c"]), ("split('a,b,c', ',', 2)", ["a", "b,c"]),
    ("split('a,b', ',')[1]", "b"), ("split_part('a.b.c', '.', 2)", "b"), ("split_part('a.b.c', '.', 9)", ""),
    ("regexp_replace('a1b22', '[0-9]+', '#')", "a#b#"), ("regexp_extract('a1b22', '([a-z])([0-9]+)', 2)", "1"),
    ("regexp_extract('a1b22', '([a-z])([0-9]+)')", "a"), ("regexp_like(t, 'c.b')", True), ("t RLIKE '^b'", False),
    ("levenshtein('kitten', 'sitting')", 3), ("ascii('a')", 97), ("t LIKE 'a%'", True), ("t ILIKE 'A%'", True),
    # JSON, URLs, hashes and codes
    ("get_json_object(js, '$.a.b')", "5"), ("get_json_object(js, '$.c[1]')", "2"),
    ("get_json_object(js, '$.z')", None),
    ("json_array_length('[1, 2]')", 2), ("to_json(id)", '{"host":"h","port":80}'),
    ("parse_url(url, 'HOST')", "ex.org"),
    ("parse_url(url, 'QUERY', 'r')", "2"), ("try_parse_url(url, 'PATH')", "/p"),
    ("try_parse_url('a b:', 'HOST')", None),
    ("md5(t)", hashlib.md5(T.encode()).hexdigest()), ("md5(raw)", hashlib.md5(b"abc").hexdigest()),
    ("sha1(t)", hashlib.sha1(T.encode()).hexdigest()), ("sha(t)", hashlib.sha1(T.encode()).hexdigest()),
    ("sha2(t, 256)", hashlib.sha256(T.encode()).hexdigest()),
    ("sha2(t, 512)", hashlib.sha512(T.encode()).hexdigest()),
    ("crc32(t)", zlib.crc32(T.encode())), ("hash('ABC')", -757602832), ("hash('ABC', 'DEF')", 599895104),
    ("xxhash64('ABC')", 4105715581806190027), ("xxhash64('ABC', 'DEF')", 3233247871021311208),  # Spark's manual
    ("base64(t)", base64.b64encode(T.encode()).decode()), ("unbase64('YWJj')", b"abc"), ("hex(n)", "A"),
    ("hex(t)", T.encode().hex().upper()), ("unhex('616263')", b"abc"),
    # Numbers
    ("abs(i)", 7), ("sign(i)", -1.0), ("signum(x)", 1.0), ("round(x)", 3.0), ("round(1.25, 1)", 1.3),
    ("bround(x)", 2.0), ("floor(-1.5)", -2), ("ceil(1.2)", 2), ("ceiling(1.2)", 2), ("sqrt(6.25)", 2.5),
    ("cbrt(27)", 3.0), ("exp(1)", math.e), ("ln(x)", math.log(2.5)), ("log(x)", math.log(2.5)),
    ("log(2, 8)", 3.0), ("log2(8)", 3.0), ("log10(1000)", 3.0), ("log1p(x)", math.log(3.5)), ("pow(x, 2)", 6.25),
    ("power(2, 10)", 1024.0), ("pmod(i, 5)", 3), ("mod(i, 5)", -2), ("i % 5", -2), ("div(i, 5)", -1),
    ("i DIV 5", -1),
    ("try_divide(n, 0)", None), ("try_divide(n, 4)", 2.5), ("bit_count(7)", 3), ("isnan(nan)", True),
    ("isnan(x)", False), ("nanvl(nan, x)", 2.5), ("sin(x)", math.sin(2.5)), ("cos(x)", math.cos(2.5)),
    ("tan(x)", math.tan(2.5)), ("asin(0.5)", math.asin(0.5)), ("acos(0.5)", math.acos(0.5)),
    ("atan(x)", math.atan(2.5)), ("atan2(x, 2)", math.atan2(2.5, 2)), ("sinh(x)", math.sinh(2.5)),
    ("cosh(x)", math.cosh(2.5)), ("tanh(x)", math.tanh(2.5)), ("radians(180)", math.pi),
    ("degrees(x)", math.degrees(2.5)),
    # Times
    ("year(ts)", 2026), ("quarter(day)", 1), ("month(day)", 2), ("weekofyear(day)", 6), ("day(day)", 3),
    ("dayofmonth(ts)", 31), ("dayofweek(day)", 3), ("weekday(day)", 1), ("dayofyear(day)", 34), ("hour(ts)", 12),
    ("minute(ts)", 34), ("second(ts)", 56), ("date_add(day, 3)", date(2026, 2, 6)),
    ("date_sub(day, 3)", date(2026, 1, 31)),
    ("datediff(day, ts)", 3), ("add_months(day, 2)", date(2026, 4, 3)), ("last_day(day)", date(2026, 2, 28)),
    ("months_between(day, date_sub(day, 31))", 1.0), ("date_format(ts, 'yyyy-MM-dd HH:mm')", "2026-01-31 12:34"),
    ("date_format(day, 'dd.MM.yy')", "03.02.26"), ("to_date(at)", date(2026, 1, 31)),
    ("to_date('03.02.2026', 'dd.MM.yyyy')", DAY), ("to_timestamp(at)", TS.replace(microsecond=0)),
    ("to_timestamp('31/01/2026 12:34:56', 'dd/MM/yyyy HH:mm:ss')", TS.replace(microsecond=0)),
    ("try_to_timestamp('soon')", None), ("unix_timestamp(ts)", SECONDS), ("unix_timestamp(at)", SECONDS),
    ("unix_timestamp('31.01.2026', 'dd.MM.yyyy')", SECONDS - SECONDS % 86400),
    ("from_unixtime(0)", "1970-01-01 00:00:00"),
    ("from_unixtime(86400, 'yyyy/MM/dd')", "1970/01/02"),
    ("timestamp_seconds(n)", datetime(1970, 1, 1, 0, 0, 10, 0, UTC)),
    ("timestamp_millis(n)", datetime(1970, 1, 1, 0, 0, 0, 10_000, UTC)),
    ("timestamp_micros(n)", datetime(1970, 1, 1, 0, 0, 0, 10, UTC)), ("unix_seconds(ts)", SECONDS),
    ("unix_millis(ts)", SECONDS * 1000 + 789), ("unix_micros(ts)", SECONDS * 1_000_000 + 789_000),
    ("unix_date(day)", (DAY - date(1970, 1, 1)).days), ("EXTRACT(HOUR FROM ts)", 12),
    ("date_trunc('HOUR', ts)", TS.replace(minute=0, second=0, microsecond=0)),
    ("trunc(day, 'MONTH')", date(2026, 2, 1)),
    ("ts - INTERVAL 90 MINUTES", datetime(2026, 1, 31, 11, 4, 56, 789_000, UTC)),
    # Arrays, maps and structs
    ("size(ns)", 4), ("size(m)", 1), ("cardinality(ns)", 4), ("get(ns, 0)", 3), ("get(ns, 9)", None), ("ns[1]", 1),
    ("element_at(ns, 2)", 1), ("element_at(m, 'k')", 3), ("try_element_at(ns, 9)", None), ("m['z']", None),
    ("id.port", 80), ("array_contains(ns, 2)", True), ("array_position(ns, 2)", 3),
    ("arrays_overlap(ns, ns)", True),
    ("array_join(tags, '-')", "b-a"), ("array_join(tags, '-', '?')", "b-?-a"), ("array_min(ns)", 1),
    ("array_max(ns)", 3),
    ("array_distinct(ns)", [3, 1, 2]), ("sort_array(ns)", [1, 2, 3, 3]), ("sort_array(ns, FALSE)", [3, 3, 2, 1]),
    ("filter(ns, v -> v > 2)", [3, 3]), ("exists(ns, v -> v > 2)", True), ("exists(ns, v -> v > n)", False),
    ("forall(ns, v -> v > 2)", False), ("map_keys(m)", ["k"]), ("map_values(m)", [3]),
    ("map_contains_key(m, 'z')", False),
    # Of any type
    ("coalesce(none, t)", T), ("nvl(none, 'x')", "x"), ("ifnull(none, 'x')", "x"), ("nullif(i, -7)", None),
    ("greatest(i, n)", 10), ("least(i, n)", -7), ("isnull(none)", True), ("isnotnull(none)", False),
    ("IF(i > 0, 1, 2)", 2),
    ("coalesce(filter(ns, v -> v > 9), ns)", []), ("CAST(id AS STRING)", "{h, 80}"),
]  # fmt: skip
