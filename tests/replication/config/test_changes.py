"""What an edit changed, as operators and fingerprints see it."""

from __future__ import annotations

from support.settings.config_files import TWO, loaded, written

from replication.config.changes import changes, fingerprint, is_same
from replication.config.file.properties import parse_properties
from replication.config.kept_lines import dump, restore

THREE = TWO.replace("A, B", "A, B, C") + "C.bootstrap.servers = c:9092\n"


def reported(tmp_path, before: str, after: str) -> tuple[str, ...]:
    return changes(loaded(tmp_path, before), loaded(tmp_path, after))


def test_a_setting_is_shown_with_both_values_and_its_flow(tmp_path):
    lines = reported(tmp_path, f"{TWO}topics = orders\n", f"{TWO}topics = orders, stock\n")
    assert lines == ("A->B: topics: orders → orders, stock",)


def test_a_setting_of_all_flows_is_one_line_and_new_and_gone_flows_are_named(tmp_path):
    both = f"{TWO}B->A.enabled = true\nlag.sla.seconds = 60\n"
    assert reported(tmp_path, both, both.replace("60", "30")) == ("lag.sla.seconds: 60 → 30",)
    assert reported(tmp_path, TWO, both)[0] == "flow B->A is new"
    assert reported(tmp_path, both, TWO)[0] == "flow B->A is gone"
    assert reported(tmp_path, TWO, f"{TWO}spark.master = local[3]\n") == (
        "spark.master: local[*] → local[3]",
    )


def test_lines_that_moved_and_comments_are_no_change(tmp_path):
    moved = "# a remark\n" + "\n".join(reversed(TWO.splitlines()))
    before, after = loaded(tmp_path, TWO), loaded(tmp_path, moved)
    assert changes(before, after) == ()
    assert is_same(before.config, after.config)
    assert fingerprint(before) == fingerprint(after)


def test_a_password_is_a_change_and_is_not_shown(tmp_path):
    def with_password(word: str) -> str:
        return f"{TWO}metrics.port = 1\nmetrics.user = me\nmetrics.password = {word}\n"

    before, after = (loaded(tmp_path, with_password(word)) for word in ("one", "two"))
    assert changes(before, after) == (
        "a password, or the content of a file that the file names, changed",
    )
    assert not is_same(before.config, after.config)
    assert fingerprint(before) == fingerprint(after)


def test_a_map_file_is_in_the_fingerprint(tmp_path):
    names = tmp_path / "names"
    text = f"{TWO}topics.map.file = {names}\n"
    names.write_text("orders = sales\n")
    before = fingerprint(loaded(tmp_path, text))
    names.write_text("orders = selling\n")
    assert fingerprint(loaded(tmp_path, text)) != before


def test_kept_lines_have_no_secret_and_take_it_from_the_present_file(tmp_path):
    def entries(word: str, address: str = "https://me:hush@host/x"):
        text = f"{TWO}metrics.password = {word}\nspark.conf.a = {address}\n"
        return parse_properties(written(tmp_path, text).read_text())

    kept = dump(entries("hush"), 7)
    assert "hush" not in kept
    assert restore(kept, entries("new")).entries == entries("new")
    assert restore(kept, entries("hush")).read_ms == 7
    assert restore(kept, parse_properties(TWO)) is None
    assert restore("{", entries("hush")) is None
