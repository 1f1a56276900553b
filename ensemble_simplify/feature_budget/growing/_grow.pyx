"""Greedy trees on an admissible impurity per cost (Nan, Wang and Saligrama, 2015).

A split of the rows S by feature k into S_1 and S_2 has the risk

    max over outcomes i of  cost[k] / (F(S) - F(S_i)),

and the split of least risk is taken until F is zero or no split lowers F on both sides.
F is a function of the (weighted) class counts n_1, ..., n_C:

    threshold pairs   sum over i != j of [[n_i - a]+ [n_j - a]+ - a^2]+
    powers            (sum n_i)^p - sum n_i^p

Where purchases are shared, a split is worth the drop of the Gini impurity that it brings, summed
over its rows, less a penalty times what these rows have yet to pay for the feature and its group. A
row remembers what it has bought, in this tree or an earlier one, as a set of bits; or all rows
together do. """

from libc.math cimport pow
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float32_t, float64_t, int32_t, intp_t, uint64_t
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._sweep cimport (
    TIE, gini, impurity, is_better, middle, place_of, same_value, sort_column,
)

cpdef enum:
    THRESHOLD_PAIRS = 0
    POWERS = 1

# Sorted entries between two looks for Ctrl-C.
cdef intp_t POLL = 1 << 20


cdef struct Task:
    # A node to be made of rows[first:last].
    intp_t first
    intp_t last
    intp_t depth
    intp_t parent
    int is_right


cdef struct Split:
    float64_t score
    intp_t feature       # -1: none
    float64_t threshold


cdef struct Rule:
    # How splits are judged.
    bint shares          # by the Gini impurity; otherwise by an admissible one
    int kind
    float64_t shape      # threshold of the pairs, or exponent
    intp_t min_samples_leaf


cdef float64_t impurity_of(const vector[float64_t]& n, const Rule& rule) noexcept nogil:
    cdef float64_t total = 0.0, answer = 0.0, shape = rule.shape, a, b
    cdef size_t i, j
    for i in range(n.size()):
        total += n[i]
    # Rounding must not leave a pure node something to split.
    if rule.shares:
        answer = impurity(n.data(), n.size(), False)
        return answer if answer > TIE * total else 0.0
    if rule.kind == THRESHOLD_PAIRS:
        for i in range(n.size()):
            a = n[i] - shape
            if a <= 0.0:
                continue
            for j in range(i):
                b = n[j] - shape
                if b > 0.0 and a * b > shape * shape:
                    answer += 2.0 * (a * b - shape * shape)
    else:
        answer = pow(total, shape)
        for i in range(n.size()):
            answer -= pow(n[i], shape)
        if answer < TIE * pow(total, shape):
            answer = 0.0
    return answer


cdef void scan_feature(
    const Rule& rule,
    const vector[uint64_t]& keys,   # of the rows, sorted
    const intp_t* rows,
    const intp_t[::1] y,
    const float64_t[::1] weight,
    const vector[float64_t]& counts,
    float64_t total,                # impurity of the counts
    intp_t feature,
    float64_t cost,                 # of the feature; of this split if purchases are shared
    vector[float64_t]& low,         # scratch: class counts of the two sides
    vector[float64_t]& high,        # scratch
    Split* best,                    # IN / OUT
) noexcept nogil:
    # Replace the best split by one of this feature that is better.
    cdef intp_t size = keys.size(), i, c, row
    cdef float64_t w, drop, score
    cdef float64_t n_low = 0.0, n_high = 0.0, squares_low = 0.0, squares_high = 0.0
    low.assign(counts.size(), 0.0)
    high = counts
    for c in range(<intp_t> high.size()):
        n_high += high[c]
        squares_high += high[c] * high[c]
    for i in range(size - 1):
        row = rows[place_of(keys[i])]
        c = y[row]
        w = weight[row]
        squares_low += w * (2.0 * low[c] + w)
        squares_high -= w * (2.0 * high[c] - w)
        low[c] += w
        high[c] -= w
        n_low += w
        n_high -= w
        if same_value(keys[i], keys[i + 1]):
            continue
        if i + 1 < rule.min_samples_leaf or size - i - 1 < rule.min_samples_leaf:
            continue
        # Below rounding, a lower impurity is none.
        if rule.shares:
            drop = total - gini(squares_low, n_low) - gini(squares_high, n_high)
            score = drop - cost
            if drop <= 1e-9 * total or not is_better(score, best.score, total):
                continue
        else:
            drop = total - max(impurity_of(low, rule), impurity_of(high, rule))
            score = drop / cost
            if drop <= TIE * total or not is_better(score, best.score, best.score):
                continue
        best.score = score
        best.feature = feature
        best.threshold = middle(keys[i], keys[i + 1])


