"""Names, statuses and diffs as mutmut prints them."""

from __future__ import annotations

import pytest

from mutation.mutants import MutatedFunction, changed_line, sample, statuses, summary, untested

METHOD = "replication.adapters.wire.connection.channel.xǁChannelǁ_lost__mutmut_2"
FUNCTION = "replication.records.batch.x__read__mutmut_13"
SOURCE = '''
class Other:
    def _lost(self): ...


class Channel:
    @property
    def _lost(self):
        """Return something."""
        return 1


async def _lost(): ...
'''
DIFF = """\
# replication.adapters.wire.connection.channel.xǁChannelǁ_lost__mutmut_2: survived
--- replication/adapters/wire/connection/channel.py
+++ replication/adapters/wire/connection/channel.py
@@ -2,3 +2,3 @@
 def _lost(self):
     \"\"\"Return something.\"\"\"
-    return 1
+    return 2"""


def test_a_name_says_which_function_is_changed():
    place = MutatedFunction.of(METHOD)
    assert place == MutatedFunction(
        "replication.adapters.wire.connection.channel", "Channel", "_lost"
    )
    assert place.path == "replication/adapters/wire/connection/channel.py"
    assert MutatedFunction.of(FUNCTION) == MutatedFunction(
        "replication.records.batch", None, "_read"
    )
    with pytest.raises(ValueError, match="walk is no name of a mutant"):
        MutatedFunction.of("replication.records.batch.walk")


def test_the_line_of_a_change_is_that_of_the_file():
    first = MutatedFunction.of(METHOD).first_line(SOURCE)
    assert first == 7  # the decorator
    assert SOURCE.splitlines()[changed_line(DIFF.splitlines(), first) - 1].strip() == "return 1"
    assert MutatedFunction("m", "Other", "_lost").first_line(SOURCE) == 3


def test_a_function_of_no_class_is_found_behind_methods_of_its_name():
    line = MutatedFunction("m", None, "_lost").first_line(SOURCE)
    assert SOURCE.splitlines()[line - 1] == "async def _lost(): ..."


def test_results_are_read_whatever_else_is_printed():
    printed = f"Results\n    {METHOD}: survived\n    {FUNCTION}: no tests\n\n2 mutants"
    assert statuses(printed) == {METHOD: "survived", FUNCTION: "no tests"}


def test_a_seed_draws_the_same_mutants_whatever_their_order():
    names = [f"m.x_f__mutmut_{number}" for number in range(100)]
    drawn = sample(names, 10, 7)
    assert sample(reversed(names), 10, 7) == drawn
    assert len(set(drawn)) == 10
    assert sample(names, 10, 8) != drawn
    assert sorted(sample(names, 1000, 7)) == sorted(names)


def test_what_became_of_a_sample_is_one_line_and_functions_without_tests_are_counted():
    other = METHOD.replace("_2", "_9")
    drawn = {METHOD: "no tests", other: "no tests", FUNCTION: "killed"}
    assert summary(drawn) == "3 mutants: 2 no tests, 1 killed"
    assert untested(drawn) == [
        "replication/adapters/wire/connection/channel.py: Channel._lost, 2 mutants"
    ]
