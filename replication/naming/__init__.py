"""Which topics and groups take part in a flow, and what a topic is called on the target.

``checked_policy``: An operator's own naming policy as the rest of Isthmus knows policies, each
    answer checked
``conflicts``: Names on the target that meet, that cannot be, or that are taken: found before
    records mix
``custom_policy``: Naming policies of the operator's own, in Python: the base class, and how one
    is found
``heartbeat_topics``: Which topics of each cluster hold heartbeats that a file's flows copy, on
    any hop
``internal_topics``: How MirrorMaker 2 calls its own topics, and which names it takes for internal
``java_regex``: Java's regular expressions as Python's, or the reason why one cannot be told in
    Python
``java_replacement``: Java's replacement text, with the names that Isthmus adds: a template, and
    what fills it
``policy``: What topics are called on the target; hops and cycles are derived from that
``selection``: Which topics and groups take part in a flow, and by which rule the others do not
``topic_map``: A file that names topics one by one: ``source-topic = target-topic``, a line each
``topic_namer``: What a flow's topics are called on the target, with what is needed to judge
    whether names meet
``topology``: What a file's flows make of its clusters: where topics go, where they merge, where
    they circle

May import: ``state``, ``settings`` and the ground (``model``, ``durations``, ``errors``). Pure.
"""

from replication.naming.custom_policy import NamingPolicy

__all__ = ["NamingPolicy"]
