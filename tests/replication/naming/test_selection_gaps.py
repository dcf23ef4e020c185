import pytest

from replication.naming.selection import TopicSelector, gap
from replication.settings.flow_settings import Flow, FlowClients
from replication.settings.naming_settings import Selection

CLIENTS = FlowClients(source_consumer={}, source_admin={}, target_producer={}, target_admin={})


def selector(*topics: str) -> TopicSelector:
    flow = Flow(source="A", target="B", selection=Selection(topics=topics), clients=CLIENTS)
    return TopicSelector.for_flow(flow, ["A", "B"])


@pytest.mark.parametrize(
    ("patterns", "topics", "message"),
    [
        pytest.param(("orders",), ["orders"], "", id="all there"),
        pytest.param(
            ("order-.*",),
            ["orders-eu", "orders-us", "clicks"],
            "0 of 3 visible topics match order-.*; near: orders-us, orders-eu",
            id="a slip of the pen",
        ),
        pytest.param(
            ("orders", "later"),
            ["orders"],
            "no topic of the source matches later yet",
            id="one does not exist yet",
        ),
        pytest.param(
            (".*",),
            [],
            "A lists no topics: it has none, or Isthmus' user may not describe them",
            id="nothing is visible",
        ),
        pytest.param(
            (".*",),
            ["__consumer_offsets"],
            "A lists no topics: it has none, or Isthmus' user may not describe them",
            id="nothing but a broker's own",
        ),
        pytest.param((), ["orders"], "topics is empty, so no topic is selected", id="empty list"),
        pytest.param(
            ("B.sales",),
            ["B.sales"],
            "no topic is copied; B.sales: comes from B: "
            "copying it would create a replication cycle",
            id="a name rule is in the way",
        ),
    ],
)
def test_what_is_asked_for_in_vain_is_reported(patterns, topics, message):
    """BL-141."""
    assert gap(selector(*patterns), topics) == message
