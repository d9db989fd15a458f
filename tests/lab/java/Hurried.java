import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Real Java clients that never wait: one commits at every poll, the other has a transaction for every poll.
 *
 * <p>Arguments: the consumer's properties, the topic that is read, how long in seconds, and for transactions the
 * producer's properties and the topic that is written. An error is printed, and a client that failed starts anew.
 */
public class Hurried {
    private static final Duration POLL = Duration.ofMillis(5);

    public static void main(String[] arguments) throws Exception {
        Properties consumer = properties(arguments[0], "deserializer");
        long end = System.currentTimeMillis() + 1000 * Long.parseLong(arguments[2]);
        while (System.currentTimeMillis() < end) {
            try (KafkaConsumer<byte[], byte[]> reader = new KafkaConsumer<>(consumer)) {
                reader.subscribe(List.of(arguments[1]));
                if (arguments.length == 3) {
                    commit(reader, end);
                } else {
                    transfer(reader, properties(arguments[3], "serializer"), arguments[4], end);
                }
            } catch (RuntimeException error) {
                System.out.println(error);
                Thread.sleep(50);
            }
        }
    }

    private static void commit(KafkaConsumer<byte[], byte[]> reader, long end) {
        while (System.currentTimeMillis() < end) {
            try {
                reader.poll(POLL);
                if (!reader.assignment().isEmpty()) {
                    reader.commitAsync();
                }
            } catch (RuntimeException error) {
                System.out.println(error);
            }
        }
    }

    private static void transfer(KafkaConsumer<byte[], byte[]> reader, Properties producer, String to, long end) {
        try (KafkaProducer<byte[], byte[]> writer = new KafkaProducer<>(producer)) {
            writer.initTransactions();
            for (int number = 0; System.currentTimeMillis() < end; number++) {
                ConsumerRecords<byte[], byte[]> records = reader.poll(POLL);
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<byte[], byte[]> each : records) {
                    TopicPartition of = new TopicPartition(each.topic(), each.partition());
                    offsets.put(of, new OffsetAndMetadata(each.offset() + 1, each.leaderEpoch(), ""));
                }
                writer.beginTransaction();
                writer.send(new ProducerRecord<>(to, new byte[10]));
                if (!offsets.isEmpty()) {
                    writer.sendOffsetsToTransaction(offsets, reader.groupMetadata());
                }
                if (number % 7 == 3) {
                    writer.abortTransaction();
                } else {
                    writer.commitTransaction();
                }
            }
        }
    }

    private static Properties properties(String file, String role) throws Exception {
        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(Path.of(file), StandardCharsets.UTF_8));
        String kind = role.equals("serializer") ? "ByteArraySerializer" : "ByteArrayDeserializer";
        for (String of : List.of("key.", "value.")) {
            properties.put(of + role, "org.apache.kafka.common.serialization." + kind);
        }
        return properties;
    }
}
