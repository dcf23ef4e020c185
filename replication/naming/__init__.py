"""Which topics and groups take part in a flow, and what a topic is called on the target.

``checked_policy``: Adapts an operator's naming policy to Isthmus' and checks each of its answers
``conflicts``: Conflicts of target names, found before records mix: equal, invalid or taken names
``custom_policy``: Custom naming policies in Python: the base class, and how one is loaded
``former_flows``: Flows of former aliases: without a position, though their topics were copied
    before
``heartbeat_topics``: Which topics of each cluster hold heartbeats that the flows copy, on any hop
``internal_topics``: The names of MirrorMaker 2's internal topics, and which names it considers
    internal
``java_regex``: Translates Java regular expressions to Python, or gives the reason why Python has
    none
``java_replacement``: Java's replacement text, with the variables that Isthmus adds: parsed, then
    filled in
``name_changes``: Topics that were copied under another name than the file gives now, and how each
    goes on
``policy``: Naming policies: the target name of a topic, its hops, and whether it is a cycle
``selection``: Which topics and groups belong to a flow, and which rule excludes the others
``topic_map``: Parses a map file: one line ``source-topic = target-topic`` for each topic
``topic_namer``: The target names of a flow's topics, with all that a check for conflicts needs
``topology``: The topology of a file's flows: where topics go, where they merge, and the cycles

May import: ``settings`` and what is below ``settings``. Pure.
"""

from replication.naming.custom_policy import NamingPolicy

__all__ = ["NamingPolicy"]
