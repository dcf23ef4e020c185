"""Faults that operators reported, as far as a file can show them: BL-001 to BL-016."""

import re
from itertools import permutations

import pytest
from support.settings.config_files import TWO, about, flow, found, loaded, written

from replication.config.file.findings import errors
from replication.config.keys.client_keys import KNOWN
from replication.config.keys.mm2_keys import CONNECTOR, DRIVER, WORKER
from replication.config.load import load_config
from replication.errors import ConfigError
from replication.naming.policy import policy_for
from replication.naming.topology import cycles

BARE = TWO.replace("A->B.enabled = true\n", "")


def test_bl_001_blanks_around_the_arrow_are_an_error_that_names_the_key_meant(tmp_path):
    path = written(tmp_path, BARE + "A -> B.enabled = true\nA -> B.topics = t1\n")
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value) == (
        f"{path} has 2 problems:\n"
        f"  {path}:4: A: the blank ends the key and cuts off the flow's name → A->B.enabled\n"
        f"  {path}:5: A: the blank ends the key and cuts off the flow's name → A->B.topics"
    )


def test_bl_001_leniency_does_not_hide_it(tmp_path):
    with pytest.raises(ConfigError, match=r"A->B\.enabled"):
        loaded(tmp_path, BARE + "A -> B.enabled = true\n", lenient=True)


def test_bl_003_slashes_are_no_comment_and_disturb_nothing(tmp_path):
    text = "// Assign addresses\n" + TWO.replace("\n", "\n// and so on\n")
    result = loaded(tmp_path, text)
    assert [each.name for each in result.config.flows] == ["A->B"]
    assert about(result.findings, "//")[0] == (
        "warning: // does not start a comment in a properties file; the line is ignored → "
        "write # at the start of the line"
    )


def test_bl_004_quotes_are_taken_off_with_a_warning(tmp_path):
    text = TWO.replace("a:9092", '"a:9092"') + 'A->B.topics = "orders.*"\n'
    result = loaded(tmp_path, text)
    assert result.config.clusters["A"].bootstrap_servers == ("a:9092",)
    assert result.config.flows[0].selection.topics == ("orders.*",)
    assert "warning" in about(result.findings, "A->B.topics")[0]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("topic.blacklist", "topics.exclude"),
        ("task.max", "tasks.max"),
        ("sync.topics.configs.enabled", "sync.topic.configs.enabled"),
        ("replication.polcy.class", "replication.policy.class"),
        ("A->B.topics.exlude", "A->B.topics.exclude"),
        ("A->B.emit.heartbeats", "A->B.emit.heartbeats.enabled"),
        ("A->B.enable", "A->B.enabled"),
        ("A.bootstrap.server", "A.bootstrap.servers"),
        ("A.sasl.mechanisms", "A.sasl.mechanism"),
    ],
)
def test_bl_006_a_misspelt_key_is_an_error_that_names_the_nearest(tmp_path, key, meant):
    text = TWO + f"{key} = x\n"
    assert about(found(tmp_path, text), key) == [f"error: unknown key → was {meant} meant?"]
    lenient = about(loaded(tmp_path, text, lenient=True).findings, key)
    assert lenient == [f"warning: unknown key → was {meant} meant?"]


def test_bl_006_an_unknown_client_setting_is_no_error(tmp_path):
    (message,) = about(loaded(tmp_path, TWO + "A.consumer.my.own.thing = x\n").findings,
                       "A.consumer.my.own.thing")  # fmt: skip
    assert message.startswith("warning: is not a known setting of Kafka's clients")


def test_bl_006_all_problems_come_at_once_in_the_order_of_the_file(tmp_path):
    text = TWO + "task.max = 2\ntopics = (\nA->B.enabled = yes\n"
    wrong = [each for each in found(tmp_path, text) if each.severity == "error"]
    assert [each.line for each in wrong if each.line] == [5, 6, 7]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("topics.blacklist", "topics.exclude"),
        ("topics.whitelist", "topics"),
        ("groups.blacklist", "groups.exclude"),
        ("config.properties.blacklist", "config.properties.exclude"),
    ],
)
def test_bl_007_an_old_name_works_with_a_note(tmp_path, old, new):
    result = loaded(tmp_path, TWO + f"{old} = a.*\n")
    assert f"warning: is an old name; it is read as {new} → {new} = a.*" in about(
        result.findings, old
    )
    settings = {each.name: each.value for each in result.origins["A->B"]}
    assert settings.get(new, "a.*") == "a.*"


def test_bl_007_the_new_name_wins_over_the_old(tmp_path):
    text = TWO + "topics.blacklist = a.*\ntopics.exclude = b.*\n"
    result = loaded(tmp_path, text)
    assert result.config.flows[0].selection.topics_exclude == ("b.*",)
    assert about(result.findings, "topics.blacklist") == [
        "warning: has no effect, because topics.exclude is set too → remove it"
    ]


