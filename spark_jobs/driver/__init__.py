"""The driver's loop: leases, streaming queries, background tasks, states of flows.

``background_tasks``: What a driver does for a flow besides copying: heartbeats, group offsets,
    configs, and so on
``driver_loop``: The loop that drives all flows of one application
``epoch_stall``: How long a query has been in one and the same epoch
``fencing_probe``: Ask a flow's target whether it fences, over connections of its own
``flow_driver``: One flow of a driver: its plan, its query and its beat, a tick at a time
``flow_lease``: A driver's hold on a flow: the lease, the beat that keeps it, and what people ask
    for
``flow_query``: One flow's streaming query: started, looked at, ended
``flow_states``: What a flow's driver does next, and what it says of itself
``task_list``: The duties of a flow, in one place

May import: all other rooms of ``spark_jobs``.
"""
