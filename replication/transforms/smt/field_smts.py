"""Connect's transforms of fields: ReplaceField, MaskField, ValueToKey, on JSON without schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from replication.transforms.smt.java_maps import copied_capacity, hash_order, set_order
from replication.transforms.smt.message import CannotTransform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from replication.transforms.smt.message import Message

    Apply = Callable[[Message], bool]


def replace_field(side: str, settings: Mapping[str, str]) -> Apply:
    """Drop, keep and rename fields of the ``side``; a record without one passes."""
    exclude, include = _names(settings, "exclude"), _names(settings, "include")
    renames = dict(_rename(each) for each in _names(settings, "renames"))

    def apply(message: Message) -> bool:
        if getattr(message, side) is None:
            return True
        before = message.fields(side)
        kept = [n for n in before if n not in exclude and (not include or n in include)]
        after = {renames.get(name, name): before[name] for name in kept}
        message.set_fields(side, _in_order(after, len(before)))
        return True

    return apply


def mask_field(side: str, settings: Mapping[str, str]) -> Apply:
    """Replace the values of fields by ``replacement``, or by their type's empty value."""
    names, replacement = set_order(_names(settings, "fields")), settings.get("replacement")

    def apply(message: Message) -> bool:
        before = message.fields(side)
        after = {**before, **{n: _masked(n, before.get(n), replacement) for n in names}}
        message.set_fields(side, _in_order(after, copied_capacity(len(before))))
        return True

    return apply


def value_to_key(settings: Mapping[str, str]) -> Apply:
    """Make the key an object of some of the value's fields."""
    names = _names(settings, "fields")

    def apply(message: Message) -> bool:
        value = message.fields("value")
        message.set_fields("key", _in_order({n: value.get(n) for n in names}, len(names)))
        return True

    return apply


def _masked(name: str, value: Any, replacement: str | None) -> Any:
    if value is None:
        return None
    if replacement is None:
        return type(value)()
    number: dict[type, Callable[[str], Any]] = {str: str, int: _long, float: float}
    if type(value) not in number:
        kind = type(value).__name__
        raise CannotTransform(f"the field {name} is a {kind}, which has no custom replacement")
    try:
        return number[type(value)](replacement)
    except ValueError:
        raise CannotTransform(f"{replacement} is not a number, as the field {name} is") from None


def _long(text: str) -> int:
    """Return a whole number; of a fraction, without it, as Connect converts it."""
    return int(text) if text.strip().lstrip("+-").isdigit() else int(float(text))


def _in_order(fields: dict[str, Any], capacity: int) -> dict[str, Any]:
    return {name: fields[name] for name in hash_order(fields, capacity)}


def _names(settings: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in settings.get(key, "").split(",") if each.strip())


def _rename(text: str) -> tuple[str, str]:
    old, colon, new = text.partition(":")
    if not (old and colon and new):
        raise ValueError(f"{text} is not a renaming: write old:new")
    return old, new