@pytest.mark.parametrize("word", ["TRUE", "true  ", "True", '"true"'])
def test_bl_009_true_may_be_written_in_any_case_and_with_blanks(tmp_path, word):
    assert loaded(tmp_path, BARE + f"A->B.enabled = {word}\n").config.flow("A->B")


@pytest.mark.parametrize("word", ["yes", "1", "on", "truee"])
def test_bl_009_anything_else_is_an_error_with_key_and_value(tmp_path, word):
    with pytest.raises(ConfigError, match=rf"A->B\.enabled: '{word}' is neither true nor false"):
        loaded(tmp_path, BARE + f"A->B.enabled = {word}\n")


BOTH = TWO + "B->A.enabled = true\n"


def test_bl_010_a_flows_setting_beats_the_top_level_for_that_flow_alone(tmp_path):
    text = BOTH + "topics = x.*\nA->B.topics = y.*\ntasks.max = 1\nA->B.tasks.max = 4\n"
    result = loaded(tmp_path, text)
    ab, ba = (result.config.flow(name) for name in ("A->B", "B->A"))
    assert (ab.selection.topics, ab.copying.units) == (("y.*",), 4)
    assert (ba.selection.topics, ba.copying.units) == (("x.*",), 1)


def test_bl_010_each_setting_says_where_it_came_from(tmp_path):
    result = loaded(tmp_path, BOTH + "topics = x.*\nA->B.topics = y.*\n")
    path = result.config.path

    def origin(name, setting):
        return next(
            (each.value, each.origin) for each in result.origins[name] if each.name == setting
        )

    assert origin("A->B", "topics") == ("y.*", f"{path}:7")
    assert origin("B->A", "topics") == ("x.*", f"{path}:6")
    assert origin("A->B", "tasks.max") == ("1", "default")


def test_bl_010_a_clusters_replication_factor_has_no_effect_and_is_reported_so(tmp_path):
    result = loaded(tmp_path, TWO + "B.replication.factor = 1\nreplication.factor = 3\n")
    assert result.config.flows[0].creation.replication_factor == 3
    (message,) = about(result.findings, "B.replication.factor")
    assert message == (
        "warning: has no effect for a cluster, as in MirrorMaker 2 → replication.factor for all "
        "flows, or A->B.replication.factor for one"
    )


def test_bl_011_each_client_gets_the_settings_of_its_prefix(tmp_path):
    clients = flow(
        tmp_path,
        "B.producer.request.timeout.ms = 1\nA.consumer.request.timeout.ms = 2\n"
        "B.admin.request.timeout.ms = 3\nA.admin.request.timeout.ms = 4\n",
    ).clients
    each = (clients.target_producer, clients.source_consumer, clients.target_admin,
            clients.source_admin)  # fmt: skip
    assert [client["request.timeout.ms"] for client in each] == ["1", "2", "3", "4"]


def test_bl_011_a_client_setting_without_effect_says_why(tmp_path):
    result = loaded(
        tmp_path, TWO + "B.producer.compression.type = zstd\nA->B.producer.acks = all\n"
    )
    assert about(result.findings, "B.producer.compression.type") == [
        "warning: has no effect: record batches are copied unchanged → remove it"
    ]
    assert about(result.findings, "A->B.producer.acks") == [
        "info: has no effect: every append is idempotent and waits for all in-sync replicas → "
    ]


def test_bl_011_bl_052_what_would_change_records_is_refused(tmp_path):
    text = TWO + "A->B.transforms = mask\nA->B.transforms.mask.type = x\n"
    with pytest.raises(
        ConfigError, match=r"A->B\.transforms\.mask\.type: x is not a single message"
    ):
        loaded(tmp_path, text)


PROVIDER = """\
config.providers = file
config.providers.file.class = org.apache.kafka.common.config.provider.FileConfigProvider
security.protocol = SASL_SSL
sasl.mechanism = PLAIN
"""
JAAS = 'x.PlainLoginModule required username="u" password="${{file:{}:pw}}";'


