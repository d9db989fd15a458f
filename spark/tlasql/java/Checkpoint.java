import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.ResourceBundle;
import sun.misc.Unsafe;

/**
 * What the static fields of a loader's classes held at one moment, and all that was reached from there: restored, the
 * classes are as they were then, whatever ran meanwhile. A class that is initialised later is not known here, so all
 * of them have to be before.
 *
 * <p>Objects are followed where they can change: the loader's own, arrays, and collections of java.util. Of others
 * that the JDK has (strings, patterns, formats, streams) nothing is restored, nor of threads.
 */
final class Checkpoint {
    private static final Unsafe MEMORY = unsafe();

    private final ClassLoader loader;
    private final Map<Class<?>, List<Field>> layouts = new HashMap<>();
    /** Values of static fields that are not final. */
    private final Map<Field, Object> statics = new HashMap<>();
    /** An object, and the values of its fields in the order of its layout; an array, and its copy. */
    private final Map<Object, Object> objects = new IdentityHashMap<>();

    Checkpoint(final ClassLoader loader, final Collection<Class<?>> classes) {
        this.loader = loader;
        final ArrayDeque<Object> found = new ArrayDeque<>();
        for (final Class<?> each : classes) {
            for (final Field field : each.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    final Object value =
                            read(MEMORY.staticFieldBase(field), MEMORY.staticFieldOffset(field), field.getType());
                    if (!Modifier.isFinal(field.getModifiers())) {
                        statics.put(field, value);
                    }
                    find(value, found);
                }
            }
        }
        while (!found.isEmpty()) {
            final Object next = found.poll();
            objects.put(next, next.getClass().isArray() ? elements(next, found) : fields(next, found));
        }
    }

    /** Nothing of the loader's classes may run meanwhile. */
    void restore() {
        statics.forEach(
                (field, value) ->
                        write(
                                MEMORY.staticFieldBase(field),
                                MEMORY.staticFieldOffset(field),
                                field.getType(),
                                value));
        objects.forEach(
                (object, was) -> {
                    if (object.getClass().isArray()) {
                        System.arraycopy(was, 0, object, 0, Array.getLength(object));
                        return;
                    }
                    final Object[] values = (Object[]) was;
                    int n = 0;
                    for (final Field field : layout(object.getClass())) {
                        write(object, MEMORY.objectFieldOffset(field), field.getType(), values[n++]);
                    }
                });
    }

    private void find(final Object value, final ArrayDeque<Object> found) {
        if (value != null && changes(value.getClass()) && objects.putIfAbsent(value, value) == null) {
            found.add(value);
        }
    }

    private boolean changes(final Class<?> type) {
        if (type.isArray()) {
            return true;
        }
        if (type.isHidden()
                || Thread.class.isAssignableFrom(type)
                || Locale.class.isAssignableFrom(type)
                || ResourceBundle.class.isAssignableFrom(type)) {
            return false;
        }
        return type.getClassLoader() == loader
                || type.getPackageName().matches("java\\.util(\\.concurrent(\\.atomic|\\.locks)?)?");
    }

    private Object elements(final Object array, final ArrayDeque<Object> found) {
        final int length = Array.getLength(array);
        final Object copy = Array.newInstance(array.getClass().getComponentType(), length);
        System.arraycopy(array, 0, copy, 0, length);
        if (copy instanceof Object[]) {
            for (final Object each : (Object[]) copy) {
                find(each, found);
            }
        }
        return copy;
    }

    private Object[] fields(final Object object, final ArrayDeque<Object> found) {
        final List<Object> values = new ArrayList<>();
        for (final Field field : layout(object.getClass())) {
            final Object value = read(object, MEMORY.objectFieldOffset(field), field.getType());
            values.add(value);
            if (!field.getType().isPrimitive()) {
                find(value, found);
            }
        }
        return values.toArray();
    }

    private List<Field> layout(final Class<?> type) {
        List<Field> layout = layouts.get(type);
        if (layout == null) {
            layout = new ArrayList<>();
            for (Class<?> each = type; each != null; each = each.getSuperclass()) {
                for (final Field field : each.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        layout.add(field);
                    }
                }
            }
            layouts.put(type, layout);
        }
        return layout;
    }

    private static Object read(final Object base, final long offset, final Class<?> type) {
        if (!type.isPrimitive()) {
            return MEMORY.getObject(base, offset);
        }
        switch (type.getName()) {
            case "boolean":
                return MEMORY.getBoolean(base, offset);
            case "byte":
                return MEMORY.getByte(base, offset);
            case "char":
                return MEMORY.getChar(base, offset);
            case "short":
                return MEMORY.getShort(base, offset);
            case "int":
                return MEMORY.getInt(base, offset);
            case "float":
                return MEMORY.getFloat(base, offset);
            case "long":
                return MEMORY.getLong(base, offset);
            default:
                return MEMORY.getDouble(base, offset);
        }
    }

    private static void write(final Object base, final long offset, final Class<?> type, final Object value) {
        if (!type.isPrimitive()) {
            MEMORY.putObject(base, offset, value);
            return;
        }
        switch (type.getName()) {
            case "boolean":
                MEMORY.putBoolean(base, offset, (Boolean) value);
                break;
            case "byte":
                MEMORY.putByte(base, offset, (Byte) value);
                break;
            case "char":
                MEMORY.putChar(base, offset, (Character) value);
                break;
            case "short":
                MEMORY.putShort(base, offset, (Short) value);
                break;
            case "int":
                MEMORY.putInt(base, offset, (Integer) value);
                break;
            case "float":
                MEMORY.putFloat(base, offset, (Float) value);
                break;
            case "long":
                MEMORY.putLong(base, offset, (Long) value);
                break;
            default:
                MEMORY.putDouble(base, offset, (Double) value);
        }
    }

    private static Unsafe unsafe() {
        try {
            final Field only = Unsafe.class.getDeclaredField("theUnsafe");
            only.setAccessible(true);
            return (Unsafe) only.get(null);
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