cdef class Ledger:
    """Who has bought which resources (features, and groups of them).

    Parameters
    ----------
    price : ndarray of float64, shape (n_resources,)
        In units of summed Gini impurity, a row.
    resources : ndarray of int32, shape (n_features, 2)
        Resource of each feature, and of its group; -1 where there is none to pay for.
    bought : ndarray of uint64, shape (n_rows, n_words) or (1, n_words)
        IN / OUT, a bit a resource; one line if what one row buys is free for all.
    """

    cdef readonly object prices, table, bits
    cdef const float64_t[::1] price
    cdef const int32_t[:, ::1] resources
    cdef uint64_t[:, ::1] bought
    cdef bint per_row

    def __init__(self, price, resources, bought, bint per_row):
        self.prices, self.table, self.bits = price, resources, bought
        self.price, self.resources, self.bought = price, resources, bought
        self.per_row = per_row

    def __reduce__(self):
        return Ledger, (self.prices, self.table, self.bits, self.per_row)

    def __sklearn_clone__(self):
        # Clones of a tree write into one ledger.
        return self

    cdef float64_t charge(self, intp_t feature, const vector[intp_t]& rows, intp_t first,
                          intp_t last, const float64_t[::1] weight,
                          float64_t everyone) noexcept nogil:
        # What a split on the feature costs these rows, or everyone.
        cdef float64_t total = 0.0, unpaid
        cdef intp_t i, j, word
        cdef int32_t resource
        cdef uint64_t bit
        for j in range(2):
            resource = self.resources[feature, j]
            if resource < 0:
                continue
            word = resource >> 6
            bit = (<uint64_t>1) << (resource & 63)
            unpaid = 0.0
            if self.per_row:
                for i in range(first, last):
                    if not self.bought[rows[i], word] & bit:
                        unpaid += weight[rows[i]]
            elif not self.bought[0, word] & bit:
                unpaid = everyone
            total += self.price[resource] * unpaid
        return total

    cdef void buy(self, intp_t feature, intp_t row) noexcept nogil:
        # `row` does not matter where all rows buy together.
        cdef intp_t j
        cdef int32_t resource
        for j in range(2):
            resource = self.resources[feature, j]
            if resource >= 0:
                self.bought[row if self.per_row else 0, resource >> 6] |= (
                    (<uint64_t>1) << (resource & 63)
                )

    def walk(
        self,
        const float32_t[:, ::1] X,
        const intp_t[::1] left,
        const intp_t[::1] right,
        const intp_t[::1] feature,
        const float64_t[::1] threshold,
    ):
        """Let all rows buy what they need on their way through a tree."""
        cdef intp_t row, node
        with nogil:
            for row in range(X.shape[0]):
                node = 0
                while left[node] >= 0:
                    self.buy(feature[node], row)
                    if <float64_t>X[row, feature[node]] <= threshold[node]:
                        node = left[node]
                    else:
                        node = right[node]


cdef intp_t partition(
    const float32_t[:, ::1] X,
    const Split& best,
    intp_t first,
    intp_t last,
    vector[intp_t]& rows,           # IN / OUT: those of the left child to the front
) noexcept nogil:
    # Returns where the rows of the right child begin.
    cdef intp_t divide = first, i, row
    for i in range(first, last):
        row = rows[i]
        if <float64_t>X[row, best.feature] <= best.threshold:
            rows[i] = rows[divide]
            rows[divide] = row
            divide += 1
    return divide


