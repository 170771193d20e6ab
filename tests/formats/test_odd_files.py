"""Whatever a file holds, `penstock init` gives a script that can be read, or a sentence."""

import json

import pytest

from penstock.cli.init import drafted
from penstock.errors import RunError
from penstock.language import Script

ODD = {
    "a.json": '{"ts": 1' + "0" * 400 + "}\n",
    "b.csv": "a,b\n1," + "x" * 200_000 + "\n",
    "c.json": "{}\n{}\n",
    "d.json": '{"a":' + "[" * 100_000 + "]" * 100_000 + "}\n" + '{"a": 1}\n' * 3,
    "e.json": '{"a":' * 2000 + "1" + "}" * 2000 + "\n",
    "f.log": "#separator \\xzz\n#fields\ta\tb\n#unset_field\n1\t2\n",
    "g.log": "#separator \\x09\n#fields\n#types\n",
    "select.csv": "a,b\n1,2\n",
    "from.csv": "a,b\n1,2\n",
    "h.json": json.dumps({"": 1, "a\x00b": 2, "ok": 3, "\ud800": 4}) + "\n",
    "i.json": json.dumps({f"k{i}": i for i in range(1500)}) + "\n",
    "j.json": '{"a": ' + "[" * 30 + "1" + "]" * 30 + "}\n",
    "k.csv": "ts,n\n1_700_000_000,1\n",
    "l.csv": "ts,n\n2026-13-45 99:99:99,1\n",
    "m.json": '{"n": ' + "9" * 41 + "}\n",
    "new\nline.csv": "a,b\n1,2\n",
    "order.csv": "select,group,a b\n1,2,3\n",
    "quote's.csv": "it's,b\n1,2\n",
}


@pytest.mark.parametrize("name", ODD)
def test_a_script_or_a_sentence(tmp_path, name):
    (tmp_path / name).write_text(ODD[name], errors="surrogatepass" if name == "h.json" else "strict")
    try:
        text = drafted(tmp_path / name, tmp_path / "a.sql")
    except RunError:
        return
    script = Script.parse(text)
    assert len(script.streams) == 1
    assert len(script.queries) == 2


@pytest.mark.parametrize(
    ("name", "column", "kind"),
    [("k.csv", "ts", "STRING"), ("l.csv", "ts", "STRING"), ("m.json", "n", "STRING"), ("d.json", "a", "BIGINT")],
)
def test_types_that_no_value_has_are_not_said(tmp_path, name, column, kind):
    (tmp_path / name).write_text(ODD[name])
    [stream] = Script.parse(drafted(tmp_path / name, tmp_path / "a.sql")).streams.values()
    assert stream.column(column).type.name == kind
