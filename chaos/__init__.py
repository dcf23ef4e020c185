"""Chaos test: real clusters, a real driver, continuous writers, faults drawn from a seed.

==============  ================================================================================
``__main__``     the command ``python -m chaos``
``run``          one run: starts all, runs the faults, heals, drains, compares
``schedule``     which faults, and when: drawn from the seed
``fault_clock``  waits with them while nothing is copied for long
``topics``       what is written into the source, and what must become of it
``stage``        the two clusters, each also reached through proxies
``application``  the watcher, its driver, and their child processes
``monitor``      anchors and status on the target
``faults``       carry a schedule out
``done``         what they did to topics, and which answer of an operator it explains
``operator``     answers the questions of halted partitions
``verdict``      the comparison at the end
``proxy``        TCP proxies with delay, loss and outages; tests use them too
==============  ================================================================================

May import: the product.
"""
