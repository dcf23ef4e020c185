"""Tokens for Amazon MSK: a request that IAM credentials sign, which its brokers take as a token.

Options are those of ``IAMLoginModule`` in Amazon's library for Java, aws-msk-iam-auth. The
packages are optional: they are imported where a token is wanted.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from replication.errors import ClusterUnavailable, ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HOST = re.compile(r"\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?(?=[:,]|$)")
_SESSION = "isthmus"
_TIMEOUT_S = 5.0
_OTHERS_FAULT = 500  # an HTTP status from here on is about the service, not about us


@dataclass(frozen=True, slots=True)
class IamLogin:
    """Whose credentials sign, and for which region; empty: as AWS' tools find it."""

    region: str = ""
    profile: str = ""
    role: str = ""  # an ARN; it is assumed with the profile's or the default credentials
    session_name: str = _SESSION
    external_id: str = field(default="", repr=False)
    sts_region: str = ""
    keys: tuple[str, str, str] = field(default=("", "", ""), repr=False)  # that assume the role

    @classmethod
    def of(cls, options: Mapping[str, str], servers: str) -> IamLogin:
        """Return what a JAAS line's options say; the region stands in MSK's host names."""
        found = _HOST.search(servers)
        return cls(
            region=found[1] if found else "",
            profile=options.get("awsProfileName", ""),
            role=options.get("awsRoleArn", ""),
            session_name=options.get("awsRoleSessionName", "") or _SESSION,
            external_id=options.get("awsRoleExternalId", ""),
            sts_region=options.get("awsStsRegion", ""),
            keys=(
                options.get("awsRoleAccessKeyId", ""),
                options.get("awsRoleSecretAccessKey", ""),
                options.get("awsRoleSessionToken", ""),
            ),
        )

    def fetch(self) -> tuple[str, float]:
        """Return a token and its life in s. Raises ClusterUnavailable or ConfigError.

        Asks AWS only where the credentials come from it: a role, an instance, a container.
        """
        import botocore.exceptions as aws  # noqa: PLC0415 -- as in the module's docstring

        try:
            return self._signed()
        except aws.ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            later = status >= _OTHERS_FAULT or "Throttl" in str(error)
            raise (ClusterUnavailable if later else ConfigError)(f"IAM: {error}") from None
        except (
            aws.HTTPClientError,
            aws.ConnectionError,
            aws.MetadataRetrievalError,
            aws.CredentialRetrievalError,
        ) as error:
            raise ClusterUnavailable(f"IAM: {error}") from None
        except aws.BotoCoreError as error:  # such as a profile that is not there
            raise ConfigError(f"IAM: {error}") from None

    def _signed(self) -> tuple[str, float]:
        from aws_msk_iam_sasl_signer import MSKAuthTokenProvider as signer  # noqa: N813, PLC0415
        from botocore.credentials import CredentialProvider  # noqa: PLC0415

        credentials = self._credentials()

        class Found(CredentialProvider):  # type: ignore[misc]  # it has no types
            def load(self) -> Any:
                return credentials

        token, ends_ms = signer.generate_auth_token_from_credentials_provider(
            self._region(), Found()
        )
        return token, ends_ms / 1000 - time.time()

    def _credentials(self) -> Any:
        """Return credentials as of now: a signature must not mix those of two moments."""
        session = self._session()
        if self.role:
            return self._assumed(session)
        found = session.get_credentials()
        if found is None:
            raise ConfigError(
                "IAM: no AWS credentials are found: set AWS_ACCESS_KEY_ID and "
                "AWS_SECRET_ACCESS_KEY, awsProfileName or awsRoleArn in sasl.jaas.config, or a "
                "role of the instance or container"
            )
        return found.get_frozen_credentials()

    def _assumed(self, session: Any) -> Any:
        from botocore.config import Config  # noqa: PLC0415
        from botocore.credentials import Credentials  # noqa: PLC0415

        key, secret, token = (each or None for each in self.keys)
        limits = Config(
            connect_timeout=_TIMEOUT_S, read_timeout=_TIMEOUT_S, retries={"total_max_attempts": 1}
        )
        sts = session.client(
            "sts",
            region_name=self.sts_region or self._region(),
            config=limits,
            aws_access_key_id=key,
            aws_secret_access_key=secret,
            aws_session_token=token,
        )
        more = {"ExternalId": self.external_id} if self.external_id else {}
        answer = sts.assume_role(RoleArn=self.role, RoleSessionName=self.session_name, **more)
        found = answer["Credentials"]
        return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])

    def _region(self) -> str:
        """Return the cluster's region: by its host name, else the named profile's or AWS_REGION."""
        session = self._session()
        named = session._session.get_scoped_config().get("region") if self.profile else ""
        found = self.region or named or os.environ.get("AWS_REGION") or session.region_name
        if not found:
            raise ConfigError(
                "IAM: the cluster's AWS region is unknown: its host name does not say it; set "
                "AWS_REGION, or a region in the profile that awsProfileName names"
            )
        return str(found)

    def _session(self) -> Any:
        import boto3  # noqa: PLC0415 -- as in the module's docstring

        return boto3.Session(profile_name=self.profile or None)
