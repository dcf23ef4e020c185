"""Ports for local clusters."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from replication.adapters.local import local_network
from replication.adapters.local.local_network import free_ports

OTHER = """
import sys
from replication.adapters.local import local_network
local_network._PORTS = range({0}, {0} + 40)
print(*local_network.free_ports(10), flush=True)
sys.stdin.read()
"""


def test_no_two_starts_of_a_process_get_the_same_port():
    """Each listens on its ports seconds later: until then they look free."""
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(free_ports, [12] * 40))
    ports = [port for each in given for port in each]
    assert len({*ports}) == len(ports) == 480


def test_another_process_does_not_get_them_either(monkeypatch):
    first = 19_000
    monkeypatch.setattr(local_network, "_PORTS", range(first, first + 40))
    monkeypatch.setattr(local_network, "_given", {})
    with subprocess.Popen(
        [sys.executable, "-c", OTHER.format(first)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        theirs = {int(each) for each in other.stdout.readline().split()}
        ours = {*free_ports(5), *free_ports(5)}
        other.stdin.close()
    assert len(theirs) == len(ours) == 10
    assert not theirs & ours
    for each in local_network._given.values():
        os.close(each)
