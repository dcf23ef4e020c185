"""The certificates and stores of clusters on this machine, read as our clients read them."""

from __future__ import annotations

import datetime as dt

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from replication.adapters.auth.key_stores import key_store, trust_store
from replication.adapters.local_secured.authority import authority_of, new_authority
from replication.adapters.local_secured.store_files import TYPES, write_key_store, write_trust_store
from replication.errors import ConfigError

AUTHORITY = new_authority("authority of tests")
WHO = AUTHORITY.issue("isthmus", ("localhost", "127.0.0.1"))
HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize("suffix", TYPES)
def test_a_trust_store_of_each_kind_holds_the_authority(tmp_path, suffix):
    file = tmp_path / f"trust{suffix}"
    write_trust_store(file, AUTHORITY.certificate, "secret")
    properties = {"ssl.truststore.location": str(file), "ssl.truststore.password": "secret"}
    found = trust_store({**properties, "ssl.truststore.type": TYPES[suffix]})
    assert found.certificates == WHO.authority_pem
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("suffix", TYPES)
def test_a_key_store_of_each_kind_holds_key_and_chain_and_needs_its_password(tmp_path, suffix):
    file = tmp_path / f"key{suffix}"
    write_key_store(file, WHO, "secret")
    properties = {"ssl.keystore.location": str(file), "ssl.keystore.type": TYPES[suffix]}
    secret = {"ssl.keystore.password": "secret", "ssl.key.password": "secret"}
    found = key_store({**properties, **secret})
    assert (found.certificates, found.key) == (WHO.chain_pem, WHO.key_pem())
    with pytest.raises(ConfigError, match=str(file)):
        key_store({**properties, **dict.fromkeys(secret, "wrong")})


def test_a_certificate_is_valid_for_its_hosts_until_a_time_that_may_have_passed():
    names = WHO.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
    WHO.certificate.verify_directly_issued_by(AUTHORITY.certificate)
    now = dt.datetime.now(dt.UTC)
    assert WHO.certificate.not_valid_after_utc > now + 1000 * HOUR
    ended = AUTHORITY.issue("ended", until=now - HOUR).certificate
    assert ended.not_valid_before_utc < ended.not_valid_after_utc < now


def test_an_authority_that_was_kept_issues_what_the_first_one_is_trusted_for():
    again = authority_of(AUTHORITY.pem())
    again.issue("later").certificate.verify_directly_issued_by(AUTHORITY.certificate)
    assert isinstance(again.key, ec.EllipticCurvePrivateKey)