def test_bl_013_a_placeholder_reaches_every_client_unresolved(tmp_path):
    secret = tmp_path / "s.properties"
    secret.write_text("pw=hush")
    jaas = JAAS.format(secret)
    text = TWO + PROVIDER + f"B.sasl.jaas.config = {jaas}\nA.sasl.jaas.config = {jaas}\n"
    result = loaded(tmp_path, text)
    clients = result.config.flows[0].clients
    for name in ("source_consumer", "source_admin", "target_producer", "target_admin"):
        assert getattr(clients, name)["sasl.jaas.config"] == jaas
    assert "hush" not in repr(result)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(None, "no readable file", id="missing file"),
        pytest.param("other=1", "has no key pw", id="missing key"),
    ],
)
def test_bl_013_a_placeholder_that_leads_nowhere_is_named(tmp_path, content, why):
    secret = tmp_path / "s.properties"
    if content is not None:
        secret.write_text(content)
    text = TWO + PROVIDER + f"sasl.jaas.config = {JAAS.format(secret)}\n"
    with pytest.raises(ConfigError) as error:
        loaded(tmp_path, text)
    assert f"sasl.jaas.config: ${{file:{secret}:pw}}: " in str(error.value)
    assert why in str(error.value)


ALIASES = """\
clusters = us, us.west, source, target
us.bootstrap.servers = us:1
us.west.bootstrap.servers = west:1
us.west.security.protocol = SSL
source.bootstrap.servers = source:1
source.consumer.client.rack = r1
target.bootstrap.servers = target:1
target.security.protocol = SSL
us->us.west.enabled = true
source->target.enabled = true
source->target.source.consumer.isolation.level = read_uncommitted
topics = t1
"""


def test_bl_015_every_cluster_gets_its_own_settings_alone(tmp_path):
    config = loaded(tmp_path, ALIASES).config
    protocols = {
        alias: cluster.client.get("security.protocol", "PLAINTEXT")
        for alias, cluster in config.clusters.items()
    }
    assert protocols == {
        "us": "PLAINTEXT",
        "us.west": "SSL",
        "source": "PLAINTEXT",
        "target": "SSL",
    }
    assert not any(key.startswith("west") for key in config.clusters["us"].client)
    flow = config.flow("source->target")
    assert flow.copying.client_rack == "r1"
    assert flow.copying.isolation == "read_uncommitted"
    assert config.flow("us->us.west").copying.isolation == "read_committed"


def with_a_third(alias: str, line: str) -> str:
    """Return a file with a third cluster, and one more line."""
    text = TWO.replace("clusters = A, B", f"clusters = A, B, {alias}")
    return f"{text}{alias}.bootstrap.servers = c:1\n{line}\n"


@pytest.mark.parametrize(
    ("alias", "line"),
    [
        ("consumer", ""),
        ("A->B", ""),
        ("topics", "topics.exclude = x"),
        ("sync", "sync.topic.acls.enabled = true"),
        ("batch", "batch.schedule = 0 3 * * *"),
        ("spark", "spark.conf.spark.x = y"),
        ("transform", "transform.orders/where = true"),
        ("ssl", "ssl.protocol = TLSv1.3"),
        ("topics", "topics.blacklist = x"),
        ("groups", "groups.blacklist = x"),
        ("sync", "sync.acls.enabled = true"),
        ("copy", "copy.epoch = 30"),
    ],
)
def test_bl_015_a_name_that_cannot_be_told_from_a_setting_is_refused(tmp_path, alias, line):
    findings = found(tmp_path, with_a_third(alias, line))
    assert any("cannot be" in message for message in about(findings, "clusters"))


@pytest.mark.parametrize(
    "alias", ["source", "batch", "sync", "reports", "transforms", "predicates"]
)
def test_bl_015_a_name_with_which_no_setting_of_the_file_begins_is_allowed(tmp_path, alias):
    assert about(found(tmp_path, with_a_third(alias, "")), "clusters") == []


def test_bl_016_blanks_and_continuations_in_lists_are_taken_out(tmp_path):
    text = TWO.replace("a:9092", "h1:9092, h2:9092 , h3:9092") + "topics = a.*, \\\n   b.*\n"
    config = loaded(tmp_path, text).config
    assert config.clusters["A"].bootstrap_servers == ("h1:9092", "h2:9092", "h3:9092")
    assert config.flows[0].selection.topics == ("a.*", "b.*")


def test_bl_016_an_empty_topic_list_selects_nothing_with_a_warning(tmp_path):
    result = loaded(tmp_path, TWO + "topics =\ntopics.exclude =\n")
    selection = result.config.flows[0].selection
    assert (selection.topics, selection.topics_exclude) == ((), ())
    assert about(result.findings, "topics") == [
        "warning: is empty: no topic is copied → topics = .*"
    ]


@pytest.mark.parametrize(
    "servers",
    [
        "",
        "host",
        "host:port",
        "host:0",
        "host:99999",
        "a b:1",
        "[host]:1",
        "[1:2]:1",
        "[fe80::1%]:1",
    ],
)
def test_an_address_that_is_none_is_refused(tmp_path, servers):
    text = TWO.replace("a:9092", servers)
    with pytest.raises(ConfigError, match=r":2: A\.bootstrap\.servers: "):
        loaded(tmp_path, text)


