import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Real Java clients that are told of a topic and keep nothing of it: an admin client that describes it, and
 * consumers of another topic that ask how many partitions it has. What they were told, as JSON lines.
 *
 * <p>Arguments: bootstrap servers, the topic, another topic that has leaders on every broker, its partitions,
 * the brokers' ids.
 */
public class Bystanders {
    private static final int CONSUMERS = 3;
    private static final long PAUSE_MS = 250;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        String topic = arguments[1];
        List<TopicPartition> read = new ArrayList<>();
        for (int partition = 0; partition < Integer.parseInt(arguments[3]); partition++) {
            read.add(new TopicPartition(arguments[2], partition));
        }
        List<Integer> brokers = new ArrayList<>();
        for (String broker : arguments[4].split(",")) {
            brokers.add(Integer.parseInt(broker));
        }
        for (int number = 0; number < CONSUMERS; number++) {
            String name = "bystander-consumer-" + number;
            new Thread(() -> consume(name, bootstrap, topic, read), name).start();
        }
        administer("bystander-admin", bootstrap, topic, brokers);
    }

    private static void consume(String name, String bootstrap, String topic, List<TopicPartition> read) {
        Map<String, Object> properties = Map.of(
            "bootstrap.servers", bootstrap, "client.id", name, "enable.auto.commit", "false", "allow.auto.create.topics", "false",
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        consumer.assign(read);
        consumer.seekToBeginning(read);
        for (int turn = 0; true; turn++) {
            // a Fetch to every broker is what makes it connect to all of them
            consumer.poll(Duration.ofMillis(PAUSE_MS));
            Collection<?> told = turn % 2 == 0
                ? consumer.partitionsFor(topic, Duration.ofMinutes(2))
                : consumer.listTopics(Duration.ofMinutes(2)).get(topic);
            tell(name, told == null ? 0 : told.size());
        }
    }

    private static void administer(String name, String bootstrap, String topic, List<Integer> brokers)
            throws Exception {
        Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "client.id", name));
        admin.describeLogDirs(brokers).allDescriptions().get();
        while (true) {
            admin.describeTopics(List.of(topic)).allTopicNames().whenComplete((told, error) -> {
                TopicDescription found = error == null ? told.get(topic) : null;
                tell(name, found == null ? 0 : found.partitions().size());
            });
            admin.listTopics();
            Thread.sleep(PAUSE_MS);
        }
    }

    private static synchronized void tell(String client, int partitions) {
        System.out.println("{\"name\":\"told\",\"client\":\"" + client + "\",\"partitions\":" + partitions + "}");
    }
}
