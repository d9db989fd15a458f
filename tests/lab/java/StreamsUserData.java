import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.assignment.AssignmentInfo;
import org.apache.kafka.streams.processor.internals.assignment.SubscriptionInfo;

/** Lines {@code subscription|assignment BASE64} to what Kafka's own classes read in them, a JSON line each. */
public class StreamsUserData {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            ByteBuffer data = ByteBuffer.wrap(Base64.getDecoder().decode(words[1]));
            System.out.println(words[0].equals("subscription") ? subscription(data) : assignment(data));
        }
    }

    private static String subscription(ByteBuffer data) {
        SubscriptionInfo info = SubscriptionInfo.decode(data);
        return "{\"version\":" + info.version() + ",\"latest_supported_version\":" + info.latestSupportedVersion()
            + ",\"process_id\":\"" + info.processId() + "\",\"error_code\":" + info.errorCode()
            + ",\"task_offset_sums\":" + info.taskOffsetSums().entrySet().stream()
                .collect(Collectors.toMap(sum -> sum.getKey().toString(), java.util.Map.Entry::getValue,
                    (one, other) -> one, TreeMap::new))
                .entrySet().stream().map(sum -> "\"" + sum.getKey() + "\":" + sum.getValue())
                .collect(Collectors.joining(",", "{", "}")) + "}";
    }

    private static String assignment(ByteBuffer data) {
        AssignmentInfo info = AssignmentInfo.decode(data);
        return "{\"version\":" + info.version() + ",\"active\":" + tasks(info.activeTasks())
            + ",\"standby\":" + tasks(info.standbyTasks().keySet())
            + ",\"next_rebalance_ms\":" + info.nextRebalanceMs() + ",\"error_code\":" + info.errCode() + "}";
    }

    private static String tasks(java.util.Collection<TaskId> tasks) {
        return tasks.stream().map(TaskId::toString).map(task -> "\"" + task + "\"")
            .collect(Collectors.toCollection(TreeSet::new)).toString();
    }
}
