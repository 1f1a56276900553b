"""Trees of ensemble modules: growing them on fractions of rows, routing rows through them.

A **module** is an inner node. It pools **options** (one feature each), every option a set of
**cuts** (thresholds) with weights ``phi`` that sum to one. The share of a row that goes left is
the mean over the options of ``sum(phi[t] for t in cuts if x <= t)``, or one minus that sum for
an option whose direction is turned round. The kernel never sees a value of X, only its code:
the rank of the value among the feature's distinct values (or its bin).

A node holds its rows in one of two ways. As lists: for every feature the local row numbers in
order of the codes, the sign bit marking the first row of a new code, so that children's lists
come from one stable filtering pass. Or as a histogram of class masses for every feature and
bin: since the two fractions of a row add up to what the row had, the parent's histogram minus
the smaller child's is the larger child's.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport (
    float64_t, int32_t, intp_t, now, should_stop, uint8_t, uint16_t, uint64_t,
)

cdef extern from *:
    """
    #include <atomic>
    #include <condition_variable>
    #include <mutex>
    #include <thread>
    #include <vector>

    typedef void (*es_task)(void *, Py_ssize_t, int);

    // A few threads that share out numbered tasks; the caller works along as thread 0.
    class EsCrew {
        std::vector<std::thread> threads_;
        std::mutex mutex_;
        std::condition_variable wake_, done_;
        std::atomic<Py_ssize_t> next_{0};
        es_task task_ = nullptr;
        void *context_ = nullptr;
        Py_ssize_t n_tasks_ = 0;
        unsigned long round_ = 0;
        int busy_ = 0;
        bool quit_ = false;

        void drain(int thread) {
            for (Py_ssize_t i; (i = next_.fetch_add(1)) < n_tasks_;) task_(context_, i, thread);
        }
        void work(int thread) {
            unsigned long seen = 0;
            std::unique_lock<std::mutex> lock(mutex_);
            for (;;) {
                wake_.wait(lock, [&] { return quit_ || round_ != seen; });
                if (quit_) return;
                seen = round_;
                lock.unlock();
                drain(thread);
                lock.lock();
                if (--busy_ == 0) done_.notify_one();
            }
        }
        void dismiss() {
            {
                std::lock_guard<std::mutex> lock(mutex_);
                quit_ = true;
            }
            wake_.notify_all();
            for (auto &thread : threads_) thread.join();
        }

      public:
        explicit EsCrew(int n_threads) {
            try {
                for (int i = 1; i < n_threads; ++i) threads_.emplace_back([this, i] { work(i); });
            } catch (...) {
                dismiss();
                throw;
            }
        }
        ~EsCrew() { dismiss(); }
        void run(es_task task, void *context, Py_ssize_t n_tasks, bool together) {
            if (threads_.empty() || n_tasks < 2 || !together) {
                for (Py_ssize_t i = 0; i < n_tasks; ++i) task(context, i, 0);
                return;
            }
            {
                std::lock_guard<std::mutex> lock(mutex_);
                task_ = task, context_ = context, n_tasks_ = n_tasks, next_ = 0;
                busy_ = static_cast<int>(threads_.size());
                ++round_;
            }
            wake_.notify_all();
            drain(0);
            std::unique_lock<std::mutex> lock(mutex_);
            done_.wait(lock, [&] { return busy_ == 0; });
        }
    };

    // resize() for code that must not throw: false when memory is out.
    template <class T> static bool es_resize(std::vector<T> &v, size_t n) noexcept {
        try {
            v.resize(n);
        } catch (...) {
            return false;
        }
        return true;
    }
    """
    ctypedef void (*es_task)(void*, intp_t, int) noexcept nogil
    cdef cppclass EsCrew nogil:
        EsCrew(int) except +
        void run(es_task, void*, intp_t, bint) noexcept
    bint es_resize[T](vector[T]&, size_t) noexcept nogil

cdef enum:
    FIRST_OF_CODE = -2147483648     # sign bit of a list entry: a new code begins here
    LOCAL_ROW = 0x7FFFFFFF          # the other bits: the row's number within the node
    MISSING_BIN = 65535
    BLOCK = 2048                    # rows of one gating task
    TOGETHER = 30000                # entries of a node from which sharing out pays
    POLL = 4000000                  # entries between two looks at the clock

cdef double TIE = 1e-12             # impurities this near are equal
cdef double TINY = 1e-100
cdef double DUST = 1e-12            # fractions of a row that are never told apart from 0


cdef cppclass Pending:
    # A node that waits for its turn.
    intp_t parent
    intp_t side                     # 0: left child of its parent, 1: right, -1: root
    intp_t depth
    intp_t n_rows
    bint is_leaf
    bint has_histogram
    double mass
    vector[int32_t] rows            # (n_rows,) numbers in the training set, ascending
    vector[double] fraction         # (n_rows,) share of each row, in (0, 1]
    vector[double] class_mass       # (n_classes,)
    vector[int32_t] lists           # (n_features, n_rows + 1), see above; the last is unused
    vector[int32_t] list_length     # (n_features,) without missing values; 0: constant feature
    vector[double] histogram        # (total number of bins, n_classes)

ctypedef Pending* PendingPointer


cdef cppclass Scratch:
    # One thread's workplace: the distinct codes of one feature in one node, in order.
    vector[double] below            # mass at or below each code
    vector[double] below_class      # the same, for classes 1..n_classes-1
    vector[int32_t] member          # a local row having the code; in histograms the code
    vector[double] impurity         # of the cut at each code
    vector[double] class_sum
    vector[uint64_t] key


cdef cppclass Scan:
    # What one feature has to offer in the current node.
    bint useful
    double impurity
    double left_share
    int32_t center
    vector[double] contrast         # class shares right minus left
    vector[int32_t] code            # the cuts
    vector[double] suffix           # sum of phi from each cut on


cdef cppclass Grower:
    intp_t n_samples
    intp_t n_features
    intp_t n_classes
    const int32_t* codes            # exact mode, (n_features, n_samples), -1: missing
    const uint16_t* bins            # histogram mode, the same, 65535: missing
    const intp_t* y
    const double* weight
    vector[intp_t] bin_start        # (n_features + 1,)
    intp_t list_below               # nodes with fewer rows are held as lists
    double dust_mass
    bint robust
    bint trivial
    double k                        # neighbourhood of the current node
    double min_fraction
    double impurity                 # Gini of the current node
    Pending* node
    Pending* left
    Pending* right
    vector[Scratch] scratch
    vector[Scan] scans
    vector[double] w                # (n_rows, 2) mass of each row of the node, and in class 1
    vector[int32_t] label
    vector[double] share            # (n_rows,) fraction that goes left
    vector[int32_t] to_left         # (n_rows,) local number in the child, -1: absent
    vector[int32_t] to_right
    vector[intp_t] option
    vector[uint8_t] flip
    bint out_of_memory


cdef inline int32_t code_of(Grower* g, intp_t feature, intp_t row) noexcept nogil:
    cdef uint16_t b
    if g.bins == NULL:
        return g.codes[feature * g.n_samples + row]
    b = g.bins[feature * g.n_samples + row]
    return -1 if b == MISSING_BIN else <int32_t> b


cdef inline intp_t lower_bound(const int32_t* cut, intp_t n, int32_t code) noexcept nogil:
    # First cut at or above the code.
    cdef intp_t low = 0
    cdef intp_t half
    while n > 0:
        half = n >> 1
        if cut[low + half] < code:
            low += half + 1
            n -= half + 1
        else:
            n = half
    return low


cdef inline double left_part(double fraction, double share, double smallest) noexcept nogil:
    # What of a row's fraction goes left; too small a part goes with the larger one. Equal parts
    # are kept, however small: preferring a side would make the labels' order matter.
    cdef double to_left = fraction * share
    cdef double to_right = fraction - to_left
    if to_left >= smallest - DUST and to_right >= smallest - DUST:
        return to_left
    if fabs(to_left - to_right) <= 1e-9 * fraction:
        return to_left
    return 0.0 if to_left < to_right else fraction


cdef double gini(const double* class_mass, intp_t n_classes, double mass) noexcept nogil:
    cdef double squares = 0.0
    cdef intp_t c
    if mass <= 0.0:
        return 0.0
    for c in range(n_classes):
        squares += class_mass[c] * class_mass[c]
    return 1.0 - squares / (mass * mass)


# ---------------------------------------------------------------------------------------------
# One feature in one node
# ---------------------------------------------------------------------------------------------

cdef intp_t codes_from_list(Grower* g, intp_t j, Scratch* s) noexcept nogil:
    cdef Pending* node = g.node
    cdef const int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef const double* w = g.w.data()
    cdef const int32_t* label = g.label.data()
    cdef double* below = s.below.data()
    cdef double* below_class = s.below_class.data()
    cdef double* total_class = s.class_sum.data()
    cdef int32_t* member = s.member.data()
    cdef intp_t length = node.list_length[j]
    cdef intp_t others = g.n_classes - 1
    cdef intp_t m = 0
    cdef intp_t e, c
    cdef int32_t i
    cdef double total = 0.0
    cdef double total_one = 0.0
    if length == 0:
        return 0
    i = entry[0] & LOCAL_ROW
    if others == 1:
        for e in range(length):
            if entry[e] < 0 and e > 0:
                below[m] = total
                below_class[m] = total_one
                member[m] = i
                m += 1
            i = entry[e] & LOCAL_ROW
            total += w[2 * i]
            total_one += w[2 * i + 1]
        below_class[m] = total_one
    else:
        for c in range(others):
            total_class[c] = 0.0
        for e in range(length):
            if entry[e] < 0 and e > 0:
                below[m] = total
                for c in range(others):
                    below_class[m * others + c] = total_class[c]
                member[m] = i
                m += 1
            i = entry[e] & LOCAL_ROW
            total += w[2 * i]
            if label[i]:
                total_class[label[i] - 1] += w[2 * i]
        for c in range(others):
            below_class[m * others + c] = total_class[c]
    below[m] = total
    member[m] = i
    return m + 1


cdef intp_t codes_from_histogram(Grower* g, intp_t j, Scratch* s) noexcept nogil:
    cdef intp_t n_classes = g.n_classes
    cdef intp_t others = n_classes - 1
    cdef intp_t start = g.bin_start[j]
    cdef intp_t n_bins = g.bin_start[j + 1] - start
    cdef const double* cell = g.node.histogram.data() + start * n_classes
    cdef double* total_class = s.class_sum.data()
    cdef double total = 0.0
    cdef double mass
    cdef intp_t m = 0
    cdef intp_t b, c
    for c in range(others):
        total_class[c] = 0.0
    for b in range(n_bins):
        mass = 0.0
        for c in range(n_classes):
            mass += cell[b * n_classes + c]
        if mass <= g.dust_mass:
            continue
        total += mass
        s.below[m] = total
        for c in range(others):
            total_class[c] += cell[b * n_classes + c + 1]
            s.below_class[m * others + c] = total_class[c]
        s.member[m] = <int32_t> b
        m += 1
    return m


cdef inline double two_class_impurity(
    double left, double left_one, double mass, double mass_one
) noexcept nogil:
    # Next to a great mass a dust fraction on the right can round to nothing, or less.
    cdef double right = mass - left
    cdef double right_one = mass_one - left_one
    right = right if right > TINY else TINY
    right_one = right_one if right_one < right else right
    right_one = right_one if right_one > 0.0 else 0.0
    return 2.0 * (
        left_one * (left - left_one) * right + right_one * (right - right_one) * left
    ) / (left * right)


cdef inline double impurity_at(Scratch* s, intp_t q, intp_t last, intp_t others) noexcept nogil:
    # Mass-weighted Gini impurity of the two sides of the cut at code q, times the mass.
    cdef double mass = s.below[last]
    cdef double left = s.below[q]
    cdef double right = mass - left
    cdef double a, b, first_left, first_right, squares_left, squares_right
    cdef double result = 0.0
    cdef intp_t c
    if others == 1:
        return two_class_impurity(left, s.below_class[q], mass, s.below_class[last])
    first_left = left
    first_right = right
    squares_left = 0.0
    squares_right = 0.0
    for c in range(others):
        a = s.below_class[q * others + c]
        b = s.below_class[last * others + c] - a
        first_left -= a
        first_right -= b
        squares_left += a * a
        squares_right += b * b
    if left > 0.0:
        result = left - (squares_left + first_left * first_left) / left
    if right > 0.0:
        result += right - (squares_right + first_right * first_right) / right
    return result


cdef void two_class_impurities(
    const double* below, const double* below_one, double* impurity, intp_t last
) noexcept nogil:
    # impurity_at for all cuts; a loop that compilers vectorise.
    cdef double mass = below[last]
    cdef double mass_one = below_one[last]
    cdef intp_t q
    for q in range(last):
        impurity[q] = two_class_impurity(below[q], below_one[q], mass, mass_one)


cdef void scan_feature(void* context, intp_t j, int thread) noexcept nogil:
    # The best cut of feature j, its neighbourhood, and the mean impurity over it.
    cdef Grower* g = <Grower*> context
    cdef Pending* node = g.node
    cdef Scratch* s = &g.scratch[thread]
    cdef Scan* out = &g.scans[j]
    cdef intp_t others = g.n_classes - 1
    cdef intp_t m, q, best, low, high, last, stop, c
    cdef double mass, value, least, taken, take, low_phi, high_phi, phi, total, left_mass, known
    cdef double first, left_class, right_class
    out.useful = False
    if node.has_histogram:
        m = codes_from_histogram(g, j, s)
    else:
        m = codes_from_list(g, j, s)
    if m < 2:
        if not node.has_histogram:
            node.list_length[j] = 0
        return
    last = m - 1
    mass = s.below[last]
    if others == 1:
        two_class_impurities(
            s.below.data(), s.below_class.data(), s.impurity.data(), last
        )
    else:
        for q in range(last):
            s.impurity[q] = impurity_at(s, q, last, others)
    best = 0
    least = s.impurity[0]
    for q in range(1, last):
        value = s.impurity[q]
        if value < least - TIE * mass:
            least = value
            best = q

    low = best
    high = best
    low_phi = s.below[best] - (s.below[best - 1] if best > 0 else 0.0)
    high_phi = low_phi
    if g.robust:
        taken = 0.0
        while low > 0 and g.k - taken > TIE * mass:
            low -= 1
            take = s.below[low] - (s.below[low - 1] if low > 0 else 0.0)
            if take > g.k - taken:
                take = g.k - taken
            taken += take
            low_phi = take
        taken = 0.0
        stop = last if g.trivial else last - 1
        while high < stop and g.k - taken > TIE * mass:
            high += 1
            take = s.below[high] - s.below[high - 1]
            if take > g.k - taken:
                take = g.k - taken
            taken += take
            high_phi = take

    m = high - low + 1
    if not (
        es_resize(out.code, m) and es_resize(out.suffix, m)
        and es_resize(out.contrast, g.n_classes)
    ):
        g.out_of_memory = True
        return
    total = 0.0
    value = 0.0
    left_mass = 0.0
    for c in range(g.n_classes):
        out.contrast[c] = 0.0
    for q in range(high, low - 1, -1):
        if q == low:
            phi = low_phi
        elif q == high:
            phi = high_phi
        else:
            phi = s.below[q] - s.below[q - 1]
        total += phi
        value += phi * impurity_at(s, q, last, others)
        left_mass += phi * s.below[q]
        for c in range(others):
            out.contrast[c + 1] += phi * s.below_class[q * others + c]
        if node.has_histogram:
            out.code[q - low] = s.member[q]
        else:
            out.code[q - low] = code_of(g, j, node.rows[s.member[q]])
        out.suffix[q - low] = total
    out.center = out.code[best - low]
    for q in range(m):
        out.suffix[q] /= total
    value /= total * mass
    left_mass /= total
    out.left_share = left_mass / mass

    # out.contrast holds class masses of the left side until here.
    first = 0.0
    known = 0.0
    for c in range(others):
        left_class = out.contrast[c + 1] / total
        right_class = s.below_class[last * others + c] - left_class
        out.contrast[c + 1] = right_class / (mass - left_mass) - left_class / left_mass
        first -= out.contrast[c + 1]
        known += s.below_class[last * others + c] * s.below_class[last * others + c]
    out.contrast[0] = first
    if mass < node.mass * (1.0 - 1e-9):
        # Missing values: the gain counts only for the part of the mass that is known.
        first = mass
        for c in range(others):
            first -= s.below_class[last * others + c]
        known = 1.0 - (known + first * first) / (mass * mass)
        value = g.impurity - mass / node.mass * (known - value)
    out.impurity = value
    out.useful = value < g.impurity - TIE


cdef void presort_feature(void* context, intp_t j, int thread) noexcept nogil:
    # The list of feature j in g.node, straight from the codes.
    cdef Grower* g = <Grower*> context
    cdef Pending* node = g.node
    cdef vector[uint64_t]* key = &g.scratch[thread].key
    cdef int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef intp_t i, length
    cdef int32_t code
    length = 0
    if not es_resize(key[0], node.n_rows):
        g.out_of_memory = True
        return
    for i in range(node.n_rows):
        code = code_of(g, j, node.rows[i])
        if code >= 0:
            key[0][length] = (<uint64_t> code << 32) | <uint64_t> i
            length += 1
    key[0].resize(length)
    sort(key[0].begin(), key[0].end())
    for i in range(length):
        entry[i] = <int32_t> (key[0][i] & LOCAL_ROW)
        if i == 0 or (key[0][i] >> 32) != (key[0][i - 1] >> 32):
            entry[i] |= FIRST_OF_CODE
    node.list_length[j] = <int32_t> length


cdef void filter_feature(void* context, intp_t j, int thread) noexcept nogil:
    # The children's lists of feature j from the parent's, in one stable pass each.
    cdef Grower* g = <Grower*> context
    cdef Pending* node = g.node
    cdef Pending* child
    cdef const int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef const int32_t* place
    cdef int32_t* target
    cdef intp_t length = node.list_length[j]
    cdef intp_t side, e, kept
    cdef int32_t first, local, keep
    for side in range(2):
        child = g.right if side else g.left
        if child.is_leaf:
            continue
        place = g.to_right.data() if side else g.to_left.data()
        target = child.lists.data() + j * (child.n_rows + 1)
        kept = 0
        first = 0
        for e in range(length):
            # Without branches: rows that are not in the child are overwritten by the next.
            first |= entry[e] & FIRST_OF_CODE
            local = place[entry[e] & LOCAL_ROW]
            keep = local >= 0
            target[kept] = local | first
            kept += keep
            first &= keep - 1
        child.list_length[j] = <int32_t> kept


cdef void fill_histogram(void* context, intp_t j, int thread) noexcept nogil:
    # Add the rows of g.left to its histogram and take them out of g.right's, either if held.
    cdef Grower* g = <Grower*> context
    cdef Pending* small = g.left
    cdef intp_t n_classes = g.n_classes
    cdef intp_t start = g.bin_start[j] * n_classes
    cdef const uint16_t* column = g.bins + j * g.n_samples
    cdef double* add = NULL
    cdef double* subtract = NULL
    cdef intp_t i, cell
    cdef intp_t row
    cdef double mass
    if small.has_histogram:
        add = small.histogram.data() + start
    if g.right != NULL and g.right.has_histogram:
        subtract = g.right.histogram.data() + start
    for i in range(small.n_rows):
        row = small.rows[i]
        if column[row] == MISSING_BIN:
            continue
        cell = column[row] * n_classes + g.y[row]
        mass = small.fraction[i] * g.weight[row]
        if add != NULL:
            add[cell] += mass
        if subtract != NULL:
            subtract[cell] -= mass


cdef void gate_rows(void* context, intp_t block, int thread) noexcept nogil:
    # The fraction of each row of a block that the chosen options send left.
    cdef Grower* g = <Grower*> context
    cdef Pending* node = g.node
    cdef double* share = g.share.data()
    cdef intp_t start = block * BLOCK
    cdef intp_t stop = start + BLOCK
    cdef intp_t n_options = <intp_t> g.option.size()
    cdef intp_t o, i, q, m, feature
    cdef int32_t code
    cdef Scan* scan
    cdef double value
    if stop > node.n_rows:
        stop = node.n_rows
    for i in range(start, stop):
        share[i] = 0.0
    for o in range(n_options):
        feature = g.option[o]
        scan = &g.scans[feature]
        m = <intp_t> scan.code.size()
        for i in range(start, stop):
            code = code_of(g, feature, node.rows[i])
            if code < 0:
                value = scan.left_share
            else:
                q = lower_bound(scan.code.data(), m, code)
                value = scan.suffix[q] if q < m else 0.0
            share[i] += 1.0 - value if g.flip[o] else value
    for i in range(start, stop):
        share[i] /= n_options


# ---------------------------------------------------------------------------------------------
# Growing
# ---------------------------------------------------------------------------------------------

cdef int choose_options(
    Grower* g, double eta, bint option_modules, intp_t max_options, double align
) except -1 nogil:
    # Fill g.option (best first) and g.flip; no option: the node is a leaf.
    cdef intp_t best = -1
    cdef intp_t j, c, place
    cdef double dot, norm, norm_best, turn
    cdef vector[double] reference
    cdef vector[uint64_t] key
    g.option.clear()
    g.flip.clear()
    for j in range(g.n_features):
        if g.scans[j].useful and (
            best < 0 or g.scans[j].impurity < g.scans[best].impurity - TIE
        ):
            best = j
    if best < 0:
        return 0
    # Right is where the class number is higher on average: class 1 of two.
    turn = 0.0
    norm_best = 0.0
    for c in range(g.n_classes):
        turn += c * g.scans[best].contrast[c]
        norm_best += g.scans[best].contrast[c] * g.scans[best].contrast[c]
    turn = -1.0 if turn < -TIE else 1.0
    reference.resize(g.n_classes)
    for c in range(g.n_classes):
        reference[c] = turn * g.scans[best].contrast[c]
    g.option.push_back(best)
    if option_modules:
        for j in range(g.n_features):
            if j == best or not g.scans[j].useful:
                continue
            if g.scans[j].impurity > g.scans[best].impurity + eta + TIE:
                continue
            if g.n_classes > 2:
                dot = 0.0
                norm = 0.0
                for c in range(g.n_classes):
                    dot += reference[c] * g.scans[j].contrast[c]
                    norm += g.scans[j].contrast[c] * g.scans[j].contrast[c]
                if fabs(dot) < align * sqrt(norm * norm_best) - TIE or norm <= 0.0:
                    continue
            # By impurity, equal ones (to 11 digits) in order of the features.
            key.push_back((<uint64_t> (g.scans[j].impurity * 1e11 + 0.5) << 24) | <uint64_t> j)
        sort(key.begin(), key.end())
        for place in range(<intp_t> key.size()):
            if max_options > 0 and <intp_t> g.option.size() >= max_options:
                break
            g.option.push_back(<intp_t> (key[place] & 0xFFFFFF))
    for place in range(<intp_t> g.option.size()):
        j = g.option[place]
        dot = 0.0
        for c in range(g.n_classes):
            dot += reference[c] * g.scans[j].contrast[c]
        if g.n_classes == 2:
            dot = g.scans[j].contrast[1]
        g.flip.push_back(dot < -TIE)
    return 0


cdef int divide_rows(Grower* g, Pending* left, Pending* right) except -1 nogil:
    # Rows, fractions and class masses of the two children of g.node.
    cdef Pending* node = g.node
    cdef intp_t i, label
    cdef double to_left, to_right, mass
    left.class_mass.resize(g.n_classes)
    right.class_mass.resize(g.n_classes)
    for i in range(node.n_rows):
        to_left = left_part(node.fraction[i], g.share[i], g.min_fraction)
        to_right = node.fraction[i] - to_left
        mass = g.weight[node.rows[i]]
        label = g.label[i]
        g.to_left[i] = -1
        g.to_right[i] = -1
        if to_left > 0.0:
            g.to_left[i] = <int32_t> left.rows.size()
            left.rows.push_back(node.rows[i])
            left.fraction.push_back(to_left)
            left.class_mass[label] += mass * to_left
        if to_right > 0.0:
            g.to_right[i] = <int32_t> right.rows.size()
            right.rows.push_back(node.rows[i])
            right.fraction.push_back(to_right)
            right.class_mass[label] += mass * to_right
    return 0


cdef double neighborhood(const double[::1] at, const double[::1] k, double mass) noexcept nogil:
    # k of a node: the square root of its mass, or interpolated in a table.
    cdef intp_t n = at.shape[0]
    cdef intp_t low, high, middle
    if n == 0:
        return sqrt(mass)
    if mass <= at[0]:
        return k[0]
    if mass >= at[n - 1]:
        return k[n - 1]
    low = 0
    high = n - 1
    while high - low > 1:
        middle = (low + high) >> 1
        if at[middle] <= mass:
            low = middle
        else:
            high = middle
    return k[low] + (k[high] - k[low]) * (mass - at[low]) / (at[high] - at[low])


cdef class _Output:
    """What `grow` has found so far."""

    cdef vector[intp_t] left, right, depth
    cdef vector[double] mass, value
    cdef vector[intp_t] option_start, option_feature, option_center, cut_start, cut_code
    cdef vector[uint8_t] option_flip
    cdef vector[double] option_impurity, option_missing, cut_suffix
    cdef vector[PendingPointer] stack
    cdef Pending* parent            # the node whose children are being made
    cdef Grower g
    cdef EsCrew* crew

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.stack.size()):
            del self.stack[i]
        if self.parent != NULL:
            del self.parent
        if self.crew != NULL:
            del self.crew


cdef object integers(vector[intp_t]& source):
    cdef intp_t[::1] view
    cdef size_t i
    result = np.empty(source.size(), dtype=np.intp)
    view = result
    for i in range(source.size()):
        view[i] = source[i]
    return result


cdef object doubles(vector[double]& source):
    cdef double[::1] view
    cdef size_t i
    result = np.empty(source.size(), dtype=np.float64)
    view = result
    for i in range(source.size()):
        view[i] = source[i]
    return result


def grow(
    const int32_t[:, ::1] codes,        # (n_features, n_samples) or None
    const uint16_t[:, ::1] bins,        # (n_features, n_samples) or None
    const intp_t[::1] n_codes,          # (n_features,)
    const intp_t[::1] y,
    const double[::1] sample_weight,
    intp_t n_classes,
    *,
    double option_threshold,
    bint option_modules,
    bint robust_splits,
    intp_t max_options,
    const double[::1] k_mass,
    const double[::1] k_value,
    intp_t max_depth,
    double min_mass,
    double min_fraction,
    bint trivial_threshold,
    double align,
    intp_t list_below,
    int n_threads,
    double seconds,
):
    """Grow a tree of modules; the order of the nodes is pre-order.

    Give `codes` (exact) or `bins` (histograms) and None for the other. Returns a dict of arrays
    and ``"timed_out"``.
    """
    cdef _Output out = _Output()
    cdef bint timed_out
    cdef const int32_t* code_data = NULL
    cdef const uint16_t* bin_data = NULL
    cdef intp_t n_samples = y.shape[0]
    if codes is not None:
        code_data = &codes[0, 0]
    else:
        bin_data = &bins[0, 0]
    with nogil:
        timed_out = _grow(
            out, code_data, bin_data, n_codes, &y[0], &sample_weight[0], n_samples, n_classes,
            option_threshold, option_modules, robust_splits, max_options, k_mass, k_value,
            max_depth, min_mass, min_fraction, trivial_threshold, align, list_below, n_threads,
            now() + seconds,
        )
    flips = np.empty(out.option_flip.size(), dtype=bool)
    cdef uint8_t[::1] flip_view = flips.view(np.uint8)
    cdef size_t i
    for i in range(out.option_flip.size()):
        flip_view[i] = out.option_flip[i]
    return {
        "left": integers(out.left),
        "right": integers(out.right),
        "depth": integers(out.depth),
        "mass": doubles(out.mass),
        "value": doubles(out.value).reshape(-1, n_classes),
        "option_start": integers(out.option_start),
        "option_feature": integers(out.option_feature),
        "option_flip": flips,
        "option_center": integers(out.option_center),
        "option_impurity": doubles(out.option_impurity),
        "option_missing": doubles(out.option_missing),
        "cut_start": integers(out.cut_start),
        "cut_code": integers(out.cut_code),
        "cut_suffix": doubles(out.cut_suffix),
        "timed_out": bool(timed_out),
    }


cdef int _grow(
    _Output out, const int32_t* codes, const uint16_t* bins, const intp_t[::1] n_codes,
    const intp_t* y, const double* weight, intp_t n_samples, intp_t n_classes,
    double option_threshold, bint option_modules, bint robust, intp_t max_options,
    const double[::1] k_mass, const double[::1] k_value, intp_t max_depth, double min_mass,
    double min_fraction, bint trivial, double align, intp_t list_below, int n_threads,
    double deadline,
) except -1 nogil:
    cdef Grower* g = &out.g
    cdef Pending* node
    cdef Pending* child
    cdef Pending* small
    cdef Pending* large
    cdef intp_t i, j, c, o, ident, side, n_bins, most_codes, entries
    cdef intp_t since_poll = 0
    cdef bint timed_out = False
    cdef bint together
    cdef Scan* scan

    g.n_samples = n_samples
    g.n_features = n_codes.shape[0]
    g.n_classes = n_classes
    g.codes = codes
    g.bins = bins
    g.y = y
    g.weight = weight
    g.robust = robust
    g.trivial = trivial
    g.min_fraction = max(min_fraction, 2.0 * DUST)
    g.list_below = list_below
    g.out_of_memory = False
    g.bin_start.resize(g.n_features + 1)
    most_codes = 1
    for j in range(g.n_features):
        g.bin_start[j + 1] = g.bin_start[j] + n_codes[j]
        most_codes = max(most_codes, n_codes[j])
    n_bins = g.bin_start[g.n_features]
    g.scans.resize(g.n_features)
    g.scratch.resize(n_threads)
    for i in range(n_threads):
        g.scratch[i].below.resize(most_codes)
        g.scratch[i].below_class.resize(most_codes * n_classes)
        g.scratch[i].member.resize(most_codes)
        g.scratch[i].impurity.resize(most_codes)
        g.scratch[i].class_sum.resize(n_classes)
    g.w.resize(2 * n_samples)
    g.label.resize(n_samples)
    g.share.resize(n_samples)
    g.to_left.resize(n_samples)
    g.to_right.resize(n_samples)
    out.crew = new EsCrew(n_threads)
    out.option_start.push_back(0)
    out.cut_start.push_back(0)

    node = new Pending()
    out.stack.push_back(node)
    node.parent = -1
    node.side = -1
    node.depth = 0
    node.n_rows = n_samples
    node.rows.resize(n_samples)
    node.fraction.resize(n_samples)
    node.class_mass.resize(n_classes)
    for i in range(n_samples):
        node.rows[i] = <int32_t> i
        node.fraction[i] = 1.0
        node.class_mass[y[i]] += weight[i]
    settle(g, node, max_depth, min_mass)
    g.dust_mass = 1e-7 * node.mass / n_samples
    together = n_samples * g.n_features > TOGETHER
    if not node.is_leaf:
        if bins != NULL and n_samples >= list_below:
            node.has_histogram = True
            node.histogram.resize(n_bins * n_classes)
            g.left = node
            g.right = NULL
            out.crew.run(fill_histogram, g, g.n_features, together)
        else:
            presort(g, node, out.crew)

    while not out.stack.empty():
        node = out.stack.back()
        ident = <intp_t> out.left.size()
        if node.side == 0:
            out.left[node.parent] = ident
        elif node.side == 1:
            out.right[node.parent] = ident
        out.left.push_back(-1)
        out.right.push_back(-1)
        out.depth.push_back(node.depth)
        out.mass.push_back(node.mass)
        for c in range(n_classes):
            out.value.push_back(node.class_mass[c] / node.mass)
        if not node.is_leaf:
            entries = node.n_rows * g.n_features
            since_poll += entries + 1000
            if since_poll > POLL and not timed_out:
                since_poll = 0
                timed_out = should_stop(deadline)
        if node.is_leaf or timed_out:
            out.option_start.push_back(<intp_t> out.option_feature.size())
            out.stack.pop_back()
            del node
            continue

        together = entries > TOGETHER
        g.node = node
        g.k = neighborhood(k_mass, k_value, node.mass)
        g.impurity = gini(node.class_mass.data(), n_classes, node.mass)
        for i in range(node.n_rows):
            g.label[i] = <int32_t> y[node.rows[i]]
            g.w[2 * i] = node.fraction[i] * weight[node.rows[i]]
            g.w[2 * i + 1] = g.w[2 * i] if g.label[i] == 1 else 0.0
        out.crew.run(scan_feature, g, g.n_features, together)
        check_memory(g)
        choose_options(
            g, option_threshold / <double> ((node.depth + 1) ** 3), option_modules, max_options,
            align,
        )
        if g.option.empty():
            out.option_start.push_back(<intp_t> out.option_feature.size())
            out.stack.pop_back()
            del node
            continue
        out.crew.run(gate_rows, g, (node.n_rows + BLOCK - 1) // BLOCK, together)

        # The children replace their parent on the stack; the left one is on top.
        out.stack.pop_back()
        out.parent = node
        out.stack.push_back(new Pending())
        out.stack.push_back(new Pending())
        g.right = out.stack[out.stack.size() - 2]
        g.left = out.stack.back()
        divide_rows(g, g.left, g.right)
        for side in range(2):
            child = g.right if side else g.left
            child.parent = ident
            child.side = side
            child.depth = node.depth + 1
            child.n_rows = <intp_t> child.rows.size()
            settle(g, child, max_depth, min_mass)
        if g.left.n_rows == 0 or g.right.n_rows == 0:
            for side in range(2):
                child = out.stack.back()
                out.stack.pop_back()
                del child
            out.option_start.push_back(<intp_t> out.option_feature.size())
            out.parent = NULL
            del node
            continue

        for o in range(<intp_t> g.option.size()):
            scan = &g.scans[g.option[o]]
            out.option_feature.push_back(g.option[o])
            out.option_flip.push_back(g.flip[o])
            out.option_center.push_back(scan.center)
            out.option_impurity.push_back(scan.impurity)
            out.option_missing.push_back(
                1.0 - scan.left_share if g.flip[o] else scan.left_share
            )
            for i in range(<intp_t> scan.code.size()):
                out.cut_code.push_back(scan.code[i])
                out.cut_suffix.push_back(scan.suffix[i])
            out.cut_start.push_back(<intp_t> out.cut_code.size())
        out.option_start.push_back(<intp_t> out.option_feature.size())

        if not node.has_histogram:
            for side in range(2):
                child = g.right if side else g.left
                if not child.is_leaf:
                    child.lists.resize(g.n_features * (child.n_rows + 1))
                    child.list_length.resize(g.n_features)
            if not (g.left.is_leaf and g.right.is_leaf):
                out.crew.run(filter_feature, g, g.n_features, together)
        else:
            small = g.left
            large = g.right
            if small.n_rows > large.n_rows:
                small = g.right
                large = g.left
            if not large.is_leaf and large.n_rows >= list_below:
                large.has_histogram = True
                large.histogram.swap(node.histogram)
            if not small.is_leaf and small.n_rows >= list_below:
                small.has_histogram = True
                small.histogram.resize(n_bins * n_classes)
            g.left = small
            g.right = large
            if small.has_histogram or large.has_histogram:
                out.crew.run(fill_histogram, g, g.n_features, together)
            if not small.is_leaf and not small.has_histogram:
                presort(g, small, out.crew)
            if not large.is_leaf and not large.has_histogram:
                presort(g, large, out.crew)
        out.parent = NULL
        del node
        check_memory(g)
    return timed_out


cdef int check_memory(Grower* g) except -1 nogil:
    if g.out_of_memory:
        with gil:
            raise MemoryError("No memory left for the lists of a node.")
    return 0


cdef void settle(Grower* g, Pending* node, intp_t max_depth, double min_mass) noexcept nogil:
    # Mass of a node, and whether it is a leaf before any split is looked for.
    cdef intp_t c
    node.has_histogram = False
    node.mass = 0.0
    for c in range(g.n_classes):
        node.mass += node.class_mass[c]
    node.is_leaf = (
        node.depth >= max_depth
        or node.mass < min_mass * (1.0 - 1e-12)
        or gini(node.class_mass.data(), g.n_classes, node.mass) <= TIE
    )


cdef int presort(Grower* g, Pending* node, EsCrew* crew) except -1 nogil:
    cdef Pending* current = g.node
    node.lists.resize(g.n_features * (node.n_rows + 1))
    node.list_length.resize(g.n_features)
    g.node = node
    crew.run(presort_feature, g, g.n_features, node.n_rows * g.n_features > TOGETHER)
    g.node = current
    return check_memory(g)


# ---------------------------------------------------------------------------------------------
# Routing
# ---------------------------------------------------------------------------------------------

cdef struct Segment:
    intp_t node
    intp_t start
    intp_t count


cdef class Router:
    """Routes rows through a grown tree.

    Parameters
    ----------
    left, right : ndarray of intp, shape (n_nodes,)
    value : ndarray of float64, shape (n_nodes, n_classes)
    option_start : ndarray of intp, shape (n_nodes + 1,)
    option_feature : ndarray of intp
    option_flip : ndarray of uint8
    option_missing : ndarray of float64
    cut_start : ndarray of intp
    cut_threshold, cut_suffix : ndarray of float64
    min_fraction : float
    """

    cdef const intp_t[::1] left, right, option_start, option_feature, cut_start
    cdef const double[:, ::1] value
    cdef const uint8_t[::1] option_flip
    cdef const double[::1] option_missing, cut_threshold, cut_suffix
    cdef double min_fraction

    def __init__(
        self, left, right, value, option_start, option_feature, option_flip, option_missing,
        cut_start, cut_threshold, cut_suffix, min_fraction,
    ):
        self.left = left
        self.right = right
        self.value = value
        self.option_start = option_start
        self.option_feature = option_feature
        self.option_flip = option_flip
        self.option_missing = option_missing
        self.cut_start = cut_start
        self.cut_threshold = cut_threshold
        self.cut_suffix = cut_suffix
        self.min_fraction = max(min_fraction, 2.0 * DUST)

    def mean(self, const double[:, ::1] X, double[:, ::1] proba):  # OUT: proba
        """Weighted mean of the leaf values of each row; `proba` comes in as zeros."""
        cdef vector[intp_t] row, leaf
        cdef vector[double] fraction
        with nogil:
            self.route(X, 0, proba, proba, row, leaf, fraction)

    def moments(
        self, const double[:, ::1] X, double[:, ::1] mean, double[:, ::1] variance  # OUT
    ):
        """Weighted mean and variance of the leaf values; both come in as zeros."""
        cdef vector[intp_t] row, leaf
        cdef vector[double] fraction
        with nogil:
            self.route(X, 1, mean, variance, row, leaf, fraction)

    def leaves(self, const double[:, ::1] X):
        """Triplets (row, node of the leaf, fraction), ordered by leaf within blocks of rows."""
        cdef vector[intp_t] row, leaf
        cdef vector[double] fraction
        cdef double[:, ::1] nothing = np.empty((1, 1))
        with nogil:
            self.route(X, 2, nothing, nothing, row, leaf, fraction)
        return integers(row), integers(leaf), doubles(fraction)

    def share(self, intp_t node, const double[:, ::1] X, double[::1] share):  # OUT: share
        """Fraction of each whole row that the module `node` sends left."""
        cdef intp_t i
        cdef vector[intp_t] row
        for i in range(X.shape[0]):
            row.push_back(i)
        if X.shape[0]:
            self.gate(node, X, row.data(), X.shape[0], &share[0])

    cdef void gate(
        self, intp_t node, const double[:, ::1] X, const intp_t* row, intp_t count, double* share
    ) noexcept nogil:
        cdef intp_t first = self.option_start[node]
        cdef intp_t last = self.option_start[node + 1]
        cdef intp_t o, i, feature, start, n_cuts, low, n, half
        cdef const double* cut
        cdef double x, v
        for i in range(count):
            share[i] = 0.0
        for o in range(first, last):
            feature = self.option_feature[o]
            start = self.cut_start[o]
            n_cuts = self.cut_start[o + 1] - start
            cut = &self.cut_threshold[start]
            for i in range(count):
                x = X[row[i], feature]
                if x != x:
                    share[i] += self.option_missing[o]
                    continue
                if x > cut[n_cuts - 1]:
                    v = 0.0
                elif x <= cut[0]:
                    v = 1.0
                else:
                    low = 0
                    n = n_cuts
                    while n > 0:
                        half = n >> 1
                        if cut[low + half] < x:
                            low += half + 1
                            n -= half + 1
                        else:
                            n = half
                    v = self.cut_suffix[start + low]
                share[i] += 1.0 - v if self.option_flip[o] else v
        for i in range(count):
            share[i] /= last - first

    cdef int route(
        self, const double[:, ::1] X, int mode, double[:, ::1] first, double[:, ::1] second,
        vector[intp_t]& out_row, vector[intp_t]& out_leaf, vector[double]& out_fraction,
    ) except -1 nogil:
        # Depth first, a block of rows at a time; a node's rows lie on top of its ancestors'.
        cdef intp_t n = X.shape[0]
        cdef intp_t block = 512
        cdef intp_t n_classes = self.value.shape[1]
        cdef intp_t begin, i, c, r, top, needed, n_left, n_right
        cdef vector[intp_t] row
        cdef vector[double] fraction, share, held
        cdef vector[intp_t] left_row
        cdef vector[double] left_fraction
        cdef vector[Segment] stack
        cdef Segment segment, child
        cdef double f, to_left, to_right, delta
        share.resize(block)
        left_row.resize(block)
        left_fraction.resize(block)
        begin = 0
        while begin < n:
            held.assign(block, 0.0)
            segment.node = 0
            segment.start = 0
            segment.count = min(block, n - begin)
            if <intp_t> row.size() < segment.count:
                row.resize(segment.count)
                fraction.resize(segment.count)
            for i in range(segment.count):
                row[i] = begin + i
                fraction[i] = 1.0
            stack.push_back(segment)
            while not stack.empty():
                segment = stack.back()
                stack.pop_back()
                if self.left[segment.node] < 0:
                    for i in range(segment.start, segment.start + segment.count):
                        r = row[i]
                        f = fraction[i]
                        if mode == 0:
                            for c in range(n_classes):
                                first[r, c] += f * self.value[segment.node, c]
                        elif mode == 1:
                            held[r - begin] += f
                            for c in range(n_classes):
                                delta = self.value[segment.node, c] - first[r, c]
                                first[r, c] += delta * f / held[r - begin]
                                second[r, c] += (
                                    f * delta * (self.value[segment.node, c] - first[r, c])
                                )
                        else:
                            out_row.push_back(r)
                            out_leaf.push_back(segment.node)
                            out_fraction.push_back(f)
                    continue
                top = segment.start + segment.count
                needed = top + 2 * segment.count
                if <intp_t> row.size() < needed:
                    row.resize(needed)
                    fraction.resize(needed)
                self.gate(
                    segment.node, X, row.data() + segment.start, segment.count, share.data()
                )
                # The right child's rows come first, so that the left child is on top.
                n_left = 0
                n_right = 0
                for i in range(segment.count):
                    r = row[segment.start + i]
                    f = fraction[segment.start + i]
                    to_left = left_part(f, share[i], self.min_fraction)
                    to_right = f - to_left
                    if to_right > 0.0:
                        row[top + n_right] = r
                        fraction[top + n_right] = to_right
                        n_right += 1
                    if to_left > 0.0:
                        left_row[n_left] = r
                        left_fraction[n_left] = to_left
                        n_left += 1
                if n_right > 0:
                    child.node = self.right[segment.node]
                    child.start = top
                    child.count = n_right
                    stack.push_back(child)
                if n_left > 0:
                    for i in range(n_left):
                        row[top + n_right + i] = left_row[i]
                        fraction[top + n_right + i] = left_fraction[i]
                    child.node = self.left[segment.node]
                    child.start = top + n_right
                    child.count = n_left
                    stack.push_back(child)
            begin += block
            if (begin // block) % 64 == 0:
                should_stop(INFINITY)
        return 0
