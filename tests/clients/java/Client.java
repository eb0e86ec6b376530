import ai.onnxruntime.*;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.*;

/** onnxruntime for Java over the library under test. Prints `key: value` lines; ../models.py says what they must be. */
public class Client {
    static final OrtEnvironment env = OrtEnvironment.getEnvironment(OrtLoggingLevel.ORT_LOGGING_LEVEL_FATAL, "clients");

    static String model(String name) { return System.getenv("CLIENT_MODELS") + "/" + name; }
    static void print(String key, String text) { System.out.println(key + ": " + text); }

    static String list(float[] values) {
        return IntStream.range(0, values.length).mapToObj(i -> Long.toString((long) values[i])).collect(Collectors.joining(" "));
    }
    static String list(long[] values) {
        return LongStream.of(values).mapToObj(Long::toString).collect(Collectors.joining(" "));
    }
    static float[] flat(float[][] rows) {
        float[] all = new float[rows.length * rows[0].length];
        for (int i = 0; i < all.length; i++) all[i] = rows[i / rows[0].length][i % rows[0].length];
        return all;
    }

    static Map<String, OnnxTensor> feeds(Object x, long[] ids, String[] names) throws OrtException {
        return Map.of("x", OnnxTensor.createTensor(env, x), "ids", OnnxTensor.createTensor(env, ids),
                      "names", OnnxTensor.createTensor(env, names));
    }

    static void show(String prefix, OrtSession.Result r) throws OrtException {
        print(prefix + ".scaled", list(flat((float[][]) r.get("scaled").get().getValue())));
        print(prefix + ".total", list((float[]) r.get("total").get().getValue()));
        print(prefix + ".next", list((long[]) r.get("next").get().getValue()));
        print(prefix + ".greeting", String.join("|", (String[]) r.get("greeting").get().getValue()));
    }

    interface Call { AutoCloseable run() throws Exception; }

    static String message(Call call) throws Exception {
        try (AutoCloseable made = call.run()) {
            return "no error";
        } catch (OrtException e) {
            return e.getCode() + " " + e.getMessage().replaceAll("\\s+", " ");
        }
    }

    static void metadata(OrtSession session) throws OrtException {
        OnnxModelMetadata m = session.getMetadata();
        print("metadata.producer", m.getProducerName());
        print("metadata.graph", m.getGraphName());
        print("metadata.domain", m.getDomain());
        print("metadata.description", m.getDescription());
        print("metadata.version", Long.toString(m.getVersion()));
        print("metadata.custom", m.getCustomMetadata().get("team"));
    }

    static void fromFile() throws Exception {
        try (OrtSession session = env.createSession(model("ports.onnx"))) {
            print("inputs", String.join(" ", session.getInputNames()));
            print("outputs", String.join(" ", session.getOutputNames()));
            metadata(session);
            Map<String, OnnxTensor> one = feeds(new float[][]{{0, 1, 2}}, new long[]{7}, new String[]{"ann"});
            try (OrtSession.Result r = session.run(one)) {
                show("file", r);
            }
            print("error.rank", message(() -> session.run(feeds(new float[6], new long[]{7}, new String[]{"ann"}))));
            print("error.dims", message(() -> session.run(feeds(new float[1][2], new long[]{7}, new String[]{"ann"}))));
        }
    }

    static void fromBytes() throws Exception {
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        options.setIntraOpNumThreads(1);
        byte[] data = Files.readAllBytes(Path.of(model("ports.onnx")));
        Map<String, OnnxTensor> two = feeds(new float[][]{{-3, -2, -1}, {0, 1, 2}}, new long[]{-1, 9007199254740993L},
                                            new String[]{"b\u00e7", ""});
        try (OrtSession session = env.createSession(data, options); OrtSession.Result r = session.run(two)) {
            TensorInfo scaled = (TensorInfo) ((OnnxTensor) r.get("scaled").get()).getInfo();
            print("bytes.dims", list(scaled.getShape()));
            show("bytes", r);
            try (OrtSession.Result s = session.run(two, new LinkedHashSet<>(List.of("next", "total")))) {
                print("some", list((long[]) s.get(0).getValue()) + " " + list((float[]) s.get(1).getValue()));
            }
            FloatBuffer mine = ByteBuffer.allocateDirect(8).order(ByteOrder.nativeOrder()).asFloatBuffer();
            try (OnnxTensor total = OnnxTensor.createTensor(env, mine, new long[]{2});
                 OrtSession.Result s = session.run(two, Map.of("total", total))) {
                print("preallocated", list(new float[]{mine.get(0), mine.get(1)}));
            }
        }
    }

    public static void main(String[] args) throws Exception {
        System.setOut(new PrintStream(System.out, true, "UTF-8"));
        fromFile();
        fromBytes();
        print("error.absent", message(() -> env.createSession(model("absent.onnx"))));
        print("error.unknown", message(() -> env.createSession(model("unknown.onnx"))));
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            print("library", lines.map(l -> l.substring(l.lastIndexOf(' ') + 1)).filter(l -> l.matches(".*/libonnxruntime[.-].*"))
                                 .distinct().collect(Collectors.joining(" ")));
        }
    }
}
