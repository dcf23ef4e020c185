"""Which ignored settings ask for something that Isthmus does not do: a warning, not a note.

The others have the same effect, or a stronger one, or tune a part that does not exist here.
"""

from __future__ import annotations

_BYTES = "org.apache.kafka.connect.converters.bytearrayconverter"

# A setting without effect -> the values that what happens here satisfies, in lower case; of a
# list its items in order, joined by commas. Every other value is a promise that is not kept.
_SATISFIED: dict[str, tuple[str, ...]] = {
    # Durability and duplicates: less is asked for than is done, and latency with it.
    "acks": ("all", "-1"),
    "enable.idempotence": ("true",),
    # What consumers of the copies see.
    **dict.fromkeys(
        (
            "compression.type",
            "compression.gzip.level",
            "compression.lz4.level",
            "compression.zstd.level",
            "interceptor.classes",
            "topic.creation.groups",
            "source.cluster.alias",
            "target.cluster.alias",
        ),
        (),
    ),
    **dict.fromkeys(("key.converter", "value.converter", "header.converter"), (_BYTES,)),
    "errors.tolerance": ("none",),
    # What takes part, and when.
    "refresh.topics.enabled": ("true",),
    "refresh.groups.enabled": ("true",),
    # Security.
    "ssl.provider": (),
    "security.providers": (),
    "sasl.oauthbearer.expected.audience": (),
    "sasl.oauthbearer.expected.issuer": (),
    "sasl.oauthbearer.jwt.validator.class": (
        "org.apache.kafka.common.security.oauthbearer.defaultjwtvalidator",
        "org.apache.kafka.common.security.oauthbearer.clientjwtvalidator",
    ),
    # What is logged and measured where.
    "errors.log.include.messages": ("false",),
    "metric.reporters": (),
    "client.dns.lookup": ("use_all_dns_ips",),
}


def is_unkept(name: str, text: str) -> bool:
    """Return whether a setting without effect asks for something that is not done."""
    satisfied = _SATISFIED.get(name)
    items = sorted(each.strip().lower() for each in text.split(","))
    given = ",".join(each for each in items if each)
    return satisfied is not None and given != "" and given not in satisfied
