"""Java's names of protocols and suites: which exist, which can be had, what OpenSSL calls them."""

from __future__ import annotations

import pytest

from replication.config.file.tls_limits import TlsLimits, tls_limits
from replication.config.file.tls_names import cipher_suites, newest_protocol, tls_protocols
from replication.errors import ConfigError

ALL = ("TLSv1.2", "TLSv1.3")
OLD_AND_NEW = ("TLS_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], ()),
        (["TLSv1.3", "TLSv1.2"], ALL),
        (["tlsv1.2"], ("TLSv1.2",)),
        (["TLSv1.2", "TLSv1.1", "TLSv1"], ("TLSv1.2",)),  # Kafka's default until 2.5
    ],
)
def test_protocols_before_1_2_drop_out_of_a_list(names, found):
    assert tls_protocols(names) == found


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["TLSv1.2", "TLSv1.4"], "'TLSv1.4' is not one of TLSv1.2, TLSv1.3"),
        (["TLSv1.1", "SSLv3"], "TLSv1.1, SSLv3 cannot be had, only TLSv1.2 and TLSv1.3"),
    ],
)
def test_a_protocol_that_does_not_exist_or_cannot_be_had_is_refused(names, message):
    with pytest.raises(ValueError, match=message):
        tls_protocols(names)


@pytest.mark.parametrize(
    ("name", "newest"),
    [("", ALL[1]), ("TLS", ALL[1]), ("TLSv1.3", ALL[1]), ("TLSv1.2", ALL[0])],
)
def test_the_protocol_of_a_java_context_is_the_newest_one(name, newest):
    assert newest_protocol(name) == newest


@pytest.mark.parametrize("name", ["TLSv1.1", "SSL", "QUIC"])
def test_a_java_context_without_tls_1_2_is_refused(name):
    with pytest.raises(ValueError, match=r"TLSv1\.2"):
        newest_protocol(name)


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256"),
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
    ],
)
def test_a_suite_is_known_by_javas_name(java, openssl):
    assert cipher_suites([java, "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"]) == (openssl,)


@pytest.mark.parametrize(
    "name",
    [
        "TLS_AES_512_GCM_SHA512",
        "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_RSA_WITH_RC4_128_MD5",
        "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
        "ALL:!aNULL",
        "TLS_RSA_WITH_ALL_SHA",
        "x" * 500,
    ],
)
def test_a_suite_that_does_not_exist_or_that_openssl_lacks_is_refused(name):
    with pytest.raises(ValueError, match="is not a cipher suite that OpenSSL") as refused:
        cipher_suites([name])
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize(
    ("protocols", "newest", "suites", "left"),
    [
        ("", "", "", ALL),
        ("TLSv1.3", "", "", ALL[1:]),
        ("", "TLSv1.2", "", ALL[:1]),
        ("TLSv1.2,TLSv1.3", "TLSv1.2", "", ALL[:1]),
        ("", "", OLD_AND_NEW[0], ALL[1:]),
        ("", "", OLD_AND_NEW[1], ALL[:1]),
        ("", "", ", ".join(OLD_AND_NEW), ALL),
    ],
)
def test_protocols_are_those_that_all_three_settings_leave(protocols, newest, suites, left):
    keys = ("ssl.enabled.protocols", "ssl.protocol", "ssl.cipher.suites")
    assert tls_limits(dict(zip(keys, (protocols, newest, suites), strict=True))).protocols == left


def test_settings_that_leave_no_protocol_are_refused():
    with pytest.raises(ConfigError, match="leave no protocol together"):
        tls_limits({"ssl.enabled.protocols": "TLSv1.3", "ssl.cipher.suites": OLD_AND_NEW[1]})
    with pytest.raises(ConfigError, match=r"^ssl.cipher.suites: 'NONE' is not a cipher suite"):
        tls_limits({"ssl.cipher.suites": "NONE"})


def test_what_librdkafka_cannot_be_kept_from_is_told():
    assert TlsLimits().beyond_librdkafka == TlsLimits(ALL[1:]).beyond_librdkafka == ""
    assert TlsLimits(ALL[:1]).beyond_librdkafka == "uses TLS 1.3 where a broker offers it"
    some = TlsLimits(ALL, (OLD_AND_NEW[0], "ECDHE-RSA-AES256-GCM-SHA384"))
    assert some.beyond_librdkafka == "may use any cipher suite of TLS 1.3"
    assert some.for_librdkafka == {"ssl.cipher.suites": "ECDHE-RSA-AES256-GCM-SHA384"}


def test_a_connection_that_came_to_another_suite_is_refused_by_name():
    some = TlsLimits(ALL, OLD_AND_NEW[:1])
    assert some.refusal(OLD_AND_NEW[0]) == TlsLimits().refusal("any") == ""
    assert "TLS_AES_128_GCM_SHA256, which" in some.refusal("TLS_AES_128_GCM_SHA256")
