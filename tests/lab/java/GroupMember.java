import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/**
 * A real Java consumer whose assignor tells what it sees and decides, as JSON lines.
 *
 * <p>Arguments: the consumer's properties, a topic, an assignor (a nested class), the file to tell into.
 */
public class GroupMember {
    private static PrintStream events;

    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.load(Files.newBufferedReader(Path.of(arguments[0])));
        Class<?> assignor = Class.forName("GroupMember$" + arguments[2]);
        properties.put("partition.assignment.strategy", List.of(assignor));
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        events = new PrintStream(Files.newOutputStream(Path.of(arguments[3])), true, StandardCharsets.UTF_8);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        Thread poller = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                poller.join(10_000);
            } catch (InterruptedException impatient) {
                Thread.currentThread().interrupt();
            }
        }));
        consumer.subscribe(List.of(arguments[1]));
        try {
            while (true) {
                consumer.poll(Duration.ofMillis(100));
            }
        } catch (WakeupException asked) {
            tell("stopped");
        } catch (RuntimeException failure) {
            tell("failed", "error", text(failure.getClass().getName()));
        } finally {
            consumer.close();
        }
    }

    private static void tell(String event, String... fields) {
        StringBuilder line = new StringBuilder("{\"event\":" + text(event));
        line.append(",\"at_ms\":").append(System.currentTimeMillis());
        for (int index = 0; index < fields.length; index += 2) {
            line.append(',').append(text(fields[index])).append(':').append(fields[index + 1]);
        }
        events.println(line.append('}'));
    }

    private static String text(String value) {
        return "\"" + value.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    private static String list(Collection<TopicPartition> partitions) {
        return partitions.stream().map(p -> "[" + text(p.topic()) + "," + p.partition() + "]")
            .collect(Collectors.joining(",", "[", "]"));
    }

    private static String bytes(ByteBuffer data) {
        if (data == null) {
            return "null";
        }
        byte[] copy = new byte[data.remaining()];
        data.duplicate().get(copy);
        return text(Base64.getEncoder().encodeToString(copy));
    }

    /** Leaves everything to another assignor, and tells what went in and came out. */
    abstract static class Told implements ConsumerPartitionAssignor {
        private final ConsumerPartitionAssignor inner;

        Told(ConsumerPartitionAssignor inner) {
            this.inner = inner;
        }

        @Override
        public String name() {
            return inner.name();
        }

        @Override
        public short version() {
            return inner.version();
        }

        @Override
        public List<RebalanceProtocol> supportedProtocols() {
            return inner.supportedProtocols();
        }

        @Override
        public ByteBuffer subscriptionUserData(Set<String> topics) {
            return inner.subscriptionUserData(topics);
        }

        @Override
        public GroupAssignment assign(Cluster cluster, GroupSubscription group) {
            Map<String, String> userData = new HashMap<>();  // assignors read it up
            group.groupSubscription().forEach((member, said) -> userData.put(member, bytes(said.userData())));
            GroupAssignment given = decide(cluster, group);
            String members = new TreeMap<>(group.groupSubscription()).entrySet().stream()
                .map(member -> text(member.getKey()) + ":{\"owned\":" + list(member.getValue().ownedPartitions())
                    + ",\"generation\":" + member.getValue().generationId().map(String::valueOf).orElse("null")
                    + ",\"user_data\":" + userData.get(member.getKey())
                    + ",\"instance_id\":" + member.getValue().groupInstanceId().map(GroupMember::text).orElse("null")
                    + ",\"assigned\":" + list(given.groupAssignment().get(member.getKey()).partitions()) + "}")
                .collect(Collectors.joining(",", "{", "}"));
            tell("assign", "protocol", text(name()), "members", members);
            return given;
        }

        GroupAssignment decide(Cluster cluster, GroupSubscription group) {
            return inner.assign(cluster, group);
        }

        @Override
        public void onAssignment(Assignment assignment, ConsumerGroupMetadata metadata) {
            tell("assigned", "generation", String.valueOf(metadata.generationId()),
                "member_id", text(metadata.memberId()), "partitions", list(assignment.partitions()));
            inner.onAssignment(assignment, metadata);
        }
    }

    /** Kafka's cooperative-sticky. */
    public static class Cooperative extends Told {
        public Cooperative() {
            super(new CooperativeStickyAssignor());
        }
    }

    /** Kafka's range: eager. */
    public static class Range extends Told {
        public Range() {
            super(new RangeAssignor());
        }
    }

    /** Kafka's sticky: eager, with the previous assignment in its user data. */
    public static class Sticky extends Told {
        public Sticky() {
            super(new StickyAssignor());
        }
    }

    /** A custom cooperative assignor that hands partitions over before their owners have revoked them. */
    public static class Hasty extends Told {
        public Hasty() {
            super(new RangeAssignor());
        }

        @Override
        public String name() {
            return "hasty";
        }

        @Override
        public List<RebalanceProtocol> supportedProtocols() {
            return List.of(RebalanceProtocol.COOPERATIVE);
        }
    }

    /** A custom cooperative assignor that believes every claim, however old: the older, the sooner. */
    public static class Credulous extends Hasty {
        @Override
        public String name() {
            return "credulous";
        }

        @Override
        GroupAssignment decide(Cluster cluster, GroupSubscription group) {
            Map<String, List<TopicPartition>> given = new TreeMap<>();
            Set<TopicPartition> free = new TreeSet<>((one, other) -> one.toString().compareTo(other.toString()));
            new TreeMap<>(group.groupSubscription()).forEach((member, subscription) -> {
                given.put(member, new ArrayList<>());
                subscription.topics().forEach(topic -> cluster.partitionsForTopic(topic)
                    .forEach(info -> free.add(new TopicPartition(topic, info.partition()))));
            });
            // whoever says that it had a partition before the group's present generation is believed first
            group.groupSubscription().entrySet().stream()
                .sorted((one, other) -> one.getValue().generationId().orElse(-1) - other.getValue().generationId().orElse(-1))
                .forEach(member -> member.getValue().ownedPartitions().forEach(partition -> {
                    if (free.remove(partition)) {
                        given.get(member.getKey()).add(partition);
                    }
                }));
            for (TopicPartition partition : free) {
                given.values().stream().min((one, other) -> one.size() - other.size()).get().add(partition);
            }
            Map<String, Assignment> assignments = new HashMap<>();
            given.forEach((member, partitions) -> assignments.put(member, new Assignment(partitions)));
            return new GroupAssignment(assignments);
        }
    }
}
