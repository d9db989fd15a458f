import java.io.File;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.record.internal.FileRecords;
import org.apache.kafka.common.utils.internals.BufferSupplier;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.image.MetadataDelta;
import org.apache.kafka.image.MetadataImage;
import org.apache.kafka.image.MetadataProvenance;
import org.apache.kafka.image.loader.MetadataBatchLoader;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.metadata.SupportedConfigChecker;
import org.apache.kafka.metadata.VersionRange;
import org.apache.kafka.raft.Batch;
import org.apache.kafka.raft.LeaderAndEpoch;
import org.apache.kafka.raft.internals.RecordsIterator;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * What Kafka's own classes make of metadata logs and snapshots.
 *
 * Arguments: folders of the log, and .checkpoint files. A log whose first segment does not begin with offset 0 is read
 * from the checkpoint of that offset on, which lies beside it. Prints a line of JSON for each image that a broker would
 * publish: where it is from, the offset of the last record in it, topics and brokers. Of a checkpoint the offset is that
 * of its name, less one.
 */
public class ImagesOfLogs {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final LeaderAndEpoch NOBODY = new LeaderAndEpoch(OptionalInt.empty(), 0);

    public static void main(String[] paths) throws Exception {
        for (String path : paths) {
            File file = new File(path);
            if (file.isDirectory()) log(file); else print(file, offset(file) - 1, checkpoint(file));
        }
    }

    private static void log(File folder) throws Exception {
        MetadataBatchLoader loader = new MetadataBatchLoader(
            new LogContext(),
            Time.SYSTEM,
            (message, cause) -> { throw new IllegalStateException(message, cause); },
            (delta, image, manifest) -> print(folder, manifest.provenance().lastContainedOffset(), image),
            SupportedConfigChecker.TRUE);
        File[] segments = folder.listFiles((in, name) -> name.endsWith(".log"));
        Arrays.sort(segments, Comparator.comparing(File::getName));
        long first = offset(segments[0]);
        loader.resetToImage(first == 0 ? MetadataImage.EMPTY : checkpoint(folder.listFiles(
            (in, name) -> name.endsWith(".checkpoint") && offset(new File(name)) == first)[0]));
        for (File segment : segments) {
            RecordsIterator<ApiMessageAndVersion> batches = read(segment);
            while (batches.hasNext()) {
                Batch<ApiMessageAndVersion> batch = batches.next();
                if (!batch.records().isEmpty()) {
                    loader.loadBatch(batch, NOBODY);
                    loader.maybeFlushBatches(NOBODY, true);
                }
            }
        }
    }

    private static long offset(File file) {
        return Long.parseLong(file.getName().split("[-.]")[0]);
    }

    private static MetadataImage checkpoint(File file) throws Exception {
        MetadataDelta delta = new MetadataDelta.Builder()
            .setImage(MetadataImage.EMPTY).setSupportedConfigChecker(SupportedConfigChecker.TRUE).build();
        RecordsIterator<ApiMessageAndVersion> batches = read(file);
        while (batches.hasNext()) batches.next().records().forEach(each -> delta.replay(each.message()));
        delta.finishSnapshot();
        return delta.apply(new MetadataProvenance(offset(file) - 1, 0, 0, true));
    }

    private static RecordsIterator<ApiMessageAndVersion> read(File file) throws Exception {
        return new RecordsIterator<>(FileRecords.open(file, false), MetadataRecordSerde.INSTANCE,
            BufferSupplier.NO_CACHING, 8 << 20, true, new LogContext());
    }

    private static void print(File from, long offset, MetadataImage image) {
        ObjectNode said = JSON.createObjectNode().put("from", from.toString()).put("offset", offset);
        ObjectNode names = said.putObject("names");
        ObjectNode partitions = said.putObject("partitions");
        image.topics().topicsById().values().forEach(topic -> {
            names.put(topic.id().toString(), topic.name());
            topic.partitions().forEach((number, now) -> partitions.putObject(topic.id() + ":" + number)
                .put("leader", now.leader)
                .put("leader_epoch", now.leaderEpoch)
                .put("partition_epoch", now.partitionEpoch)
                .put("recovering", now.leaderRecoveryState.name().equals("RECOVERING"))
                .putPOJO("isr", listed(now.isr))
                .putPOJO("replicas", listed(now.replicas))
                .putPOJO("elr", listed(now.elr)));
        });
        ObjectNode brokers = said.putObject("brokers");
        image.cluster().brokers().forEach((id, broker) -> {
            VersionRange supported = broker.supportedFeatures().get("metadata.version");
            brokers.putObject(id.toString())
                .put("epoch", broker.epoch())
                .put("incarnation_id", broker.incarnationId().toString())
                .put("fenced", broker.fenced())
                .put("in_controlled_shutdown", broker.inControlledShutdown())
                .put("metadata_version", supported == null ? null : (Integer) (int) supported.max());
        });
        System.out.println(said);
    }

    private static List<Integer> listed(int[] brokers) {
        return Arrays.stream(brokers).boxed().collect(Collectors.toList());
    }
}
