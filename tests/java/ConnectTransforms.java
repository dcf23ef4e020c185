import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Applies Connect's own transforms to records: cases from standard input, results to output. */
public class ConnectTransforms {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final JsonConverter CONVERTER = new JsonConverter();
    private static final SimpleHeaderConverter HEADERS = new SimpleHeaderConverter();

    public static void main(String[] arguments) throws Exception {
        CONVERTER.configure(Map.of("schemas.enable", "false"), false);
        ArrayNode results = JSON.createArrayNode();
        for (JsonNode each : JSON.readTree(System.in)) {
            results.add(results(each));
        }
        System.out.println(JSON.writeValueAsString(results));
    }

    private static ArrayNode results(JsonNode given) throws Exception {
        @SuppressWarnings("unchecked")
        Transformation<SourceRecord> transform =
            (Transformation<SourceRecord>) made(given.get("type").asText());
        transform.configure(settings(given.get("settings")));
        Predicate<SourceRecord> predicate = null;
        if (given.hasNonNull("predicate")) {
            @SuppressWarnings("unchecked")
            Predicate<SourceRecord> found =
                (Predicate<SourceRecord>) made(given.get("predicate").asText());
            predicate = found;
            predicate.configure(settings(given.get("predicate_settings")));
        }
        ArrayNode results = JSON.createArrayNode();
        for (JsonNode each : given.get("records")) {
            results.add(result(given, each, transform, predicate));
        }
        return results;
    }

    private static JsonNode result(
        JsonNode given, JsonNode each, Transformation<SourceRecord> transform, Predicate<SourceRecord> predicate) {
        boolean json = given.get("json").asBoolean();
        ObjectNode found = JSON.createObjectNode();
        try {
            SourceRecord record = record(each, json);
            boolean applies =
                predicate == null || predicate.test(record) != given.get("negate").asBoolean();
            SourceRecord after = applies ? transform.apply(record) : record;
            if (after == null) {
                return found.put("dropped", true);
            }
            found.put("topic", after.topic());
            found.put("timestamp", after.timestamp());
            found.put("key", text(after.topic(), after.keySchema(), after.key(), json));
            found.put("value", text(after.topic(), after.valueSchema(), after.value(), json));
            ArrayNode headers = found.putArray("headers");
            for (Header header : after.headers()) {
                byte[] value = header.value() instanceof byte[] bytes ? bytes
                    : HEADERS.fromConnectHeader(after.topic(), header.key(), header.schema(), header.value());
                headers.addArray().add(header.key()).add(encoded(value));
            }
            return found;
        } catch (Exception error) {
            return JSON.createObjectNode().put("error", String.valueOf(error.getMessage()));
        }
    }

    private static SourceRecord record(JsonNode each, boolean json) {
        String topic = each.get("topic").asText();
        SchemaAndValue key = read(topic, each.get("key"), json);
        SchemaAndValue value = read(topic, each.get("value"), json);
        SourceRecord record = new SourceRecord(
            Map.of(), Map.of(), topic, 0, key.schema(), key.value(), value.schema(), value.value(),
            each.get("timestamp").asLong());
        for (JsonNode header : each.get("headers")) {
            record.headers().add(header.get(0).asText(), decoded(header.get(1)), Schema.OPTIONAL_BYTES_SCHEMA);
        }
        return record;
    }

    private static SchemaAndValue read(String topic, JsonNode text, boolean json) {
        byte[] bytes = decoded(text);
        return json ? CONVERTER.toConnectData(topic, bytes)
            : new SchemaAndValue(Schema.OPTIONAL_BYTES_SCHEMA, bytes);
    }

    private static String text(String topic, Schema schema, Object value, boolean json) {
        return encoded(json ? CONVERTER.fromConnectData(topic, schema, value) : (byte[]) value);
    }

    private static byte[] decoded(JsonNode text) {
        return text == null || text.isNull() ? null : Base64.getDecoder().decode(text.asText());
    }

    private static String encoded(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    private static Object made(String name) throws Exception {
        return Class.forName(name).getDeclaredConstructor().newInstance();
    }

    private static Map<String, String> settings(JsonNode given) {
        Map<String, String> found = new HashMap<>();
        given.fields().forEachRemaining(each -> found.put(each.getKey(), each.getValue().asText()));
        return found;
    }
}