@pytest.mark.parametrize(
    ("servers", "right"),
    [
        ("::1:9092", "[::1]:9092"),
        ("fe80::1%eth0:9093", "[fe80::1%eth0]:9093"),
        ("2001:db8:0:0:0:0:0:1:9092", "[2001:db8:0:0:0:0:0:1]:9092"),
        ("a:b:c", "host:port"),
    ],
)
def test_a_refused_address_says_how_it_is_written(tmp_path, servers, right):
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, TWO.replace("a:9092", servers))
    output = str(refused.value)
    assert f"is not an address: write {right}" in output
    assert output.count("write ") == 1, "one proposal, and not another one behind it"


@pytest.mark.parametrize("host", ["10.0.0.1", "broker", "[::1]"])
def test_an_address_without_a_port_says_so(tmp_path, host):
    problem = re.escape(f"'{host}' has no port: write {host}:9092")
    with pytest.raises(ConfigError, match=f"{problem}$"):
        loaded(tmp_path, TWO.replace("a:9092", host))


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_there_is_not_is_named_as_the_reason(tmp_path, port):
    with pytest.raises(
        ConfigError, match=f"'a:{port}' is not an address: a port is from 1 to 65535"
    ):
        loaded(tmp_path, TWO.replace("a:9092", f"a:{port}"))


@pytest.mark.parametrize(
    "server", ["[::1]:9092", "[fe80::1%eth0]:9093", "[fe80::1%3]:9093", "[::ffff:10.0.0.1]:9092"]
)
def test_an_ipv6_address_is_taken_in_brackets_with_its_scope(tmp_path, server):
    servers = loaded(tmp_path, TWO.replace("a:9092", f"PLAINTEXT://{server}")).config.clusters["A"]
    assert servers.bootstrap_servers == (server,)


def test_a_cluster_without_addresses_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"cluster B has no B\.bootstrap\.servers"):
        loaded(tmp_path, TWO.replace("B.bootstrap.servers = b:9092\n", ""))


def test_addresses_at_the_top_level_serve_clusters_that_have_none(tmp_path):
    text = TWO.replace("B.bootstrap.servers", "bootstrap.servers")
    assert loaded(tmp_path, text).config.clusters["B"].bootstrap_servers == ("b:9092",)


def test_a_file_that_cannot_be_read_is_one_message(tmp_path):
    with pytest.raises(ConfigError, match=r"reading .*nowhere: No such file or directory"):
        load_config(tmp_path / "nowhere")


def test_two_names_for_one_cluster_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="A and B are the same cluster"):
        loaded(tmp_path, TWO.replace("b:9092", "a:9092"))


def test_bl_029_flows_in_a_circle_that_keep_names_must_tell_copies(tmp_path):
    identity = BOTH + "replication.policy.class = IdentityReplicationPolicy\n"
    assert len(loaded(tmp_path, identity).config.flows) == 2
    blind = identity + "B->A.cycle.prevention = names\n"
    with pytest.raises(ConfigError, match="replication cycle: A -> B -> A keep topic names"):
        loaded(tmp_path, blind)
    unstamped = identity + "cycle.prevention = headers\n"
    with pytest.raises(ConfigError, match=r"A->B writes no headers .* provenance.headers = true"):
        loaded(tmp_path, unstamped)
    stamped = unstamped + "provenance.headers = true\n"
    assert "many times the CPU time" in str(found(tmp_path, stamped))
    with pytest.raises(
        ConfigError, match=r"A->B has cycle.prevention = headers, the others do not"
    ):
        loaded(tmp_path, stamped + "B->A.cycle.prevention = producer-id\n")
    apart = blind + "A->B.topics = t1\nB->A.topics = t2\n"
    assert len(loaded(tmp_path, apart).config.flows) == 2


def test_bl_029_circles_that_meet_must_tell_copies_by_the_same(tmp_path):
    lines = "clusters = A, B, C\n" + "".join(
        f"{each}.bootstrap.servers = {each}:9\n" for each in "ABC"
    )
    lines += "".join(f"{a}->{b}.enabled = true\n" for a, b in ("AB", "BA", "BC", "CB"))
    lines += "replication.policy.class = IdentityReplicationPolicy\n"
    assert len(loaded(tmp_path, lines).config.flows) == 4
    mixed = "".join(
        f"{name}.cycle.prevention = headers\n{name}.provenance.headers = true\n"
        for name in ("B->C", "C->B")
    )
    with pytest.raises(ConfigError, match="B -> A -> B -> C -> B keep topic names"):
        loaded(tmp_path, lines + mixed)
    apart = "".join(
        f"{a}->{b}.topics = t{a == 'C' or b == 'C'}\n" for a, b in ("AB", "BA", "BC", "CB")
    )
    assert len(loaded(tmp_path, lines + mixed + apart).config.flows) == 4


