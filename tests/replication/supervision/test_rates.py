from replication.state import Anchor
from replication.supervision.flow_figures import CounterSample, Rate, rate, sample


def test_a_rate_is_the_difference_of_two_samples_by_time():
    assert rate(CounterSample(1000, 10, 100), CounterSample(3000, 30, 500)) == Rate(10.0, 200.0)


def test_one_sample_gives_no_rate():
    assert rate(None, CounterSample(1000, 10, 100)) is None
    assert rate(CounterSample(1000, 10, 100), CounterSample(1000, 20, 200)) is None


def test_counters_that_went_back_give_no_rate():
    assert rate(CounterSample(1000, 10, 100), CounterSample(2000, 5, 100)) is None


def test_a_sample_adds_up_all_partitions():
    anchors = [Anchor("f", "t", n, "t", 1, 1, records=n, bytes=10 * n) for n in (1, 2)]
    assert sample(anchors, 7) == CounterSample(7, 3, 30)
