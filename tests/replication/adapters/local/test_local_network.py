"""Ports for local clusters."""

from concurrent.futures import ThreadPoolExecutor

from replication.adapters.local.local_network import free_ports


def test_no_two_starts_of_a_process_get_the_same_port():
    """Each listens on its ports seconds later: until then they look free."""
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(free_ports, [12] * 40))
    ports = [port for each in given for port in each]
    assert len({*ports}) == len(ports) == 480