def grow(
    const float32_t[:, ::1] X,
    const intp_t[::1] y,
    const float64_t[::1] weight,
    intp_t n_classes,
    const float64_t[::1] cost,
    int kind,
    float64_t shape,
    intp_t max_depth,
    intp_t min_samples_leaf,
    Ledger ledger,            # IN / OUT, or None: a price counts at every split
    intp_t[::1] left,         # OUT (2 n_rows - 1,): the first n_nodes are used
    intp_t[::1] right,        # OUT likewise
    intp_t[::1] feature,      # OUT likewise
    float64_t[::1] threshold,  # OUT likewise
):
    """Grow one tree, nodes in pre-order. Rows of weight zero are left out.

    With a ledger, `cost`, `kind` and `shape` are not used: splits are judged by the drop of the
    Gini impurity less what the rows have yet to pay, which they then have paid.

    A node of n rows costs O(n_features * n * (log n + n_classes ** 2)) with threshold pairs,
    O(n_features * n * (log n + n_classes)) with powers.

    Returns
    -------
    n_nodes : int
    """
    cdef intp_t n_features = X.shape[1]
    cdef intp_t n_nodes = 0
    cdef vector[intp_t] rows
    cdef vector[uint64_t] keys
    cdef vector[uint64_t] spare
    cdef vector[float64_t] counts
    cdef vector[float64_t] low
    cdef vector[float64_t] high
    cdef vector[Task] stack
    cdef Task task
    cdef Split best
    cdef Rule rule
    cdef intp_t i, k, node, size, divide
    cdef intp_t work = 0
    cdef float64_t total, price
    cdef float64_t everyone = 0.0
    rule.shares = ledger is not None
    rule.kind = kind
    rule.shape = shape
    rule.min_samples_leaf = min_samples_leaf
    with nogil:
        for i in range(X.shape[0]):
            if weight[i] > 0.0:
                rows.push_back(i)
                everyone += weight[i]
        task.first = 0
        task.last = <intp_t>rows.size()
        task.depth = 0
        task.parent = -1
        task.is_right = 0
        stack.push_back(task)
        while stack.size():
            task = stack.back()
            stack.pop_back()
            node = n_nodes
            n_nodes += 1
            left[node] = -1
            right[node] = -1
            feature[node] = -1
            threshold[node] = 0.0
            if task.parent >= 0:
                if task.is_right:
                    right[task.parent] = node
                else:
                    left[task.parent] = node
            size = task.last - task.first
            counts.assign(n_classes, 0.0)
            for i in range(task.first, task.last):
                counts[y[rows[i]]] += weight[rows[i]]
            total = impurity_of(counts, rule)
            if total <= 0.0 or task.depth >= max_depth or size < 2 * min_samples_leaf:
                continue
            best.score = 0.0
            best.feature = -1
            best.threshold = 0.0
            for k in range(n_features):
                work += size
                if work >= POLL:
                    work = 0
                    should_stop()  # trees are grown to the end: only Ctrl-C ends this
                if rule.shares:
                    price = ledger.charge(k, rows, task.first, task.last, weight, everyone)
                    # No split is worth more than the impurity of the node.
                    if total - price <= best.score:
                        continue
                else:
                    price = cost[k]
                sort_column(
                    &X[0, k], n_features, rows.data() + task.first, size, keys, spare
                )
                if not same_value(keys[0], keys[size - 1]):
                    scan_feature(
                        rule, keys, rows.data() + task.first, y, weight, counts, total, k, price,
                        low, high, &best,
                    )
            if best.feature < 0:
                continue
            feature[node] = best.feature
            threshold[node] = best.threshold
            if rule.shares:
                for i in range(task.first, task.last):
                    ledger.buy(best.feature, rows[i])
            divide = partition(X, best, task.first, task.last, rows)
            task.parent = node
            task.depth += 1
            i = task.first
            task.first = divide
            task.is_right = 1
            stack.push_back(task)
            task.last = divide
            task.first = i
            task.is_right = 0
            stack.push_back(task)
    return n_nodes
