"""Spark's settings of an application with transforms."""

from __future__ import annotations

import pytest
from support.settings.configs import a_flow

from replication.settings.file_settings import SparkSettings
from replication.settings.transform_settings import SettingText, TopicTransform
from spark_jobs.transform.application_conf import application_conf

WRITTEN = SettingText("x", "f:1: k")
OWN = {"spark.driver.extraJavaOptions": "-Duser.language=en"}


def java_options(transform: TopicTransform, conf: dict[str, str]) -> str:
    flow = a_flow().model_copy(update={"transforms": (transform,)})
    found = application_conf(SparkSettings(conf=conf), [a_flow(), flow])
    return found.get("spark.driver.extraJavaOptions", "")


@pytest.mark.parametrize("conf", [{}, OWN])
def test_only_sql_that_runs_in_the_jvm_has_both_compilers_and_a_users_options_come_last(conf):
    own = conf.get("spark.driver.extraJavaOptions", "")
    assert java_options(TopicTransform("t", function=WRITTEN), conf) == own
    found = java_options(TopicTransform("t", select=WRITTEN), conf)
    assert found.startswith("-XX:TieredStopAtLevel=4")
    assert found.endswith(own or "m")


def test_an_application_has_slots_for_units_and_transforms():
    flow = a_flow().model_copy(update={"transforms": (TopicTransform("t", where=WRITTEN),)})
    single = application_conf(SparkSettings(master="spark://x:1"), [a_flow()])
    both = application_conf(SparkSettings(master="spark://x:1"), [a_flow(), flow])
    assert int(both["spark.cores.max"]) == 3 * int(single["spark.cores.max"])
