"""Greedy trees on an admissible impurity per cost (Nan, Wang and Saligrama, 2015).

A split of the rows S by feature k into S_1 and S_2 has the risk

    max over outcomes i of  cost[k] / (F(S) - F(S_i)),

and the split of least risk is taken until F is zero or no split lowers F on both sides.
F is a function of the (weighted) class counts n_1, ..., n_C:

    threshold pairs   sum over i != j of [[n_i - a]+ [n_j - a]+ - a^2]+
    powers            (sum n_i)^p - sum n_i^p
"""

from libc.math cimport INFINITY, pow
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport float32_t, float64_t, intp_t, should_stop

THRESHOLD_PAIRS = 0
POWERS = 1

# Sorted entries between two looks for Ctrl-C.
cdef intp_t POLL = 1 << 20


cdef struct Entry:
    float32_t value
    intp_t row


cdef struct Task:
    intp_t first
    intp_t last
    intp_t depth
    intp_t parent
    int is_right


cdef bint before(const Entry& a, const Entry& b) noexcept nogil:
    return a.value < b.value


cdef float64_t impurity_of(const float64_t* n, intp_t n_classes, int kind,
                           float64_t shape) noexcept nogil:
    cdef float64_t total = 0.0
    cdef float64_t answer = 0.0
    cdef float64_t a, b
    cdef intp_t i, j
    for i in range(n_classes):
        total += n[i]
    if kind == 0:
        for i in range(n_classes):
            a = n[i] - shape
            if a <= 0.0:
                continue
            for j in range(i):
                b = n[j] - shape
                if b > 0.0 and a * b > shape * shape:
                    answer += 2.0 * (a * b - shape * shape)
    else:
        answer = pow(total, shape)
        for i in range(n_classes):
            answer -= pow(n[i], shape)
        # Rounding must not leave a pure node something to split.
        if answer < 1e-12 * pow(total, shape):
            answer = 0.0
    return answer


def impurity(const float64_t[::1] counts, int kind, float64_t shape):
    """The impurity of class counts; ``shape`` is the threshold, or the power."""
    return impurity_of(&counts[0], counts.shape[0], kind, shape)


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
    intp_t[::1] left,         # OUT (2 n_rows - 1,): the first n_nodes are used
    intp_t[::1] right,        # OUT likewise
    intp_t[::1] feature,      # OUT likewise
    float64_t[::1] threshold, # OUT likewise
):
    """Grow one tree, nodes in pre-order. Rows of weight zero are left out.

    A node of n rows costs O(n_features * n * (log n + n_classes ** 2)) with threshold pairs,
    O(n_features * n * (log n + n_classes)) with powers.

    Returns
    -------
    n_nodes : int
    """
    cdef intp_t n = 0
    cdef intp_t n_features = X.shape[1]
    cdef intp_t n_nodes = 0
    cdef vector[intp_t] rows
    cdef vector[Entry] entries
    cdef vector[float64_t] here
    cdef vector[float64_t] low
    cdef vector[float64_t] high
    cdef vector[Task] stack
    cdef Task task
    cdef intp_t i, k, c, node, size, best_feature, middle
    cdef intp_t work = 0
    cdef float64_t total, drop, score, best_score, best_threshold, f_low, f_high
    with nogil:
        for i in range(X.shape[0]):
            if weight[i] > 0.0:
                rows.push_back(i)
        n = <intp_t>rows.size()
        entries.resize(n)
        task.first = 0
        task.last = n
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
            here.assign(n_classes, 0.0)
            for i in range(task.first, task.last):
                here[y[rows[i]]] += weight[rows[i]]
            total = impurity_of(here.data(), n_classes, kind, shape)
            if total <= 0.0 or task.depth >= max_depth or size < 2 * min_samples_leaf:
                continue
            best_score = 0.0
            best_feature = -1
            best_threshold = 0.0
            for k in range(n_features):
                work += size
                if work >= POLL:
                    work = 0
                    should_stop(INFINITY)
                for i in range(size):
                    entries[i].row = rows[task.first + i]
                    entries[i].value = X[entries[i].row, k]
                sort(entries.begin(), entries.begin() + size, before)
                if entries[0].value == entries[size - 1].value:
                    continue
                low.assign(n_classes, 0.0)
                high = here
                for i in range(size - 1):
                    c = y[entries[i].row]
                    low[c] += weight[entries[i].row]
                    high[c] -= weight[entries[i].row]
                    if entries[i].value == entries[i + 1].value:
                        continue
                    if i + 1 < min_samples_leaf or size - i - 1 < min_samples_leaf:
                        continue
                    f_low = impurity_of(low.data(), n_classes, kind, shape)
                    f_high = impurity_of(high.data(), n_classes, kind, shape)
                    drop = total - max(f_low, f_high)
                    score = drop / cost[k]
                    # Below rounding, a lower impurity is none.
                    if drop > 1e-12 * total and score > best_score * (1.0 + 1e-12):
                        best_score = score
                        best_feature = k
                        best_threshold = (
                            <float64_t>entries[i].value + <float64_t>entries[i + 1].value
                        ) / 2.0
            if best_feature < 0:
                continue
            feature[node] = best_feature
            threshold[node] = best_threshold
            # Rows of the left child to the front.
            middle = task.first
            for i in range(task.first, task.last):
                if <float64_t>X[rows[i], best_feature] <= best_threshold:
                    c = rows[i]
                    rows[i] = rows[middle]
                    rows[middle] = c
                    middle += 1
            task.parent = node
            task.depth += 1
            i = task.first
            task.first = middle
            task.is_right = 1
            stack.push_back(task)
            task.last = middle
            task.first = i
            task.is_right = 0
            stack.push_back(task)
    return n_nodes
