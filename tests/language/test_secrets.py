"""Values of options such as passwords are in no message: of scripts, of Spark, of `penstock explain`."""

import json

import pytest
from typer.testing import CliRunner

from penstock.cli.app import app
from penstock.errors import ScriptError
from penstock.language.script import Script
from penstock.language.secrets import blanked, is_secret, keep_secret, masked
from penstock.spark.job_errors import explained

KAFKA = "CREATE STREAM s (a INT) FROM structured WITH (format = 'kafka', {});\n"
JAAS = '`kafka.sasl.jaas.config` = \'Login required username="u" password="pass-word-1";\''


@pytest.mark.parametrize(
    ("options", "secret"),
    [
        ("`kafka.ssl.keystore.password` = 'pass-word-2', x", "pass-word-2"),
        ("'api.token' 'token-3'", "token-3"),  # without =
        ("api.secret = 'secret-4' 'more'", "secret-4"),
        ("\"my.key\" = 'it''s-a-key-5', ,", "s-a-key-5"),
        (JAAS + ", 7", "pass-word-1"),
        ("api.secret = 'two\nlines-8', 7", "lines-8"),
        ("tokens = bare_9x", "bare_9x"),
        ("tokens = bare_9x, 7", "bare_9x"),
        ("`fs.azure.sas` = 'sas-10', 7", "sas-10"),
        ("url = 'jdbc:pg://me:in-url-11@host/db', 7", "in-url-11"),
        *((f"url = 'jdbc:pg://h/db?password=in-url-12{' ' * n}', 7", "url-12") for n in (80, 60, 70, 75)),
    ],
)
def test_an_error_in_a_script_shows_no_secret(options, secret):
    with pytest.raises(ScriptError) as found:
        Script.parse(KAFKA.format(options))
    assert secret not in str(found.value)


def test_the_caret_stays_below_its_place():
    with pytest.raises(ScriptError) as found:
        Script.parse("CREATE STREAM s (a INT) FROM structured WITH (api.token = 'abcdefgh', format 'x');")
    _, line, caret = str(found.value).splitlines()
    assert line[caret.index("^") :].startswith("'x'")
    assert "'********'" in line


def test_errors_of_spark_show_no_secret():
    Script.parse(KAFKA.format(JAAS))
    text = "An error occurred while calling o1.start.\n: org.x.KafkaException: no login with pass-word-1"
    assert explained(RuntimeError(text)) == "no login with ***"
    assert explained(RuntimeError("[BAD.URL] jdbc:x://h?user=u&password=pass-word-9 is wrong")) == (
        "jdbc:x://h?user=u&password=*** is wrong [BAD.URL]"
    )


def test_explain_shows_no_secret(tmp_path):
    path = tmp_path / "s.sql"
    path.write_text(KAFKA.format(JAAS) + "CREATE QUERY q AS SELECT a FROM s;")
    for options in ([], ["--json"]):
        found = CliRunner().invoke(app, ["explain", str(path), *options])
        assert found.exit_code == 0, found.output
        assert "pass-word-1" not in found.output
    streams = json.loads(CliRunner().invoke(app, ["explain", str(path), "--json"]).output)["streams"]
    assert streams["s"]["options"]["kafka.sasl.jaas.config"] == "***"


def test_what_is_no_secret_stays():
    keep_secret({"use.token": "true", "a.key": "id", "subscribe": "pass-word-7"})
    assert masked("true id pass-word-7 token = 3") == "true id pass-word-7 token = 3"
    for text in (
        "SELECT a FROM s WHERE b = 'x' AND c IN ('key', 'token')",
        "CREATE STREAM s (key STRING, token INT) FROM poisson WITH (rate = 3, key_distinct = 40, at = '10:20@x')",
        "FROM structured WITH (path = 's3a://bucket/a@b', with.key = true)",
    ):
        assert blanked(text) == masked(text) == text
    assert not is_secret("rowsPerSecond")