def test_circles_of_a_mesh_are_those_that_come_to_each_cluster_once(tmp_path):
    names = "ABCDEF"
    lines = f"clusters = {','.join(names)}\n"
    lines += "".join(f"{each}.bootstrap.servers = {each}:9\n" for each in names)
    lines += "".join(f"{a}->{b}.enabled = true\n" for a, b in permutations(names, 2))
    lines += "replication.policy.class = IdentityReplicationPolicy\n"
    assert len(list(cycles(loaded(tmp_path, lines).config.flows))) == 409  # of two to six


def test_bl_036_an_unknown_policy_class_is_refused_and_the_python_way_named(tmp_path):
    lines = TWO + "replication.policy.class = com.example.Mine\n"
    assert about(found(tmp_path, lines), "replication.policy.class") == [
        (
            "error: 'com.example.Mine' is not a known policy; Java classes cannot be loaded → "
            "DefaultReplicationPolicy, IdentityReplicationPolicy, topics.rename.regex, "
            "topics.map.file, or a class of your own in Python: python:package.module:Class"
        )
    ]


def test_a_key_set_twice_counts_by_its_last_line(tmp_path):
    result = loaded(tmp_path, TWO + "topics = a\ntopics = b\n")
    assert result.config.flows[0].selection.topics == ("b",)
    assert about(result.findings, "topics") == [
        "warning: is also set on line 5; the last one is used → remove one of the two lines"
    ]


def test_bl_105_a_clusters_protocol_beats_the_top_level_without_leaking(tmp_path):
    clients = flow(tmp_path, "security.protocol = SSL\nA.security.protocol = PLAINTEXT\n").clients
    assert clients.source_consumer["security.protocol"] == "PLAINTEXT"
    assert clients.source_admin["security.protocol"] == "PLAINTEXT"
    assert clients.target_producer["security.protocol"] == "SSL"
    assert clients.target_admin["security.protocol"] == "SSL"


def test_bl_033_an_empty_separator_is_refused_with_prefixes_only(tmp_path):
    empty = TWO + "replication.policy.separator =\n"
    with pytest.raises(ConfigError, match="would not show the source of a topic"):
        loaded(tmp_path, empty)
    identity = empty + (
        "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
    )
    assert loaded(tmp_path, identity).config.flows[0].naming.kind == "identity"


def test_a_lost_backslash_in_a_pattern_is_warned_about(tmp_path):
    result = loaded(tmp_path, TWO + r"topics = orders\.v\d, a\\.b" + "\n")
    assert result.config.flows[0].selection.topics == ("orders.vd", r"a\.b")
    assert about(result.findings, "topics") == [
        r"warning: the properties format removes the backslash from \., \d → \\., \\d"
    ]


def test_start_and_isolation_follow_the_source_consumer(tmp_path):
    copying = flow(
        tmp_path,
        "A.consumer.auto.offset.reset = latest\nA.consumer.isolation.level = read_uncommitted\n",
    ).copying
    assert (copying.start, copying.isolation) == ("latest", "read_uncommitted")
    own = flow(tmp_path, "A.consumer.auto.offset.reset = latest\ncopy.start = earliest\n")
    assert own.copying.start == "earliest"


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("enable.idempotence", "false", "warning: has no effect"),
        ("max.in.flight.requests.per.connection", "100", "info: has no effect"),
    ],
)
def test_bl_048_what_could_change_the_order_of_records_has_no_effect_and_says_so(
    tmp_path, key, value, says
):
    result = loaded(tmp_path, TWO + f"B.producer.{key} = {value}\n")
    (message,) = about(result.findings, f"B.producer.{key}")
    why = "every append is idempotent and waits for all in-sync replicas"
    assert message.startswith(f"{says}: {why} → ")


def test_our_own_settings_may_be_common_or_a_flows(tmp_path):
    text = BOTH + (
        "lag.sla.seconds = 30\nA->B.lag.sla.seconds = 2m\ncopy.buffer.bytes = 16MiB\n"
        "copy.epoch.seconds = 10\ncopy.anchor.interval.ms = 500\n"
        "spark.master = spark://h:7077\nspark.application = per-flow\n"
        "spark.conf.spark.executor.memory = 1g\nalert.webhook.url = http://h/x\n"
        "isthmus.topics.replication.factor = 1\n"
    )
    config = loaded(tmp_path, text).config
    ab, ba = config.flow("A->B"), config.flow("B->A")
    assert (ab.lag_sla.total_seconds(), ba.lag_sla.total_seconds()) == (120, 30)
    assert ab.copying.buffer_bytes == 16 << 20
    assert (ab.copying.epoch.total_seconds(), ab.copying.anchor_every.total_seconds()) == (10, 0.5)
    assert config.spark.master == "spark://h:7077"
    assert (config.spark.application, config.spark.conf) == (
        "per-flow",
        {"spark.executor.memory": "1g"},
    )
    assert config.alerts.webhook_url == "http://h/x"
    assert ab.state_replication_factor == 1


