import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Checks tokens as Amazon MSK is documented to: a signed request (Signature Version 4) in base64.
 *
 * Options of its JAAS line: the secret of each access key, as key_<access key id>, and the region.
 */
public final class IamTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter TIME = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");
    private Map<String, ?> options;

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
        options = entries.get(0).getOptions();
    }

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback each : callbacks) {
            if (!(each instanceof OAuthBearerValidatorCallback)) {
                throw new UnsupportedCallbackException(each);
            }
            OAuthBearerValidatorCallback asked = (OAuthBearerValidatorCallback) each;
            try {
                asked.token(checked(asked.tokenValue()));
            } catch (Exception error) {
                asked.error("invalid_token", null, null);
            }
        }
    }

    private OAuthBearerToken checked(String value) throws Exception {
        URI url = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        Map<String, String> query = Arrays.stream(url.getRawQuery().split("&"))
            .map(each -> each.split("=", 2))
            .collect(Collectors.toMap(each -> each[0],
                each -> URLDecoder.decode(each[1], StandardCharsets.UTF_8)));
        String[] scope = query.get("X-Amz-Credential").split("/");
        String region = (String) options.get("region");
        long begin = LocalDateTime.parse(query.get("X-Amz-Date"), TIME).toInstant(ZoneOffset.UTC).toEpochMilli();
        long end = begin + 1000 * Long.parseLong(query.get("X-Amz-Expires"));
        require(url.getHost().equals("kafka." + region + ".amazonaws.com"), "host");
        require(query.get("Action").equals("kafka-cluster:Connect"), "action");
        require(scope[2].equals(region) && scope[3].equals("kafka-cluster"), "scope");
        require(System.currentTimeMillis() < end, "end");
        require(signature(url, query, scope).equals(query.get("X-Amz-Signature")), "signature");
        return new Token(value, scope[0], begin, end);
    }

    private String signature(URI url, Map<String, String> query, String[] scope) throws Exception {
        String signed = Arrays.stream(url.getRawQuery().split("&"))
            .filter(each -> !each.startsWith("X-Amz-Signature=") && !each.startsWith("User-Agent="))
            .sorted().collect(Collectors.joining("&"));
        String request = String.join("\n", "GET", "/", signed, "host:" + url.getHost(), "", "host", hash(""));
        String wanted = String.join("\n", "AWS4-HMAC-SHA256", query.get("X-Amz-Date"),
            String.join("/", Arrays.copyOfRange(scope, 1, scope.length)), hash(request));
        byte[] key = ("AWS4" + options.get("key_" + scope[0])).getBytes(StandardCharsets.UTF_8);
        for (String part : Arrays.copyOfRange(scope, 1, scope.length)) {
            key = mac(key, part);
        }
        return HexFormat.of().formatHex(mac(key, wanted));
    }

    private static void require(boolean condition, String what) {
        if (!condition) {
            throw new IllegalArgumentException(what);
        }
    }

    private static String hash(String text) throws Exception {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
    }

    private static byte[] mac(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
    }

    private record Token(String value, String principalName, Long startTimeMs, long lifetimeMs)
            implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }
    }
}
