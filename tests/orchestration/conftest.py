"""Dagster's storage for tests: the real one, made in a tenth of the time."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import dagster as dg
import pytest
from alembic.script import ScriptDirectory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from alembic.config import Config


@pytest.fixture(scope="session", autouse=True)
def _migrations() -> Iterator[None]:
    """Read each directory of Dagster's migrations once: a new storage only wants the last one."""
    read, known = ScriptDirectory.from_config, dict[str | None, ScriptDirectory]()

    def from_config(config: Config) -> ScriptDirectory:
        where = config.get_main_option("script_location")
        if where not in known:
            known[where] = read(config)
        return known[where]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ScriptDirectory, "from_config", from_config)
        yield


@pytest.fixture(scope="session")
def _storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of an instance that nobody has used."""
    made = tmp_path_factory.mktemp("storage")
    with dg.DagsterInstance.local_temp(str(made)):
        return made


@pytest.fixture
def local_instance(tmp_path: Path, _storage: Path) -> Iterator[dg.DagsterInstance]:
    """An instance with files in ``tmp_path``: copies, since SQLite syncs each table it creates."""
    shutil.copytree(_storage, tmp_path, dirs_exist_ok=True)
    with dg.DagsterInstance.local_temp(str(tmp_path)) as made:
        yield made
