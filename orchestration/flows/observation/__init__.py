"""Looks at one flow: what its clusters and this host say of it at one moment. Changes nothing.

``beat_watch``: Says how long ago drivers beat, from one look to the next, by our clock alone
``clients``: What a look asks: state topics of a target, end offsets of a source, processes of this
    host
``flow_look``: What one look at a flow found, and what follows: health, lag, what a failover would
    lose
``flow_reader``: Reads a flow's desired state, driver status, anchors and end offsets from its
    clusters
``flow_records``: Picks from a flow's stored records those of one kind, in a fixed order
``lag_watch``: Computes the lag of flows from one look to the next
``time_limit``: Runs the same work on many things at once, and waits only so long

May import: ``replication``.
"""
