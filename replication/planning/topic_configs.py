"""Which configs of a topic its copy takes, and whether compaction makes it transactional. Pure.

Each difference has its reason, for operators.
The rules are MirrorMaker 2's: read-only and secret configs and those of a broker's file never
follow; excluded ones are neither copied nor touched; what the source has not set falls back to
the target's own default, or, with ``use.defaults.from = source``, is set to the source's. Here
what was set for all brokers of the source counts as its default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from replication.client.admin import SetBy, set_on_topic
from replication.model import Mode
from replication.naming.java_regex import JavaPattern, compile_rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from replication.client.admin import ConfigValue
    from replication.settings.flow_settings import Flow

    Settings = Mapping[str, Mapping[str, ConfigValue]]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A config that is to be another one; None: not set on the topic."""

    config: str
    was: str | None
    value: str | None
    reason: str

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.config}: unset (was {self.was}), {self.reason}"
        was = "not set" if self.was is None else self.was
        return f"{self.config}: {was} -> {self.value}, {self.reason}"


@dataclass(frozen=True, slots=True)
class ConfigRules:
    """Which configs follow the source, and what the file says itself."""

    exclude: tuple[JavaPattern, ...] = ()
    defaults_from_source: bool = False
    copies: bool = True  # False: strategy NONE
    overrides: tuple[tuple[JavaPattern, str, str], ...] = ()

    @classmethod
    def of(cls, flow: Flow) -> Self:
        """Return the rules of a flow. Raises Untranslatable for a pattern that cannot be used."""
        configs = flow.configs
        return cls(
            compile_rules(configs.exclude),
            configs.defaults_from == "source",
            flow.creation.configs_strategy != "NONE",
            tuple(
                (compile_rules((p,))[0], config, value) for p, config, value in configs.overrides
            ),
        )

    def follows(self, config: str) -> bool:
        """Say whether a config is copied at all."""
        return self.copies and not any(rule.matches(config) for rule in self.exclude)

    def copied(self, settings: Mapping[str, ConfigValue]) -> dict[str, str]:
        """Return what a topic with these settings passes on to its copy."""
        taken = {SetBy.TOPIC}
        if self.defaults_from_source:
            taken |= {SetBy.DEFAULT, SetBy.BROKERS}
        return {
            config: each.value
            for config, each in settings.items()
            if each.set_by in taken and self.follows(config)
        }

    def fixed(self, topic: str) -> dict[str, str]:
        """Return what the file says of a source topic's copy; "": as the target's default."""
        return {config: value for rule, config, value in self.overrides if rule.matches(topic)}


@dataclass(frozen=True, slots=True)
class DesiredConfigs:
    """The configs that a copy should have. Whatever is neither here nor ``free`` is left alone."""

    values: Mapping[str, str]
    free: frozenset[str]  # configs that follow: set on the target and not in values, they go
    fixed: Mapping[str, str] = field(default_factory=dict)  # by the file; "": as the default
    reasons: Mapping[str, str] = field(default_factory=dict)  # where there is more to say


def desired_configs(
    topic: str, settings: Mapping[str, ConfigValue], rules: ConfigRules
) -> DesiredConfigs:
    """Return what the copy of ``topic``, which has ``settings``, should have."""
    fixed = rules.fixed(topic)
    values = {**rules.copied(settings), **fixed}
    return DesiredConfigs(
        {config: value for config, value in values.items() if value},
        frozenset({each for each in settings if rules.follows(each)} | fixed.keys()),
        fixed,
    )


def changes(
    desired: DesiredConfigs,
    ours: Mapping[str, ConfigValue],
    before: Mapping[str, str] | None,
    names: Names,
) -> tuple[ConfigChange, ...]:
    """Return the changes that bring the target's configs to the desired state.

    ``before`` is what was set when we last applied: a value that is another one now was changed
    on the target since.
    """
    is_set = set_on_topic(ours)
    keys = {*desired.values, *(is_set.keys() & desired.free)}
    return tuple(
        ConfigChange(key, is_set.get(key), desired.values.get(key),
                     _reason(key, desired, is_set, before, names))
        for key in sorted(keys)
        if is_set.get(key) != desired.values.get(key)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Names:
    """What the two sides of a difference are called."""

    source: str
    target: str


def _reason(
    key: str,
    desired: DesiredConfigs,
    is_set: Mapping[str, str],
    before: Mapping[str, str] | None,
    names: Names,
) -> str:
    if before is not None and before.get(key) != is_set.get(key):
        return f"changed on {names.target} since the last apply"
    if key in desired.fixed:
        return "set in the configuration file"
    if key in desired.reasons:
        return desired.reasons[key]
    if key not in desired.values:
        return f"not set on {names.source}"
    return f"as on {names.source}"


def mode_for(theirs: str | None, ours: str | None, delivery: str = "auto") -> str:
    """Return the mode of a topic with these cleanup policies at the source and on the target.

    None: it may not be seen, so the topic may be compacted. They are those that hold, also where
    a broker's default says so.
    """
    if delivery != "auto":
        return delivery
    compacted = any(each is None or "compact" in each for each in (theirs, ours))
    return Mode.TRANSACTIONAL if compacted else Mode.APPEND


def policy_of(settings: Settings, topic: str) -> str | None:
    """Return the cleanup policy of a topic; empty if it was deleted meanwhile."""
    found = settings.get(topic)
    if found is None:
        return ""
    policy = found.get("cleanup.policy")
    if policy is None:
        return "" if found else None
    return policy.value
