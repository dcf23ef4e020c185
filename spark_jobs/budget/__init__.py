"""How many units a flow has and how many bytes a second it copies, if less than the file says why.

``disk_limit``: Decides how many bytes a second a flow may copy while a disk of its target fills
``disk_watch``: Looks at the disks of a flow's target every minute, beside the driver's loop
``throttle_notice``: Says what quotas of the clusters' brokers cost a flow
``unit_count``: Decides how many units a flow has between ``tasks.min`` and ``tasks.max``, by their
    load

The units themselves back off while their target throttles: ``replication/copier/fetch/``.

May import: ``replication``.
"""
