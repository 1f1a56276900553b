import java.util.HashMap;
import java.util.Map;

/** $about */
public final class Model {
    private static final double[] END = doubles($end);
    private static final int[] COLUMN = ints($column);
    private static final int[] LEFT = ints($left);
    private static final int[] RIGHT = ints($right);
    private static final int[] ROOTS = ints($roots);
    private static final double[] VALUES = doubles($values);
    private static final int[] FIRST_CODE = ints($first_code);
    private static final int[] CODES = ints($codes);
    public static final $answer[] CLASSES = {$classes};
    $levels

    private static double[] doubles(String... lines) {
        String[] found = String.join(" ", lines).trim().split(" ");
        double[] numbers = new double[found[0].isEmpty() ? 0 : found.length];
        for (int i = 0; i < numbers.length; i++) numbers[i] = Double.parseDouble(found[i]);
        return numbers;
    }

    private static int[] ints(String... lines) {
        double[] found = doubles(lines);
        int[] numbers = new int[found.length];
        for (int i = 0; i < found.length; i++) numbers[i] = (int) found[i];
        return numbers;
    }

    private static Map<Object, Integer> levels(Object... known) {
        Map<Object, Integer> codes = new HashMap<>();
        for (int code = 0; code < known.length; code++) codes.put(known[code], code);
        return codes;
    }

    private static Object entry(Map<String, ?> row, String name) {
        if (!row.containsKey(name)) throw new IllegalArgumentException("The row has no column " + name);
        return row.get(name);
    }

    /** Null, NaN and, of a number, the empty text are missing values. */
    private static double number(Object value) {
        if (value == null) return Double.NaN;
        if (value instanceof Number) return ((Number) value).doubleValue();
        String word = value.toString().trim().toLowerCase();
        if (word.equals("true") || word.equals("false")) return word.equals("true") ? 1 : 0;
        return word.isEmpty() || word.equals("nan") ? Double.NaN : Double.parseDouble(word);
    }

    private static String text(Object value) {
        return value instanceof Boolean ? ((Boolean) value ? "$true" : "$false") : value.toString();
    }

    private static double code(Object value, Map<Object, Integer> known, boolean isText, double other) {
        if (value == null || (value instanceof Number && Double.isNaN(((Number) value).doubleValue()))) {
            return Double.NaN;
        }
        Object key = null;
        try {
            key = isText ? (Object) text(value) : (Object) (number(value) + 0.0);
        } catch (NumberFormatException error) {
            key = null;
        }
        if (key instanceof Double && ((Double) key).isNaN()) return Double.NaN;
        if (known.containsKey(key)) return known.get(key);
        if (other == -1) throw new IllegalArgumentException("Unknown level: " + value);
        return other;
    }

    /**
     * A number goes left if it is at most the end of a node, a code if its set has a 1 for it. NaN
     * goes right, or left where the right child is negative. Of a leaf, the column is -1.
     */
    private static int[] leavesOf(double[] x) {
        int[] leaf = new int[ROOTS.length];
        for (int t = 0; t < ROOTS.length; t++) {
            int i = ROOTS[t];
            while (COLUMN[i] >= 0) {
                double own = x[COLUMN[i] % $n_features];
                boolean toLeft;
                if (Double.isNaN(own)) {
                    toLeft = RIGHT[i] < 0;
                } else if (COLUMN[i] < $n_features) {
                    toLeft = own <= END[i];
                } else {
                    int first = FIRST_CODE[(int) END[i]], last = FIRST_CODE[(int) END[i] + 1] - 1;
                    toLeft = CODES[(int) Math.min(last, first + own)] == 1;
                }
                i = toLeft ? LEFT[i] : Math.abs(RIGHT[i]);
            }
            leaf[t] = LEFT[i];
        }
        return leaf;
    }

    private static double single(double x) {
        return (float) x;
    }

    private static double power(double x) {
        return Math.exp(x);
    }

    private static double sum(int[] leaf, int start, int stop, int column, double total) {
        for (int t = start; t < stop; t++) total += VALUES[leaf[t] * $n_scores + column];
        return total;
    }

    private static double sumSingle(int[] leaf, int start, int stop, int column, double total) {
        for (int t = start; t < stop; t++) {
            total = single(total + single(VALUES[leaf[t] * $n_scores + column]));
        }
        return total;
    }

    private static double choose(int label, int one, double yes, double no) {
        return label == one ? yes : no;
    }

    private static int beyond(double x, int first, boolean inclusive, double... at) {
        int changes = first;
        for (double end : at) if (x > end || (inclusive && x == end)) changes++;
        return changes % 2;
    }

    private static int largest(boolean last, double... x) {
        int best = 0;
        for (int i = 1; i < x.length; i++) if (x[i] > x[best] || (last && x[i] == x[best])) best = i;
        return best;
    }

    private static double[] softmax(boolean isSingle, double... x) {
        double most = x[largest(false, x)], total = 0;
        double[] powers = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            powers[i] = round(isSingle, power(round(isSingle, x[i] - most)));
            total += powers[i];
        }
        total = round(isSingle, total);
        for (int i = 0; i < x.length; i++) powers[i] = round(isSingle, powers[i] / total);
        return powers;
    }

    private static double round(boolean isSingle, double x) {
        return isSingle ? single(x) : x;
    }

    private static double[] sigmoid(double x) {
        double upper = x > -700 ? 1 / (1 + power(-x)) : 0;
        return new double[] {1 - upper, upper};
    }

    /** The answer to a row, whose columns are found by their names. */
    public static $returned $name(Map<String, ?> row) {
        double[] x = new double[$n_features];
$entries
        int[] leaf = leavesOf(x);
$steps
    }
}
