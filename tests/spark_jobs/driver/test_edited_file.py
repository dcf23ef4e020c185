"""What an edit of the file asks of a driver that runs by it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from support.settings.configs import a_config, a_flow

from replication.settings.file_settings import SparkSettings
from replication.settings.metrics_settings import MetricsSettings
from spark_jobs.driver.edited_file import hosted, restart_reason

BEFORE = a_config(a_flow(), a_flow("C", "B"))
NAMES = {"A->B", "C->B"}


def with_flow(**changes):
    return a_config(a_flow().model_copy(update=changes), a_flow("C", "B"))


def reason(after, before=BEFORE, names=NAMES, application="B"):
    keeps = hosted(before, after, application, names)
    return restart_reason(before, after, names, keeps), keeps


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        with_flow(lag_sla=timedelta(seconds=5)),
        with_flow(selection=a_flow(topics=("orders",)).selection),
        a_config(a_flow(), a_flow("C", "B"), a_flow("B", "D")),
        a_config(a_flow(), a_flow("C", "B"), webhook_url="http://x"),
    ],
)
def test_topics_limits_and_other_targets_need_no_other_start(after):
    assert reason(after) == ("", NAMES)


def test_connections_spark_metrics_and_flows_are_set_up_by_a_start():
    clients = a_flow("Z").clients.model_copy(update={"target_admin": {"bootstrap.servers": "z:1"}})
    more = a_config(a_flow(), a_flow("C", "B"), a_flow("D", "B"))
    spark = BEFORE.model_copy(update={"spark": SparkSettings(conf={"spark.app.name": "x"})})
    metrics = BEFORE.model_copy(update={"metrics": MetricsSettings(port=1)})
    assert reason(with_flow(clients=clients))[0] == "client settings of A->B"
    assert reason(spark)[0] == "Spark's settings"
    assert reason(metrics)[0] == "metrics.*"
    assert reason(more) == ("other flows", {"A->B", "C->B", "D->B"})


def test_a_driver_whose_flows_are_gone_has_none_left():
    assert reason(a_config(a_flow("A", "D"))) == ("other flows", set())
    one_each = a_config(a_flow(), a_flow("C", "B"), application="per-flow")
    assert reason(one_each) == ("other flows", set())
    assert reason(one_each, one_each, {"A->B"}, "A->B") == ("", {"A->B"})


def test_a_driver_that_was_started_by_hand_for_one_flow_keeps_it():
    after = with_flow(lag_sla=timedelta(seconds=5))
    assert hosted(BEFORE, after, "A->B", {"A->B"}) == {"A->B"}
