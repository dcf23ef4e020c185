"""A Kerberos realm of its own: Debian's KDC on a free port, and the key tables of principals."""

from __future__ import annotations

import os
import subprocess
import time
from typing import TYPE_CHECKING

from replication.adapters.local.local_kafka import LocalCluster
from replication.adapters.local.local_network import free_ports

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REALM = "ISTHMUS.TEST"
_LOGIN = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
_CLIENTS = """
[libdefaults]
  default_realm = {realm}
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  udp_preference_limit = 1
  kdc_timeout = 1s
  max_retries = 1
[realms]
  {realm} = {{
    kdc = 127.0.0.1:{port}
  }}
[domain_realm]
  localhost = {realm}
"""
_SERVER = """
[realms]
  {realm} = {{
    database_name = {folder}/principals
    key_stash_file = {folder}/stash
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
  }}
"""


class Kdc:
    """A key distribution centre. Clients find it by ``environment``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (port,) = free_ports(1)
        where = {"realm": REALM, "port": port, "folder": folder}
        (folder / "krb5.conf").write_text(_CLIENTS.format(**where))
        (folder / "kdc.conf").write_text(_SERVER.format(**where))
        self._run("kdb5_util", "create", "-s", "-P", "of-a-test", "-r", REALM)
        self.start()

    @property
    def environment(self) -> dict[str, str]:
        return {"KRB5_CONFIG": str(self.folder / "krb5.conf")}

    def start(self) -> None:
        """Start it; return when it answers."""
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            ["krb5kdc", "-n", "-P", str(ready)], env=self._environment, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 20
        while not ready.exists():
            assert time.monotonic() < deadline, "the KDC does not start"
            time.sleep(0.02)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)

    def keytab(self, principal: str) -> Path:
        """Return the key table of a principal, which is created."""
        file = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-q", f"addprinc -randkey {principal}")
        self._run("kadmin.local", "-q", f"ktadd -k {file} {principal}")
        return file

    def login(self, principal: str, keytab: Path | None = None) -> str:
        """Return a JAAS line, for a broker and for a client."""
        file = keytab or self.keytab(principal)
        return f'{_LOGIN} keyTab="{file}" principal="{principal}@{REALM}";'

    @property
    def _environment(self) -> dict[str, str]:
        own = {"KRB5_KDC_PROFILE": str(self.folder / "kdc.conf")}
        return {**os.environ, **self.environment, **own}

    def _run(self, *command: str) -> None:
        subprocess.run(command, env=self._environment, check=True, stdout=subprocess.DEVNULL)


class KerberosCluster(LocalCluster):
    """One broker. Whoever comes over plain text may do all; at ``secured`` they show a ticket."""

    def begin(self, kdc: Kdc, line: str) -> KerberosCluster:
        self.kdc = kdc
        self._create()
        (node,) = self._nodes
        (port,) = free_ports(1)
        self.secured = f"localhost:{port}"
        here = f"PLAINTEXT://127.0.0.1:{node.port},SASL_PLAINTEXT"
        self.properties = {
            "listeners": f"{here}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{node.controller_port}",
            "advertised.listeners": f"{here}://{self.secured}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            "listener.name.sasl_plaintext.gssapi.sasl.jaas.config": line,
            "log.retention.ms": "-1",
        }
        self.start()
        return self

    def _system_properties(self) -> Mapping[str, str]:
        return {"java.security.krb5.conf": self.kdc.environment["KRB5_CONFIG"]}

    def login(self, line: str, **more: str) -> dict[str, str]:
        """Return Java properties of a client."""
        return {
            "bootstrap.servers": self.secured,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.jaas.config": line,
            "sasl.kerberos.service.name": "kafka",
            **more,
        }
