"""Changes the specs of units for tests."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from replication.settings.copy_settings import CopySettings

if TYPE_CHECKING:
    from replication.copier.spec import UnitSpec

_COPYING = {each.name for each in fields(CopySettings)} - {"epoch"}
_SECONDS = {"epoch_s": "epoch", "anchor_every_s": "anchor_every"}


def changed(spec: UnitSpec, **more: object) -> UnitSpec:
    """Return a spec with fields of it and of its copy settings replaced; some are in seconds."""
    copying = {name: value for name, value in more.items() if name in _COPYING}
    copying |= {
        name: timedelta(seconds=more[given]) for given, name in _SECONDS.items() if given in more
    }
    own = {name: each for name, each in more.items() if name not in _COPYING | _SECONDS.keys()}
    return replace(spec, copying=replace(spec.copying, **copying), **own)
