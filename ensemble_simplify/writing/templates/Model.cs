using System;
using System.Collections.Generic;
using System.Globalization;

// $about
public static class Model
{
    private static readonly double[] END = {$end};
    private static readonly int[] COLUMN = {$column};
    private static readonly int[] LEFT = {$left};
    private static readonly int[] RIGHT = {$right};
    private static readonly int[] ROOTS = {$roots};
    private static readonly double[] VALUES = {$values};
    private static readonly int[] FIRST_CODE = {$first_code};
    private static readonly int[] CODES = {$codes};
    public static readonly $answer[] CLASSES = {$classes};
    $levels

    private static Dictionary<object, int> levels(params object[] known)
    {
        var codes = new Dictionary<object, int>();
        for (int code = 0; code < known.Length; code++) codes[known[code]] = code;
        return codes;
    }

    private static object entry(IDictionary<string, object> row, string name)
    {
        object value;
        if (!row.TryGetValue(name, out value)) throw new ArgumentException("The row has no column " + name);
        return value;
    }

    /// <summary>Null, NaN and, of a number, the empty text are missing values.</summary>
    private static double number(object value)
    {
        if (value == null || value is DBNull) return double.NaN;
        if (!(value is string)) return Convert.ToDouble(value, CultureInfo.InvariantCulture);
        string word = ((string)value).Trim().ToLowerInvariant();
        if (word == "true" || word == "false") return word == "true" ? 1 : 0;
        if (word == "" || word == "nan") return double.NaN;
        return double.Parse(word, NumberStyles.Float, CultureInfo.InvariantCulture);
    }

    private static double code(object value, Dictionary<object, int> known, bool isText, double other)
    {
        if (value == null || value is DBNull || (value is double && double.IsNaN((double)value))) return double.NaN;
        object key = value is bool ? ((bool)value ? "$true" : "$false") : Convert.ToString(value, CultureInfo.InvariantCulture);
        if (!isText)
        {
            try { key = number(value) + 0.0; }
            catch (FormatException) { }
            if (key is double && double.IsNaN((double)key)) return double.NaN;
        }
        int found;
        if (known.TryGetValue(key, out found)) return found;
        if (other == -1) throw new ArgumentException("Unknown level: " + value);
        return other;
    }

    /// <summary>
    /// A number goes left if it is at most the end of a node, a code if its set has a 1 for it. NaN
    /// goes right, or left where the right child is negative. Of a leaf, the column is -1.
    /// </summary>
    private static int[] leavesOf(double[] x)
    {
        var leaf = new int[ROOTS.Length];
        for (int t = 0; t < ROOTS.Length; t++)
        {
            int i = ROOTS[t];
            while (COLUMN[i] >= 0)
            {
                double own = x[COLUMN[i] % $n_features];
                bool toLeft;
                if (double.IsNaN(own))
                {
                    toLeft = RIGHT[i] < 0;
                }
                else if (COLUMN[i] < $n_features)
                {
                    toLeft = own <= END[i];
                }
                else
                {
                    int first = FIRST_CODE[(int)END[i]], last = FIRST_CODE[(int)END[i] + 1] - 1;
                    toLeft = CODES[(int)Math.Min(last, first + own)] == 1;
                }
                i = toLeft ? LEFT[i] : Math.Abs(RIGHT[i]);
            }
            leaf[t] = LEFT[i];
        }
        return leaf;
    }

    private static double single(double x)
    {
        return (double)(float)x;
    }

    private static double power(double x)
    {
        return Math.Exp(x);
    }

    private static double sum(int[] leaf, int start, int stop, int column, double total)
    {
        for (int t = start; t < stop; t++) total += VALUES[leaf[t] * $n_scores + column];
        return total;
    }

    private static double sumSingle(int[] leaf, int start, int stop, int column, double total)
    {
        for (int t = start; t < stop; t++) total = single(total + single(VALUES[leaf[t] * $n_scores + column]));
        return total;
    }

    private static double choose(int label, int one, double yes, double no)
    {
        return label == one ? yes : no;
    }

    private static int beyond(double x, int first, bool inclusive, params double[] at)
    {
        foreach (double end in at) if (x > end || (inclusive && x == end)) first++;
        return first % 2;
    }

    private static int largest(bool last, params double[] x)
    {
        int best = 0;
        for (int i = 1; i < x.Length; i++) if (x[i] > x[best] || (last && x[i] == x[best])) best = i;
        return best;
    }

    private static double round(bool isSingle, double x)
    {
        return isSingle ? single(x) : x;
    }

    private static double[] softmax(bool isSingle, params double[] x)
    {
        double most = x[largest(false, x)], total = 0;
        var powers = new double[x.Length];
        for (int i = 0; i < x.Length; i++)
        {
            powers[i] = round(isSingle, power(round(isSingle, x[i] - most)));
            total += powers[i];
        }
        total = round(isSingle, total);
        for (int i = 0; i < x.Length; i++) powers[i] = round(isSingle, powers[i] / total);
        return powers;
    }

    private static double[] sigmoid(double x)
    {
        double upper = x > -700 ? 1 / (1 + power(-x)) : 0;
        return new double[] {1 - upper, upper};
    }

    /// <summary>The answer to a row, whose columns are found by their names.</summary>
    public static $returned $name(IDictionary<string, object> row)
    {
        var x = new double[$n_features];
$entries
        int[] leaf = leavesOf(x);
$steps
    }
}
