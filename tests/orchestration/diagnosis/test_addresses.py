"""What a diagnosis says of connections, and what to do about each."""

from __future__ import annotations

from orchestration.diagnosis.addresses import DAY_MS, judge_addresses
from orchestration.diagnosis.finding import FindingLevel
from replication.client.cluster_facts import AddressFacts, Certificate, ConnectionStep

NOW = 1_700_000_000_000
GOOD = AddressFacts("east-1:9092", version=(4, 3))
REFUSED = AddressFacts("east-2:9092", ConnectionStep.PORT, "Connection refused")


def judged(*found, **more):
    return list(judge_addresses("cluster east", found, NOW, **more))


def ends(days):
    return Certificate("CN=east-1", "CN=ca", NOW + days * DAY_MS)


def test_one_of_two_bootstrap_addresses_is_a_warning_and_both_are_an_error():
    assert [each.level for each in judged(GOOD, REFUSED)] == [FindingLevel.WARNING, FindingLevel.OK]
    (alone,) = judged(REFUSED)
    assert (alone.level, alone.check) == (FindingLevel.ERROR, "port")
    assert alone.what == "east-2:9092: Connection refused"
    assert alone.to_do == "start the broker, or correct port, firewall, or security.protocol"


def test_an_advertised_address_that_is_not_reached_is_an_error_and_names_the_setting():
    (first, _) = judged(REFUSED, GOOD, advertised=True)
    assert first.level is FindingLevel.ERROR
    assert "advertised.listeners" in first.to_do


def test_each_step_has_its_own_advice():
    steps = {step: judged(AddressFacts("x:1", step, "no"))[0].to_do for step in ConnectionStep}
    assert "name resolution" in steps[ConnectionStep.DNS]
    assert "ssl.truststore.location" in steps[ConnectionStep.TLS]
    assert "sasl.jaas.config" in steps[ConnectionStep.LOGIN]


def test_a_certificate_for_another_host_is_named_and_so_is_what_it_is_for():
    why = "Hostname mismatch, certificate is not valid for '10.0.0.1'."
    (found,) = judged(AddressFacts("10.0.0.1:9093", ConnectionStep.TLS, why, (), (ends(90),)))
    assert "it presents CN=east-1, issued by CN=ca, valid until 2024-02-12" in found.what
    assert found.to_do.startswith("use a name of the certificate in bootstrap.servers")


def test_an_expired_certificate_is_to_be_renewed():
    (found,) = judged(
        AddressFacts("x:1", ConnectionStep.TLS, "certificate has expired", (), (ends(-1),))
    )
    assert found.to_do == "renew the broker's certificate"


def test_a_certificate_that_ends_within_30_days_is_a_warning():
    def level(days):
        return judged(AddressFacts("x:1", certificates=(ends(900), ends(days))))[-1]

    assert level(30).level is FindingLevel.OK
    assert level(29).level is FindingLevel.WARNING
    assert "29 days from now" in level(29).what
