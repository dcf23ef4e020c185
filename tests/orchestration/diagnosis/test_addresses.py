"""What a diagnosis says of connections, and what to do about each."""

from __future__ import annotations

from orchestration.diagnosis.addresses import DAY_MS, judge_addresses
from orchestration.diagnosis.finding import Level
from replication.client.cluster_facts import AddressFacts, Certificate, Step

NOW = 1_700_000_000_000
GOOD = AddressFacts("east-1:9092", version=(4, 3))
REFUSED = AddressFacts("east-2:9092", Step.PORT, "Connection refused")


def judged(*found, **more):
    return list(judge_addresses("cluster east", found, NOW, **more))


def ends(days):
    return Certificate("CN=east-1", "CN=ca", NOW + days * DAY_MS)


def test_one_of_two_bootstrap_addresses_is_a_warning_and_both_are_an_error():
    assert [each.level for each in judged(GOOD, REFUSED)] == [Level.WARNING, Level.OK]
    (alone,) = judged(REFUSED)
    assert (alone.level, alone.check) == (Level.ERROR, "port")
    assert alone.what == "east-2:9092: Connection refused"
    assert alone.to_do == "start the broker, or correct port, firewall, or security.protocol"


def test_an_advertised_address_that_is_not_reached_is_an_error_and_names_the_setting():
    (first, _) = judged(REFUSED, GOOD, advertised=True)
    assert first.level is Level.ERROR
    assert "advertised.listeners" in first.to_do


def test_each_step_has_its_own_advice():
    steps = {step: judged(AddressFacts("x:1", step, "no"))[0].to_do for step in Step}
    assert "name resolution" in steps[Step.DNS]
    assert "ssl.truststore.location" in steps[Step.TLS]
    assert "sasl.jaas.config" in steps[Step.LOGIN]


def test_a_certificate_for_another_host_is_named_and_so_is_what_it_is_for():
    why = "Hostname mismatch, certificate is not valid for '10.0.0.1'."
    (found,) = judged(AddressFacts("10.0.0.1:9093", Step.TLS, why, (), (ends(90),)))
    assert "it presents CN=east-1, issued by CN=ca, valid until 2024-02-12" in found.what
    assert found.to_do.startswith("use a name of the certificate in bootstrap.servers")


def test_an_expired_certificate_is_to_be_renewed():
    (found,) = judged(AddressFacts("x:1", Step.TLS, "certificate has expired", (), (ends(-1),)))
    assert found.to_do == "renew the broker's certificate"


def test_a_certificate_that_ends_within_30_days_is_a_warning():
    def level(days):
        return judged(AddressFacts("x:1", certificates=(ends(900), ends(days))))[-1]

    assert level(30).level is Level.OK
    assert level(29).level is Level.WARNING
    assert "29 days from now" in level(29).what
