"""The core of Isthmus: what to copy, where to, and how each record arrives exactly once.

Nothing here does I/O except ``adapters``; see docs/architecture.md for the whole picture.
"""
