"""Kafka's client connection names: inherited, without effect, refused or secret; masks secrets."""

from __future__ import annotations

import re


def names(text: str, prefix: str = "") -> frozenset[str]:
    """Return the words of ``text``, each with the prefix."""
    return frozenset(prefix + name for name in text.split())


_OAUTH = "sasl.oauthbearer."
_ASSERTION = names(
    "algorithm claim.aud claim.exp.seconds claim.iss claim.jti.include claim.nbf.seconds "
    "claim.sub file private.key.file private.key.passphrase template.file",
    f"{_OAUTH}assertion.",
)

# What MirrorMaker 2 calls client connection names, MirrorClientConfig.CLIENT_CONFIG_DEF: only
# these are inherited (see precedence).
CONNECTION = (
    frozenset({"bootstrap.servers", "security.protocol"})
    | names(
        "protocol provider cipher.suites enabled.protocols keystore.type truststore.type "
        "keystore.location truststore.location keystore.password truststore.password "
        "key.password keystore.key keystore.certificate.chain truststore.certificates "
        "keymanager.algorithm trustmanager.algorithm endpoint.identification.algorithm "
        "secure.random.implementation engine.factory.class",
        "ssl.",
    )
    | names(
        "mechanism jaas.config client.callback.handler.class login.callback.handler.class "
        "login.class kerberos.service.name kerberos.kinit.cmd "
        "kerberos.ticket.renew.window.factor kerberos.ticket.renew.jitter "
        "kerberos.min.time.before.relogin login.refresh.window.factor "
        "login.refresh.window.jitter login.refresh.min.period.seconds "
        "login.refresh.buffer.seconds login.connect.timeout.ms login.read.timeout.ms "
        "login.retry.backoff.ms login.retry.backoff.max.ms",
        "sasl.",
    )
    | names(
        "client.credentials.client.id client.credentials.client.secret scope "
        "token.endpoint.url header.urlencode sub.claim.name scope.claim.name "
        "jwt.retriever.class jwt.validator.class jwks.endpoint.url jwks.endpoint.refresh.ms "
        "jwks.endpoint.retry.backoff.ms jwks.endpoint.retry.backoff.max.ms clock.skew.seconds "
        "expected.audience expected.issuer",
        _OAUTH,
    )
    | _ASSERTION
)

# Connection names that our clients cannot use, and why.
CONNECTION_WITHOUT_EFFECT = {
    **dict.fromkeys(
        names(
            "provider keymanager.algorithm trustmanager.algorithm secure.random.implementation",
            "ssl.",
        ),
        "a detail of Java's TLS; OpenSSL is used here",
    ),
    **dict.fromkeys(
        names(
            "kinit.cmd ticket.renew.window.factor ticket.renew.jitter min.time.before.relogin",
            "sasl.kerberos.",
        ),
        "tickets are requested as they are needed",
    ),
    **dict.fromkeys(
        names(
            "refresh.window.factor refresh.window.jitter refresh.min.period.seconds "
            "refresh.buffer.seconds",
            "sasl.login.",
        ),
        "a login after half of a token's life fetches another one",
    ),
    **dict.fromkeys(
        names(
            "connect.timeout.ms read.timeout.ms retry.backoff.ms retry.backoff.max.ms",
            "sasl.login.",
        ),
        "a token is requested with time limits of its own, again with each connection",
    ),
    **dict.fromkeys(
        names(
            "scope.claim.name jwt.validator.class jwks.endpoint.url jwks.endpoint.refresh.ms "
            "jwks.endpoint.retry.backoff.ms jwks.endpoint.retry.backoff.max.ms "
            "clock.skew.seconds expected.audience expected.issuer",
            _OAUTH,
        ),
        "the broker validates tokens, not this client",
    ),
}

_NO_CLASS = "Java classes cannot be loaded"

# Another class named here, or another way to get a token, would change how a client
# authenticates; passing it over would hide that.
CONNECTION_REFUSED = {
    **dict.fromkeys(
        names(
            "ssl.engine.factory.class sasl.login.class sasl.client.callback.handler.class "
            "sasl.login.callback.handler.class sasl.oauthbearer.jwt.retriever.class"
        ),
        _NO_CLASS,
    ),
    **dict.fromkeys(
        _ASSERTION, "a token is requested with a client id and secret, not with an assertion"
    ),
}

# Simple names of classes that do what Isthmus does: Kafka's own, Strimzi's and Amazon's.
_SUPPORTED_CLASSES = {
    "ssl.engine.factory.class": ("DefaultSslEngineFactory",),
    "sasl.login.class": ("DefaultLogin",),
    "sasl.client.callback.handler.class": (
        "SaslClientCallbackHandler",
        "OAuthBearerSaslClientCallbackHandler",
        "IAMClientCallbackHandler",
        "IAMOAuthBearerLoginCallbackHandler",  # MSK's documentation names it for both
    ),
    "sasl.login.callback.handler.class": (
        "DefaultLoginCallbackHandler",
        "OAuthBearerLoginCallbackHandler",
        "OAuthBearerUnsecuredLoginCallbackHandler",
        "JaasClientOauthLoginCallbackHandler",
        "IAMOAuthBearerLoginCallbackHandler",
    ),
    f"{_OAUTH}jwt.retriever.class": ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever"),
}

_SECRET_WORDS = (
    "password",
    "passphrase",
    "secret",
    "jaas.config",
    "keystore.key",
    "certificate",
    "token",
    "credential",
    "access.key",
    "account.key",
    "user.info",
)
# Tokens are parts of these addresses and headers.
_SECRET_PARTS = frozenset({"alert.webhook.url", "alert.urls", "metrics.otlp.headers"})
MASK = "********"
_USER_INFO = re.compile(r"://[^/\s@]*@")  # of an address: https://user:password@host
_QUERY = re.compile(r"(://[^\s?]*\?)\S+")  # of an address: https://host/path?key=secret
_OPTION = re.compile(r"([\w.-]*(?:password|passphrase|secret|token)[\w.-]*=)\S+", re.IGNORECASE)


def refusal(name: str, text: str) -> str | None:
    """Return why a client with this setting is refused; None: it is not."""
    supported = _SUPPORTED_CLASSES.get(name, ())
    if text.strip().rpartition(".")[2] in ("", *supported) and name not in _ASSERTION:
        return None
    return CONNECTION_REFUSED.get(name)


def is_secret(key: str) -> bool:
    """Whether the value of ``key`` must never be displayed."""
    lowered = key.lower()
    return any(word in lowered for word in _SECRET_WORDS) and not lowered.endswith(
        ("token.endpoint.url", ".class", "credentials.client.id", ".location")
    )


def masked(key: str, text: str) -> str:
    """Return a value as outputs may show it: without what is secret, or what is secret in it."""
    if is_secret(key) or key in _SECRET_PARTS:
        return MASK if text else text
    shown = _QUERY.sub(rf"\1{MASK}", _USER_INFO.sub(f"://{MASK}@", text))
    return _OPTION.sub(rf"\1{MASK}", shown)