def test_metrics_are_served_where_the_file_says(tmp_path):
    metrics = loaded(tmp_path, BOTH).config.metrics
    assert (metrics.port, metrics.host) == (None, "127.0.0.1")
    text = BOTH + "metrics.port = 9404\nmetrics.host = ::\nmetrics.detail = partition\n"
    metrics = loaded(tmp_path, text).config.metrics
    assert (metrics.port, metrics.host, metrics.detail) == (9404, "::", "partition")


@pytest.mark.parametrize(
    ("port", "message"),
    [
        ("65536", "error: 65536 is not a port: the highest is 65535 → correct the value"),
        ("-1", "error: -1 is below the minimum of 0 → correct the value"),
    ],
)
def test_what_is_no_port_is_reported(tmp_path, port, message):
    assert about(found(tmp_path, BOTH + f"metrics.port = {port}\n"), "metrics.port") == [message]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (
            "A->B.consumer.client.rack",
            "info: A.consumer.client.rack overrides it where both are set",
        ),
        ("A->B.producer.client.id", "warning: is not used by the clients that copy"),
        ("A->B.target.producer.client.id", "warning: is not used by the clients that copy"),
        ("A->B.ssl.key.password", "warning: has no effect for a flow, as in MirrorMaker 2"),
        ("A->B.offset.flush.interval.ms", "warning: has no effect for a flow, as in MirrorMaker 2"),
        ("A.client.rack", "warning: has no effect for a cluster without a client's name, as in"),
        ("client.rack", "warning: applies to all clusters; MirrorMaker 2 does not read it"),
        ("exactly.once.source.support", "info: has no effect: copying is always exactly once"),
        ("A.exactly.once.source.support", "info: has no effect: copying is always exactly once"),
        ("C.ssl.key.password", "error: C is not a known cluster"),
        ("A->C.topics", "error: names the clusters A and C, one of which is unknown"),
        ("use.incremental.alter.configs", "info: has no effect: settings are always altered"),
        ("dedicated.mode.enable.internal.rest", "info: has no effect: no REST server runs"),
        ("A.ssl.engine.factory.class", "error: is not supported: Java classes cannot be loaded"),
        ("refresh.topics.interval.seconds", "info: has no effect: new topics are looked for about"),
    ],
)
def test_every_known_key_is_honoured_or_says_why_it_is_not(tmp_path, key, message):
    value = "disabled" if key.endswith("support") else "600"
    (finding,) = about(found(tmp_path, TWO + f"{key} = {value}\n"), key)
    assert finding.startswith(message)


def test_every_setting_of_mirror_maker_is_known(tmp_path):
    lines = "".join(f"{key} = \n" for key in CONNECTOR.keys() | WORKER.keys() | DRIVER.keys())
    messages = " ".join(map(str, found(tmp_path, TWO + lines)))
    assert "unknown key" not in messages


@pytest.mark.parametrize("name", ["A.consumer.", "A.producer.", "A.admin.", ""])
def test_every_setting_of_kafkas_clients_is_known(tmp_path, name):
    lines = "".join(f"{name}{key} = \n" for key in KNOWN - {"bootstrap.servers"})
    messages = " ".join(map(str, found(tmp_path, TWO + lines)))
    assert "unknown key" not in messages
    assert "no setting of Kafka's clients" not in messages


def test_a_cluster_that_nothing_uses_is_not_among_the_clusters(tmp_path):
    text = TWO.replace("A, B", "A, B, C") + "C.bootstrap.servers = c:9092\n"
    assert set(loaded(tmp_path, text).config.clusters) == {"A", "B"}


def test_a_flow_that_would_only_have_heartbeats_is_mentioned(tmp_path):
    assert about(loaded(tmp_path, TWO).findings, "B->A") == [
        "info: is not enabled: MirrorMaker 2 would emit heartbeats only; Isthmus runs no flow → "
    ]


def test_a_flow_into_a_cluster_outside_the_list_is_refused(tmp_path):
    text = TWO.replace("clusters = A, B", "clusters = A")
    with pytest.raises(ConfigError, match=r"B is not in clusters.*→ clusters = A, B"):
        loaded(tmp_path, text)


