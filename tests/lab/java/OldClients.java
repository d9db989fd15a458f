import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Ordinary clients in one process, written as for a Java client of 2018: what each does and is told, as JSON lines.
 *
 * <p>Arguments: bootstrap servers, then for each client a text "ROLE key=value ..." with a role of consume, transfer,
 * produce. Keys without a dot are of this program, others are configuration.
 */
public class OldClients {
    private static final String VALUE = "PAYLOAD-MUST-NOT-BE-READ-";
    private static volatile boolean stopped;

    public static void main(String[] arguments) {
        List<Thread> threads = new ArrayList<>();
        for (String text : Arrays.asList(arguments).subList(1, arguments.length)) {
            Properties settings = new Properties();
            settings.put("bootstrap.servers", arguments[0]);
            for (String setting : text.substring(text.indexOf(' ') + 1).split(" ")) {
                settings.put(setting.substring(0, setting.indexOf('=')), setting.substring(setting.indexOf('=') + 1));
            }
            Thread thread = new Thread(() -> run(text.substring(0, text.indexOf(' ')), settings));
            threads.add(thread);
            thread.start();
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            stopped = true;
            for (Thread each : threads) {
                try {
                    each.join(8_000);
                } catch (InterruptedException impatient) {
                    return;
                }
            }
        }));
    }

    private static void run(String role, Properties settings) {
        try {
            if (role.equals("consume")) {
                consume(settings);
            } else if (role.equals("transfer")) {
                transfer(settings);
            } else {
                produce(settings);
            }
        } catch (KafkaException | InterruptedException failure) {
            tell(settings, "failed", failure.getClass().getSimpleName());
        }
        tell(settings, "ended", "");
    }

    private static KafkaConsumer<byte[], byte[]> consumer(Properties settings) {
        Properties all = new Properties();
        all.put("auto.offset.reset", "earliest");
        all.put("session.timeout.ms", "6000");
        all.put("heartbeat.interval.ms", "1000");
        all.put("enable.auto.commit", "false");
        all.put("auto.commit.interval.ms", "1000");
        all.put("max.poll.records", "5");
        all.put("key.deserializer", ByteArrayDeserializer.class);
        all.put("value.deserializer", ByteArrayDeserializer.class);
        all.putAll(settings);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(all);
        consumer.subscribe(Arrays.asList("orders"), new ConsumerRebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                tell(settings, "revoked", partitions.toString());
            }

            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                tell(settings, "assigned", partitions.toString());
            }
        });
        return consumer;
    }

    private static void consume(Properties settings) throws InterruptedException {
        KafkaConsumer<byte[], byte[]> consumer = consumer(settings);
        while (!stopped) {
            ConsumerRecords<byte[], byte[]> records = poll(consumer);
            if (!records.isEmpty() && settings.get("enable.auto.commit") == null) {
                try {
                    consumer.commitSync();
                    tell(settings, "committed", records.partitions().toString());
                } catch (KafkaException refused) {
                    tell(settings, "refused", refused.getClass().getSimpleName());
                }
                Thread.sleep(500);
            }
        }
        consumer.close();
    }

    /** Consumes, produces, and commits with the group's id alone, the only way before KIP-447. */
    @SuppressWarnings("deprecation")
    private static void transfer(Properties settings) throws InterruptedException {
        KafkaConsumer<byte[], byte[]> consumer = consumer(settings);
        KafkaProducer<byte[], byte[]> producer = producer(settings);
        producer.initTransactions();
        for (int number = 1; !stopped;) {
            ConsumerRecords<byte[], byte[]> records = poll(consumer);
            if (records.isEmpty()) {
                continue;
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            try {
                producer.beginTransaction();
                for (ConsumerRecord<byte[], byte[]> record : records) {
                    offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
                    producer.send(new ProducerRecord<>("shipped", (VALUE + number).getBytes()));
                }
                producer.flush();
                tell(settings, "begun", offsets.keySet().toString());
                Thread.sleep(800);
                producer.sendOffsetsToTransaction(offsets, settings.getProperty("group.id"));
                if (number++ % 4 == 0) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            } catch (ProducerFencedException fenced) {
                tell(settings, "fenced", fenced.getClass().getSimpleName());
                break;
            }
        }
        producer.close();
        consumer.close();
    }

    private static void produce(Properties settings) throws InterruptedException {
        KafkaProducer<byte[], byte[]> producer = producer(settings);
        for (int number = 0; !stopped; number++) {
            producer.send(new ProducerRecord<>("orders", number % 3, null, (VALUE + number).getBytes()));
            Thread.sleep(300);
        }
        producer.close();
    }

    private static KafkaProducer<byte[], byte[]> producer(Properties settings) {
        Properties all = new Properties();
        all.put("enable.idempotence", "true");
        all.put("key.serializer", ByteArraySerializer.class);
        all.put("value.serializer", ByteArraySerializer.class);
        all.putAll(settings);
        return new KafkaProducer<>(all);
    }

    @SuppressWarnings("deprecation")
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) {
        return consumer.poll(300);
    }

    private static synchronized void tell(Properties settings, String event, String what) {
        System.out.println("{\"name\":\"" + event + "\",\"client\":\"" + settings.get("client.id") + "\",\"at_ms\":"
            + System.currentTimeMillis() + ",\"what\":\"" + what + "\"}");
    }
}
