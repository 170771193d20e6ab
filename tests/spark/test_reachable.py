"""A server that does not answer is reported within seconds."""

import socket
import time

import pytest

from penstock.errors import RunError
from penstock.spark.reachable import addresses_of, check_reachable
from penstock.spark.session import spark_session


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


@pytest.mark.parametrize("kind", ["sc", "spark"])
def test_a_refused_connection_is_reported_at_once(kind):
    where = f"{kind}://127.0.0.1:{free_port()}"
    start = time.monotonic()
    given = {"remote": where} if kind == "sc" else {"master": where}
    told = rf"answers at {where} \(127\.0\.0\.1:\d+: connection refused\)"
    with pytest.raises(RunError, match=told), spark_session(**given):
        pass
    assert time.monotonic() - start < 5


def test_somebody_who_never_answers_is_given_up():
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        held = []
        try:
            for _ in range(4):  # fills the backlog: the next one waits
                each = socket.socket()
                each.setblocking(False)
                each.connect_ex(address)
                held.append(each)
            with pytest.raises(RunError, match=r"no answer within 0\.2 s"):
                check_reachable(f"sc://127.0.0.1:{address[1]}", wait_s=0.2)
        finally:
            for each in held:
                each.close()


def test_one_master_of_two_is_enough():
    with socket.socket() as there:
        there.bind(("127.0.0.1", 0))
        there.listen(5)
        port = there.getsockname()[1]
        check_reachable(f"spark://127.0.0.1:{free_port()},127.0.0.1:{port}")
        check_reachable(f"sc://127.0.0.1:{port}/;use_ssl=true;token=a:b@c")


def test_other_masters_are_left_alone():
    for where in ("local[2]", "local-cluster[2,1,1024]", "yarn", "k8s://https://nowhere:1"):
        assert addresses_of(where) == []
        check_reachable(where)


@pytest.mark.parametrize("where", ["sc://", "sc://host:port", "sc://host:99999", "spark://a:1,"])
def test_what_is_no_address_is_said(where):
    with pytest.raises(RunError, match="is not an address of a Spark server"):
        check_reachable(where)
