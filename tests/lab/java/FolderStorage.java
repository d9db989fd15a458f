import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/** Tiered storage in a folder (KIP-405): a file for each part of a segment. */
public class FolderStorage implements RemoteStorageManager {
    private static final String LOG = "LOG";
    private Path folder;

    @Override
    public void configure(Map<String, ?> configs) {
        folder = Path.of((String) configs.get("folder"));
    }

    @Override
    public Optional<RemoteLogSegmentMetadata.CustomMetadata> copyLogSegmentData(
            RemoteLogSegmentMetadata segment, LogSegmentData data) throws RemoteStorageException {
        try {
            Files.createDirectories(folder);
            copy(segment, LOG, data.logSegment());
            copy(segment, IndexType.OFFSET.name(), data.offsetIndex());
            copy(segment, IndexType.TIMESTAMP.name(), data.timeIndex());
            copy(segment, IndexType.PRODUCER_SNAPSHOT.name(), data.producerSnapshotIndex());
            if (data.transactionIndex().isPresent()) {
                copy(segment, IndexType.TRANSACTION.name(), data.transactionIndex().get());
            }
            ByteBuffer epochs = data.leaderEpochIndex();
            byte[] bytes = new byte[epochs.remaining()];
            epochs.get(bytes);
            Files.write(file(segment, IndexType.LEADER_EPOCH.name()), bytes);
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
        return Optional.empty();
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
        return fetchLogSegment(segment, start, Integer.MAX_VALUE);
    }

    @Override
    public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int end)
            throws RemoteStorageException {
        byte[] bytes = read(segment, LOG);
        int to = (int) Math.min(end + 1L, bytes.length);
        return new ByteArrayInputStream(Arrays.copyOfRange(bytes, Math.min(start, to), to));
    }

    @Override
    public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType type) throws RemoteStorageException {
        return new ByteArrayInputStream(read(segment, type.name()));
    }

    @Override
    public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
        try {
            Files.deleteIfExists(file(segment, LOG));
            for (IndexType type : IndexType.values()) {
                Files.deleteIfExists(file(segment, type.name()));
            }
        } catch (IOException error) {
            throw new RemoteStorageException(error);
        }
    }

    @Override
    public void close() {}

    private Path file(RemoteLogSegmentMetadata segment, String part) {
        return folder.resolve(segment.remoteLogSegmentId().id() + "." + part);
    }

    private void copy(RemoteLogSegmentMetadata segment, String part, Path from) throws IOException {
        Files.copy(from, file(segment, part), StandardCopyOption.REPLACE_EXISTING);
    }

    private byte[] read(RemoteLogSegmentMetadata segment, String part) throws RemoteStorageException {
        try {
            return Files.readAllBytes(file(segment, part));
        } catch (IOException error) {
            throw new RemoteResourceNotFoundException(error);
        }
    }
}
