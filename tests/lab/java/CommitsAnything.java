import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * A real Java consumer that joins a group and commits an offset which it has not read.
 *
 * <p>Arguments: the consumer's properties, a topic, a partition, an offset.
 */
public class CommitsAnything {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(Path.of(arguments[0]), StandardCharsets.UTF_8));
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("enable.auto.commit", "false");
        TopicPartition partition = new TopicPartition(arguments[1], Integer.parseInt(arguments[2]));
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
            consumer.subscribe(List.of(arguments[1]));
            for (int polls = 0; polls < 40; polls++) {
                consumer.poll(Duration.ofMillis(100));
            }
            int owned = consumer.assignment().size();
            String result;
            try {
                consumer.commitSync(Map.of(partition, new OffsetAndMetadata(Long.parseLong(arguments[3]))));
                result = "NONE";
            } catch (RuntimeException refused) {
                result = refused.getClass().getSimpleName();
            }
            System.out.println("{\"name\":\"committed_anything\",\"owned\":" + owned + ",\"result\":\"" + result + "\"}");
        }
    }
}