def test_of_two_clusters_outside_the_list_neither_is_taken_for_the_target(tmp_path):
    text = "clusters = A\n" + "".join(f"{x}.bootstrap.servers = {x}:1\n" for x in "ABC")
    with pytest.raises(ConfigError, match="B, C are not in clusters"):
        loaded(tmp_path, text)


def test_a_merging_flow_may_be_switched_off_by_itself(tmp_path):
    text = "clusters = A, B\n" + "".join(f"{x}.bootstrap.servers = {x}:1\n" for x in "ABT")
    flows = loaded(tmp_path, text + "B->T.enabled = false\n").config.flows
    assert [flow.name for flow in flows] == ["A->T"]


def test_passwords_are_not_shown_with_the_configuration(tmp_path):
    result = loaded(
        tmp_path,
        TWO
        + "security.protocol = SSL\nssl.key.password = hush\nalert.webhook.url = http://h/hush\n"
        "A.consumer.ssl.keystore.password = hush\n",
    )
    assert "hush" not in repr(result)
    assert result.config.clusters["A"].client["ssl.key.password"] == "hush"


def test_relative_files_are_looked_for_beside_the_configuration(tmp_path):
    (tmp_path / "t.jks").write_bytes(b"")
    clients = flow(tmp_path, "security.protocol = SSL\nssl.truststore.location = t.jks\n").clients
    assert clients.target_admin["ssl.truststore.location"] == str(tmp_path / "t.jks")


PLAIN = "security.protocol = SASL_SSL\nsasl.mechanism = PLAIN\n"


@pytest.mark.parametrize(
    ("security", "why"),
    [
        (
            "security.protocol = SASL_SSL\n",
            r":5: security.protocol: needs sasl.mechanism; .*GSSAPI",
        ),
        ("security.protocol = SASL_SSL\nsasl.mechanism = GSSAPI\n", "needs sasl.jaas.config"),
        ("security.protocol = SASL_SSL\nsasl.mechanism = AWS_MSK_IAM\n", "needs sasl.jaas.config"),
        ("security.protocol = SASL_SSL\nsasl.mechanism = PLAIN\n", "needs sasl.jaas.config"),
        (
            PLAIN + "sasl.jaas.config = x.PlainLoginModule required username=u password=p\n",
            r":7: sasl.jaas.config: does not end in a semicolon",
        ),
        (
            PLAIN + "sasl.jaas.config = x.ScramLoginModule required username=u password=p;\n",
            r":7: sasl.jaas.config: ScramLoginModule does not support PLAIN",
        ),
    ],
)
def test_security_settings_that_do_not_fit_together_are_refused(tmp_path, security, why):
    with pytest.raises(ConfigError, match=why):
        loaded(tmp_path, TWO + security)


def test_a_rename_that_refers_to_itself_means_the_whole_topic(tmp_path):
    text = TWO + (
        "topics.regex = orders-.*\ntopics.rename.regex = $1\ntopics.rename.replacement = x.$1\n"
    )
    result = loaded(tmp_path, text)
    (warning,) = about(result.findings, "topics.rename.regex")
    assert "read as the whole match of topics.regex → topics.rename.regex = (orders-.*)" in warning
    rule = result.config.flows[0].naming.rename
    assert (rule.pattern, rule.replacement) == ("(orders-.*)", "x.$1")


@pytest.mark.parametrize(
    ("replacement", "why"),
    [
        ("${clusters.X}.$1", r"\$\{clusters\.X\} names no cluster"),
        ("${clusters.A}${clusters.B}", "names more than one cluster"),
        ("$2", r"\$2 names a group that topics\.rename\.regex does not have"),
        ("${sorce}", r"\$\{sorce\} is not known"),
    ],
)
def test_a_rename_rule_that_cannot_be_carried_out_is_refused(tmp_path, replacement, why):
    with pytest.raises(ConfigError, match=why):
        loaded(tmp_path, TWO + f"topics.rename.replacement = {replacement}\n")


def test_what_is_not_set_and_differs_from_mirror_maker_is_mentioned(tmp_path):
    result = loaded(tmp_path, TWO)
    (message,) = about(result.findings, "A.consumer.isolation.level")
    assert message == (
        "info: is not set; the default is read_committed (MirrorMaker 2: read_uncommitted) → to "
        "copy aborted records too, set read_uncommitted"
    )
    settings = {each.name: (each.value, each.origin) for each in result.origins["A->B"]}
    assert settings["source.consumer.isolation.level"] == ("read_committed", "default")
    set_by_hand = loaded(tmp_path, TWO + "A.consumer.isolation.level = read_committed\n")
    assert about(set_by_hand.findings, "A.consumer.isolation.level") == []


