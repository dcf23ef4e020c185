"""The faults of a run, and how they are carried out.

=================== ============================================================================
``carry_out``       each fault at its time, in a thread, with a line about its outcome
``scene``           what a fault has to do with
``process_faults``  kills, freezes, a second driver
``session_faults``  a driver that sleeps while another one takes over
``cluster_faults``  restarts, outages, new partitions, moved leaders
``network_faults``  delay, blocks, cut connections, an address that leads elsewhere
``policy_faults``   a cleanup.policy that is another one for a while
``operator_faults`` an operator who pauses or stops the flow, and resumes it
``state_faults``    state topics that lose records, or are deleted
=================== ============================================================================

May import: the product, and all of ``chaos`` but ``chaos.run``.
"""
