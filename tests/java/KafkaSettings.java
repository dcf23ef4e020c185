import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.TreeSet;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.runtime.distributed.Crypto;

/** Prints every setting that classes of Kafka declare, a line each: class, key, type. */
public class KafkaSettings {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            Class<?> declaring = Class.forName(name);
            var found = new TreeSet<String>();
            for (Field field : declaring.getDeclaredFields()) {
                if (field.getType() == ConfigDef.class && Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    // What clusters inherit has a field of its own.
                    String inherited = field.getName().equals("CLIENT_CONFIG_DEF") ? ".inherited" : "";
                    add(found, declaring.getSimpleName() + inherited, (ConfigDef) field.get(null));
                }
            }
            for (Method method : declaring.getDeclaredMethods()) {
                if (method.getReturnType() == ConfigDef.class && Modifier.isStatic(method.getModifiers())) {
                    Object[] arguments = arguments(method);
                    if (arguments != null) {
                        method.setAccessible(true);
                        add(found, declaring.getSimpleName(), (ConfigDef) method.invoke(null, arguments));
                    }
                }
            }
            if (found.isEmpty()) {
                throw new IllegalStateException(name + " declares no settings");
            }
            found.forEach(System.out::println);
        }
    }

    private static Object[] arguments(Method method) {
        Class<?>[] types = method.getParameterTypes();
        if (types.length == 0) {
            return new Object[0];
        }
        return types.length == 1 && types[0] == Crypto.class ? new Object[] {Crypto.SYSTEM} : null;
    }

    private static void add(TreeSet<String> found, String owner, ConfigDef definition) {
        definition.configKeys().forEach((key, each) -> found.add(owner + " " + key + " " + each.type));
    }
}
