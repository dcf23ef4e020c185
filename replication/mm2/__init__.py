"""What MirrorMaker 2 stores on clusters, read and written in its own bytes.

wire      heartbeats, checkpoints, offset syncs
progress  its source connector's positions in Connect's offsets topic
"""
