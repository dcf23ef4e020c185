import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/** Asks Kafka's own MirrorClient about a target: address, source alias, group. */
public class MirrorProbe {
    public static void main(String[] args) throws Exception {
        String alias = args[1];
        String group = args[2];
        Map<String, Object> properties = Map.of("bootstrap.servers", args[0]);
        Duration patience = Duration.ofSeconds(20);
        try (MirrorClient client = new MirrorClient(properties)) {
            say("heartbeatTopics", new TreeSet<>(client.heartbeatTopics()));
            say("checkpointTopics", new TreeSet<>(client.checkpointTopics()));
            say("upstreamClusters", new TreeSet<>(client.upstreamClusters()));
            say("replicationHops", client.replicationHops(alias));
            say("noHops", client.replicationHops("nowhere"));
            say("remoteTopics", new TreeSet<>(client.remoteTopics(alias)));
            say("allRemoteTopics", new TreeSet<>(client.remoteTopics()));
            client.remoteConsumerOffsets(group, alias, patience).forEach(
                (partition, offset) -> say("offset " + partition, offset.offset() + "|" + offset.metadata()));
        }
        var translated = new TreeMap<String, Long>();
        RemoteClusterUtils.translateOffsets(properties, alias, group, patience)
            .forEach((partition, offset) -> translated.put(partition.toString(), offset.offset()));
        say("translateOffsets", translated);
    }

    private static void say(String what, Object found) {
        System.out.println(what + "=" + found);
    }
}
