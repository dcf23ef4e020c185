"""How the tools are configured."""

from __future__ import annotations

import re

import pytest

from bench.tools.tool_config import ISTHMUS, MM2, properties


@pytest.mark.parametrize("tool", [ISTHMUS, MM2], ids=lambda tool: tool.name)
def test_a_tool_copies_its_own_topics_only(tool):
    pattern = properties(tool, "s:1", "t:2")["a->b.topics"]
    taken = [name for name in ("isthmus", "mm2") if re.fullmatch(pattern, f"bench-{name}-1-1k")]
    assert taken == [tool.name]


@pytest.mark.parametrize("tool", [ISTHMUS, MM2], ids=lambda tool: tool.name)
def test_both_tools_get_the_same_clusters_and_flow(tool):
    found = properties(tool, "s:1", "t:2")
    assert found["a.bootstrap.servers"] == "s:1"
    assert found["b.bootstrap.servers"] == "t:2"
    assert found["a->b.enabled"] == "true"
