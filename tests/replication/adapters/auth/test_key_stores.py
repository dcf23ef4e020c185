import shutil
import subprocess

import pytest
from support.security.certificate_stores import PASSWORD, identity, write_jks, write_pkcs12

from replication.adapters.auth.key_stores import key_store, trust_store
from replication.errors import ConfigError

ME = identity()


def pem(path, text):
    path.write_text(text)
    return path


def trusted(path, **more):
    return trust_store({"ssl.truststore.location": str(path), **more})


def owned(path, **more):
    return key_store({"ssl.keystore.location": str(path), **more})


SECRET = {"ssl.truststore.password": PASSWORD, "ssl.keystore.password": PASSWORD}


def test_bl_101_every_form_of_trust_store_gives_the_same_certificate(tmp_path):
    forms = [
        trusted(write_jks(tmp_path / "t.jks", ME, trust=True), **SECRET),
        trusted(pem(tmp_path / "t.pem", ME.authority_pem)),
        trust_store({"ssl.truststore.certificates": ME.authority_pem}),
    ]
    assert [store.certificates for store in forms] == [ME.authority_pem] * 3


def test_bl_101_every_form_of_key_store_gives_the_same_chain_and_key(tmp_path):
    forms = [
        owned(write_jks(tmp_path / "k.jks", ME, trust=False), **SECRET),
        owned(write_pkcs12(tmp_path / "k.p12", ME), **SECRET),
        owned(write_pkcs12(tmp_path / "k2.p12", ME), **SECRET, **{"ssl.keystore.type": "PKCS12"}),
        owned(pem(tmp_path / "k.pem", ME.key_pem() + ME.chain_pem)),
        owned(pem(tmp_path / "l.pem", ME.key_pem("kp") + ME.chain_pem),
              **{"ssl.key.password": "kp"}),
        key_store({"ssl.keystore.key": ME.key_pem(),
                   "ssl.keystore.certificate.chain": ME.chain_pem}),
    ]  # fmt: skip
    for store in forms:
        assert store.certificates == ME.chain_pem
        assert store.key == ME.key_pem()


def test_a_jks_key_may_have_a_password_of_its_own(tmp_path):
    path = write_jks(tmp_path / "k.jks", ME, trust=False, key_password="other")  # noqa: S106
    assert owned(path, **SECRET, **{"ssl.key.password": "other"}).key == ME.key_pem()
    with pytest.raises(ConfigError, match=r"ssl\.key\.password does not open the key"):
        owned(path, **SECRET)


@pytest.mark.integration
def test_a_trust_store_that_javas_keytool_made_is_read(tmp_path):
    if shutil.which("keytool") is None:
        pytest.skip("keytool is part of a JDK, a JRE is enough to run")
    certificate = pem(tmp_path / "root.pem", ME.authority_pem)
    for kind in ("JKS", "PKCS12"):
        path = tmp_path / f"keytool.{kind}"
        subprocess.run(
            ["keytool", "-importcert", "-noprompt", "-alias", "root", "-file", str(certificate),
             "-keystore", str(path), "-storetype", kind, "-storepass", PASSWORD],
            check=True, capture_output=True,
        )  # fmt: skip
        assert trusted(path, **SECRET).certificates == ME.authority_pem


@pytest.mark.parametrize("kind", ["jks", "p12"])
def test_bl_101_a_wrong_password_names_the_file(tmp_path, kind):
    path = tmp_path / f"k.{kind}"
    write_jks(path, ME, trust=False) if kind == "jks" else write_pkcs12(path, ME)
    with pytest.raises(ConfigError, match=rf"k\.{kind} cannot be opened: its password is wrong"):
        owned(path, **{"ssl.keystore.password": "wrong"})


def test_bl_101_pem_where_pkcs12_was_declared_is_refused_with_the_fix(tmp_path):
    path = pem(tmp_path / "k.pem", ME.key_pem() + ME.chain_pem)
    with pytest.raises(ConfigError, match=r"is PEM: set ssl\.keystore\.type = PEM"):
        owned(path, **{"ssl.keystore.type": "PKCS12"})


def test_pem_was_declared_and_it_is_something_else(tmp_path):
    path = write_pkcs12(tmp_path / "k.p12", ME)
    with pytest.raises(ConfigError, match=r"ssl\.keystore\.type is PEM, but .*k\.p12 is not PEM"):
        owned(path, **{"ssl.keystore.type": "PEM"})


def test_a_file_that_is_no_store_is_refused_with_the_accepted_forms(tmp_path):
    with pytest.raises(ConfigError, match="accepted are JKS, PKCS12 and PEM files"):
        trusted(pem(tmp_path / "x.jks", "nonsense"), **SECRET)


def test_a_missing_file_is_named_with_the_accepted_forms(tmp_path):
    with pytest.raises(ConfigError) as error:
        trusted(tmp_path / "none.jks")
    assert str(error.value) == (
        f"ssl.truststore.location: {tmp_path}/none.jks cannot be read (No such file or directory); "
        "accepted are JKS, PKCS12 and PEM files, and PEM text in ssl.truststore.certificates, "
        "ssl.keystore.key and ssl.keystore.certificate.chain"
    )


def test_an_encrypted_key_without_its_password_is_refused(tmp_path):
    path = pem(tmp_path / "k.pem", ME.key_pem("kp") + ME.chain_pem)
    with pytest.raises(ConfigError, match=r"the key is encrypted, set ssl\.key\.password"):
        owned(path)


def test_a_key_store_without_a_key_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="contains no private key"):
        owned(pem(tmp_path / "k.pem", ME.chain_pem))


def test_bl_102_without_a_store_the_systems_authorities_are_used():
    assert trust_store({}) is None
    assert key_store({}) is None
