"""Mutation test: changes one expression at a time, and lists the changes that no test notices.

mutmut makes the changed functions (mutants) and runs the tests of each. A run of them all takes
hours, so a sample is drawn from a seed.

============  ==================================================================================
``mutants``   a mutant's name, its status, and the line that it changes
``run``       calls mutmut: makes the mutants, runs a sample until the time is over
============  ==================================================================================
"""
