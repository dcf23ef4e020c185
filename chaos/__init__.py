"""Real clusters, a real driver, continuous writers, and faults drawn from a seed.

==============  ================================================================================
``schedule``    which faults, and when: drawn from the seed
``topics``      what is copied, and which promise holds for each topic
``writers``     keep records flowing into the source
``stage``       the two clusters, each also reached through proxies
``application`` the watcher, its driver, and what is below them
``monitor``     what the target says of the copying
``faults``, ``process_faults``, ``cluster_faults``, ``network_faults``  carry a schedule out
``verdict``     the comparison at the end
``proxy``       TCP proxies that behave as badly as they are told; tests use them too
==============  ================================================================================
"""