@pytest.mark.parametrize(
    ("lines", "separator"),
    [
        pytest.param("replication.policy.separator = __", "__", id="as the separator"),
        pytest.param(
            "replication.policy.separator = __\n"
            "replication.policy.internal.topic.separator.enabled = false",
            ".",
            id="dots on demand",
        ),
        pytest.param(
            "replication.policy.separator =\nreplication.policy.class = IdentityReplicationPolicy",
            ".",
            id="BL-033: an empty one is passed over",
        ),
    ],
)
def test_bl_033_internal_topics_have_a_separator(tmp_path, lines, separator):
    assert flow(tmp_path, f"{lines}\n").naming.internal_separator == separator


OWN = """
from replication.naming import NamingPolicy

class Upper(NamingPolicy):
    def configure(self, settings):
        self.end = settings.get("end", "") + settings["source.cluster.alias"]
    def format_remote_topic(self, source_cluster, topic):
        return topic.upper() + self.end
    def topic_source(self, topic):
        return None
    def upstream_topic(self, topic):
        return None

class Broken(Upper):
    def format_remote_topic(self, source_cluster, topic):
        return topic.encode()
"""


def own_policy(folder, name):
    module = f"policy_{folder.name.replace('-', '_')}"
    (folder / f"{module}.py").write_text(OWN)
    return TWO + f"replication.policy.class = python:{module}:{name}\n"


def test_a_policy_in_python_beside_the_file_names_topics(tmp_path):
    lines = own_policy(tmp_path, "Upper") + "A->B.replication.policy.config.end = -of-\n"
    result = loaded(tmp_path, lines)
    policy = policy_for(result.config.flows[0], result.config.clusters)
    assert policy.remote_topic("A", "orders") == "ORDERS-of-A"


def test_a_policy_in_python_that_misbehaves_is_refused_at_its_line(tmp_path):
    (finding,) = errors(found(tmp_path, own_policy(tmp_path, "Broken")))
    assert finding.line == 5
    assert finding.message.endswith(
        "format_remote_topic('A', 'orders') returned b'orders' instead of a topic name"
    )


def test_a_map_file_names_topics_one_by_one(tmp_path):
    (tmp_path / "names.map").write_text("orders = all-orders\nB:clicks = x\n")
    result = loaded(tmp_path, TWO + "topics.map.file = names.map\n")
    policy = policy_for(result.config.flows[0], result.config.clusters)
    named = [policy.remote_topic("A", topic) for topic in ("orders", "clicks")]
    assert named == ["all-orders", "A.clicks"]


def test_every_fault_of_a_map_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "names.map"
    path.write_text("orders\nC:a = b\n")
    messages = [each.message for each in found(tmp_path, TWO + "topics.map.file = names.map\n")]
    assert f"{path}:1: 'orders' has no =: write source-topic = target-topic" in messages
    assert f"{path}:2: 'C' is not a cluster; known: A, B" in messages


def test_a_map_file_that_is_not_there_is_an_error(tmp_path):
    (finding,) = errors(found(tmp_path, TWO + "topics.map.file = gone.map\n"))
    assert finding.message == f"reading {tmp_path / 'gone.map'}: No such file or directory"


def test_a_replacement_that_java_would_refuse_is_an_error(tmp_path):
    lines = TWO + "topics.rename.regex = (.+)\ntopics.rename.replacement = $2\n"
    assert about(found(tmp_path, lines), "topics.rename.replacement") == [
        (
            "error: $2 names a group that topics.rename.regex does not have: it has 1 → $1 for a "
            "group, ${source} for the source's name"
        )
    ]


def test_topics_of_a_file_that_would_meet_by_chance_are_warned_of(tmp_path):
    (tmp_path / "names.map").write_text("A:a = x\nB:b = x\n")
    text = TWO.replace(
        "A->B.enabled", "C.bootstrap.servers = c:9092\nA->C.enabled = true\nB->C.enabled"
    )
    lines = text.replace("A, B", "A, B, C") + "topics = a, b\ntopics.map.file = names.map\n"
    (warned,) = about(found(tmp_path, lines), "topics.map.file")
    assert warned.startswith(
        "warning: will not be copied: x: a of A and b of B would merge into this topic"
    )


@pytest.mark.parametrize("beats", ["true", "false"])
def test_bl_038_a_cluster_that_no_flow_uses_is_not_among_those_that_are_dialled(tmp_path, beats):
    lines = TWO.replace("A, B", "A, B, C") + "C.bootstrap.servers = c:9092\n"
    config = loaded(tmp_path, f"{lines}emit.heartbeats.enabled = {beats}\n").config
    assert set(config.clusters) == {"A", "B"}
    assert [each.name for each in config.flows] == ["A->B"]
