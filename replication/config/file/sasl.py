"""SASL mechanisms that clients may log in with, and the packages that some of them need."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SASL_MECHANISMS = (
    *("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    *("OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
)

# Mechanisms that need more than Isthmus' own dependencies: the module, and what installs it.
_PACKAGES = {
    "AWS_MSK_IAM": ("aws_msk_iam_sasl_signer", "pip install 'isthmus[msk]'"),
    "GSSAPI": ("gssapi", "pip install 'isthmus[kerberos]'"),
}
_HANDLER = "sasl.login.callback.handler.class"
_IAM_HANDLER = "IAMOAuthBearerLoginCallbackHandler"  # of software.amazon.msk.auth.iam


def tokens_of_iam(mechanism: str, settings: Mapping[str, str]) -> bool:
    """Say whether a login comes with a token that IAM credentials sign.

    MSK takes such a token, as OAUTHBEARER, at the port where it takes Java's AWS_MSK_IAM.
    """
    return mechanism == "AWS_MSK_IAM" or (
        mechanism == "OAUTHBEARER"
        and settings.get(_HANDLER, "").strip().rpartition(".")[2] == _IAM_HANDLER
    )


def missing_package(mechanism: str) -> str:
    """Return what to install for this mechanism; empty: nothing."""
    module, install = _PACKAGES.get(mechanism, ("", ""))
    if not module or find_spec(module):
        return ""
    return f"needs a package that is not installed: {install}"
