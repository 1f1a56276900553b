"""Trees of ensemble modules, grown on fractions of rows, and rows routed through them.

A **module** is an inner node. It pools **options** (one feature each), every option a set of
**cuts** (thresholds) with weights that sum to one. The share of a row that goes left is the mean
over the options of the weight of the cuts that are not below the row's value, or one minus that
for an option whose direction is turned round. The kernel never sees a value of X, only its code:
the rank of the value among the feature's distinct values (or its bin).

A node holds its rows in one of two ways. As lists: for every feature the local row numbers in
order of the codes, the sign bit marking the first row of a new code, so that children's lists
come from one stable filtering pass. Or as a histogram of class masses for every feature and
bin: since the two fractions of a row add up to what the row had, the parent's histogram minus
the smaller child's is the larger child's.

A row goes both ways at a module, so it may end in many leaves. To route rows through a grown tree,
they are taken in blocks; the rows of a block that reach a node stand in one segment of two arrays,
row and fraction, and the segments that are still to be divided are a stack on top of them: the
memory for a block is what one path from the root to a leaf needs.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport int32_t, intp_t, uint8_t, uint16_t, uint64_t
from ensemble_simplify.grid._limits cimport should_stop
from ensemble_simplify.grid._sweep cimport TIE, gini, same_value, sort_keys

cdef extern from *:
    """
    // Impurity times mass of both sides of every cut, for two classes, with one division. Next to
    // a great mass a tiny fraction on the right can round to nothing, or less. GCC vectorises
    // the loop only if it may take it that no floating-point exception is trapped.
    #if defined(__GNUC__) && !defined(__clang__)
    __attribute__((optimize("no-trapping-math")))
    #endif
    static void es_rate_cuts_of_two(
        const double *left, const double *left_one, double *impurity, Py_ssize_t n, double mass,
        double mass_one
    ) {
        for (Py_ssize_t q = 0; q < n; ++q) {
            const double l = left[q], l_one = left_one[q];
            double r = mass - l, r_one = mass_one - l_one;
            r = r > 1e-100 ? r : 1e-100;
            r_one = r_one < r ? r_one : r;
            r_one = r_one > 0.0 ? r_one : 0.0;
            impurity[q] = 2.0 * (l_one * (l - l_one) * r + r_one * (r - r_one) * l) / (l * r);
        }
    }

    // The least of n > 0 numbers; four at a time, which do not wait for each other.
    static double es_least(const double *value, Py_ssize_t n) {
        double least[4] = {value[0], value[0], value[0], value[0]};
        Py_ssize_t q = 0;
        for (; q + 4 <= n; q += 4)
            for (int k = 0; k < 4; ++k)
                least[k] = value[q + k] < least[k] ? value[q + k] : least[k];
        for (; q < n; ++q) least[0] = value[q] < least[0] ? value[q] : least[0];
        for (int k = 1; k < 4; ++k) least[0] = least[k] < least[0] ? least[k] : least[0];
        return least[0];
    }
    """
    void rate_cuts_of_two_classes "es_rate_cuts_of_two"(
        const double*, const double*, double*, intp_t, double, double
    ) noexcept nogil
    double least_of "es_least"(const double*, intp_t) noexcept nogil

cdef enum:
    MISSING_BIN = 65535             # code of a missing value among bins
    FIRST_OF_CODE = -2147483648     # sign bit of a list entry: a new code begins here
    LOCAL_ROW = 0x7FFFFFFF          # the other bits: the row's number within the node
    BLOCK = 2048                    # rows whose shares are added up together
    WORK_PER_CHECK = 4000000        # rows times features between two looks at the clock
    ROUTED = 512                    # rows routed together
    BLOCKS_PER_CHECK = 64           # between two looks for Ctrl-C

cdef extern from "<algorithm>" namespace "std" nogil:
    # The first of sorted numbers that is at least (lower) or above (upper) a value.
    Iterator lower_bound[Iterator, T](Iterator first, Iterator last, T value) noexcept
    Iterator upper_bound[Iterator, T](Iterator first, Iterator last, T value) noexcept


cdef inline double negligible() noexcept nogil:
    # Fractions below this count as 0.
    return 1e-12


cdef inline double smallest_fraction(double min_fraction) noexcept nogil:
    return max(min_fraction, 2.0 * negligible())


cdef inline double left_part(double fraction, double share, double smallest) noexcept nogil:
    # What of a row's fraction goes left; too small a part goes with the larger one. Equal parts
    # are kept, however small: preferring a side would make the labels' order matter.
    cdef double to_left = fraction * share
    cdef double to_right = fraction - to_left
    if to_left >= smallest - negligible() and to_right >= smallest - negligible():
        return to_left
    if fabs(to_left - to_right) <= 1e-9 * fraction:
        return to_left
    return 0.0 if to_left < to_right else fraction


ctypedef fused cut_type:
    int32_t                         # codes, while a tree grows
    double


cdef inline double weight_from(
    const cut_type* cut, const double* suffix, intp_t n_cuts, cut_type x
) noexcept nogil:
    # Weight of the cuts that are not below x. Most rows lie beyond all cuts: they are asked first.
    if x > cut[n_cuts - 1]:
        return 0.0
    return 1.0 if x <= cut[0] else suffix[lower_bound(cut, cut + n_cuts, x) - cut]


cdef inline object filled(object array, const void* data):
    # A one-dimensional NumPy array, filled with as many bytes from `data`.
    cdef uint8_t[::1] target = array.view("u1")
    if target.shape[0]:
        memcpy(&target[0], data, target.shape[0])
    return array


cdef cppclass OpenNode:
    # A node that has not been split yet.
    intp_t parent
    intp_t side                     # 0: left child of its parent, 1: right, -1: root
    intp_t depth, n_rows
    bint is_leaf, has_histogram
    double mass
    vector[int32_t] rows            # (n_rows,) numbers in the training set, ascending
    vector[double] fraction         # (n_rows,) share of each row, in (0, 1]
    vector[double] class_mass       # (n_classes,)
    vector[int32_t] lists           # (n_features, n_rows + 1), see above; the last is unused
    vector[int32_t] list_length     # (n_features,) without missing values; 0: constant feature
    vector[double] histogram        # (total number of bins, n_classes)

ctypedef OpenNode* OpenNodePointer


cdef cppclass Workspace:
    # The distinct codes of a feature in a node, ascending.
    intp_t n_codes
    vector[double] below            # mass at or below each code
    vector[double] below_class      # the same, for each class but the first
    vector[int32_t] member          # a local row having the code; in histograms the code
    vector[double] impurity         # of the cut at each code, times mass
    vector[double] class_sum
    vector[uint64_t] key, spare_key


cdef struct Neighbourhood:
    # Places, among the codes of a feature, of the cuts that are pooled.
    intp_t low, best, high
    double low_weight               # the outermost codes need not count with their whole mass
    double high_weight


cdef cppclass Candidate:
    # What a feature has to offer in the current node.
    bint useful
    double impurity                 # mean over the cuts
    double left_share               # of the mass that is known
    int32_t center                  # the best cut
    vector[double] contrast         # class shares on the right minus on the left
    vector[int32_t] code            # the cuts, ascending
    vector[double] suffix           # weight of this cut and all higher ones


cdef cppclass Grower:
    # The data
    intp_t n_samples, n_features, n_classes
    const int32_t* codes            # exact mode, (n_features, n_samples), -1: missing
    const uint16_t* bins            # histogram mode, the same, 65535: missing
    const intp_t* y
    const double* weight
    vector[intp_t] bin_start        # (n_features + 1,)
    double negligible_mass          # of a bin, after subtractions
    # The parameters
    double option_threshold
    bint option_modules
    intp_t max_options
    double align
    bint robust, trivial
    intp_t n_tabulated              # 0: the neighbourhood is the square root of the mass
    const double* k_mass
    const double* k_value
    intp_t max_depth
    double min_mass
    double min_impurity             # times mass: nodes of no more are leaves
    double smallest                 # fraction of a row
    intp_t list_below               # nodes with fewer rows are held as lists
    # The node that is being split, and its children
    OpenNode* node
    OpenNodePointer[2] child        # the left one and the right one
    OpenNode* small                 # the child with fewer rows, where histograms are updated
    OpenNode* large
    vector[double] small_mass       # of its rows
    vector[int32_t] small_label
    double k                        # mass of a neighbourhood, on either side
    double impurity
    vector[double] w                # (n_rows, 2) mass of each row of the node, and in class 1
    vector[int32_t] label
    vector[double] share            # (n_rows,) fraction of each whole row that goes left
    vector[int32_t] place           # (2, n_rows) local number in each child, -1: absent
    vector[Candidate] candidates    # (n_features,)
    vector[double] reference        # contrast of the best feature, the higher classes positive
    vector[intp_t] option           # features that are pooled, the best first
    vector[uint8_t] flip
    Workspace workspace


# ---------------------------------------------------------------------------------------------
# Impurity
# ---------------------------------------------------------------------------------------------

cdef inline double gini_mass_of_node(
    const double* others, intp_t n_others, double mass
) noexcept nogil:
    # Gini impurity times mass, from the masses of all classes but the first.
    cdef double first = mass, squares = 0.0
    cdef intp_t c
    for c in range(n_others):
        first -= others[c]
        squares += others[c] * others[c]
    return gini(squares + first * first, mass)


cdef inline double gini_mass_of_sides(
    const double* left, const double* total, intp_t n_others, double left_mass, double mass
) noexcept nogil:
    # The sum over both sides of a cut, from the masses of all classes but the first.
    cdef double right_mass = mass - left_mass, first_left = left_mass, first_right = right_mass
    cdef double squares_left = 0.0, squares_right = 0.0, right
    cdef intp_t c
    for c in range(n_others):
        right = total[c] - left[c]
        first_left -= left[c]
        first_right -= right
        squares_left += left[c] * left[c]
        squares_right += right * right
    return (
        gini(squares_left + first_left * first_left, left_mass)
        + gini(squares_right + first_right * first_right, right_mass)
    )


cdef inline void rate_cuts(Workspace* s, intp_t n_others) noexcept nogil:
    # Impurity of the cut at every code.
    cdef const double* below = s.below.data()
    cdef const double* of_class = s.below_class.data()
    cdef double* impurity = s.impurity.data()
    cdef intp_t last = s.n_codes - 1
    cdef const double* total = of_class + last * n_others
    cdef double mass = below[last]
    cdef intp_t q
    if n_others == 1:
        rate_cuts_of_two_classes(below, of_class, impurity, last + 1, mass, total[0])
        return
    for q in range(last + 1):
        impurity[q] = gini_mass_of_sides(of_class + q * n_others, total, n_others, below[q], mass)


# ---------------------------------------------------------------------------------------------
# One feature in one node
# ---------------------------------------------------------------------------------------------

cdef inline int32_t code_of(Grower* g, intp_t feature, intp_t row) noexcept nogil:
    cdef uint16_t b
    if g.bins == NULL:
        return g.codes[feature * g.n_samples + row]
    b = g.bins[feature * g.n_samples + row]
    return -1 if b == MISSING_BIN else <int32_t> b


cdef inline void write_code(
    Workspace* s, intp_t m, intp_t member, double total, double total_one, intp_t n_others
) noexcept nogil:
    # The masses at or below code m. Of two classes they are at hand in registers.
    cdef intp_t c
    s.below[m] = total
    s.member[m] = <int32_t> member
    if n_others == 1:
        s.below_class[m] = total_one
        return
    for c in range(n_others):
        s.below_class[m * n_others + c] = s.class_sum[c]


cdef inline void gather_rows(
    const int32_t* entry, intp_t length, const double* w, const int32_t* label, intp_t n_others,
    Workspace* s,
) noexcept nogil:
    cdef double total = 0.0, total_one = 0.0
    cdef intp_t m = 0, e
    cdef int32_t i = entry[0] & LOCAL_ROW
    for e in range(length):
        if entry[e] < 0 and e > 0:
            write_code(s, m, i, total, total_one, n_others)
            m += 1
        i = entry[e] & LOCAL_ROW
        total += w[2 * i]
        if n_others == 1:
            total_one += w[2 * i + 1]
        elif label[i]:
            s.class_sum[label[i] - 1] += w[2 * i]
    write_code(s, m, i, total, total_one, n_others)
    s.n_codes = m + 1


cdef inline void gather_bins(
    const double* of_bin, intp_t n_bins, double negligible, intp_t n_classes, Workspace* s
) noexcept nogil:
    # Without branches for two classes: a bin of no mass is overwritten by the next.
    cdef double total = 0.0, total_one = 0.0, mass
    cdef intp_t m = 0, b, c
    cdef bint keep
    for b in range(n_bins):
        mass = 0.0
        for c in range(n_classes):
            mass += of_bin[b * n_classes + c]
        keep = mass > negligible
        if n_classes == 2:
            total_one += of_bin[2 * b + 1] if keep else 0.0
        elif keep:
            for c in range(1, n_classes):
                s.class_sum[c - 1] += of_bin[b * n_classes + c]
        else:
            continue
        total += mass if keep else 0.0
        write_code(s, m, b, total, total_one, n_classes - 1)
        m += keep
    s.n_codes = m


cdef inline void gather(Grower* g, intp_t j, Workspace* s) noexcept nogil:
    # The number of classes is written out where it is two, so that the compiler knows it.
    cdef OpenNode* node = g.node
    cdef intp_t k = g.n_classes
    cdef const int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef const double* of_bin = node.histogram.data() + g.bin_start[j] * k
    cdef intp_t n_bins = g.bin_start[j + 1] - g.bin_start[j]
    s.class_sum.assign(k, 0.0)
    if node.has_histogram and k == 2:
        gather_bins(of_bin, n_bins, g.negligible_mass, 2, s)
    elif node.has_histogram:
        gather_bins(of_bin, n_bins, g.negligible_mass, k, s)
    elif node.list_length[j] == 0:
        s.n_codes = 0
    elif k == 2:
        gather_rows(entry, node.list_length[j], g.w.data(), g.label.data(), 1, s)
    else:
        gather_rows(entry, node.list_length[j], g.w.data(), g.label.data(), k - 1, s)


cdef inline double mass_at(Workspace* s, intp_t q) noexcept nogil:
    return s.below[q] - s.below[q - 1] if q > 0 else s.below[0]


cdef inline intp_t best_cut(Workspace* s) noexcept nogil:
    # The lowest of the best; not the last code, which sends all rows left.
    cdef intp_t last = s.n_codes - 1
    cdef double enough = least_of(s.impurity.data(), last) + TIE * s.below[last]
    cdef intp_t q = 0
    while s.impurity[q] > enough:
        q += 1
    return q


cdef inline Neighbourhood neighbourhood(Grower* g, Workspace* s, intp_t best) noexcept nogil:
    # Codes on either side of the best cut until their mass is k.
    cdef Neighbourhood near
    cdef intp_t last = s.n_codes - 1
    cdef intp_t stop = last if g.trivial else last - 1
    cdef double tie = TIE * s.below[last], room = g.k
    near.low = near.best = near.high = best
    near.low_weight = near.high_weight = mass_at(s, best)
    if not g.robust:
        return near
    while near.low > 0 and room > tie:
        near.low -= 1
        near.low_weight = min(mass_at(s, near.low), room)
        room -= near.low_weight
    room = g.k
    while near.high < stop and room > tie:
        near.high += 1
        near.high_weight = min(mass_at(s, near.high), room)
        room -= near.high_weight
    return near


cdef inline double pool_cuts(
    Grower* g, intp_t j, Workspace* s, Neighbourhood near, Candidate* out
) noexcept nogil:
    # Cuts with their weights, mean impurity and mean class masses on the left (for the time being
    # in `contrast`); the mean mass on the left is returned.
    cdef intp_t n_others = g.n_classes - 1, q, c
    cdef double weight, total = 0.0, impurity = 0.0, left_mass = 0.0
    for c in range(g.n_classes):
        out.contrast[c] = 0.0
    for q in range(near.high, near.low - 1, -1):
        if q == near.low:
            weight = near.low_weight
        elif q == near.high:
            weight = near.high_weight
        else:
            weight = mass_at(s, q)
        total += weight
        impurity += weight * s.impurity[q]
        left_mass += weight * s.below[q]
        for c in range(n_others):
            out.contrast[c + 1] += weight * s.below_class[q * n_others + c]
        if g.node.has_histogram:
            out.code[q - near.low] = s.member[q]
        else:
            out.code[q - near.low] = code_of(g, j, g.node.rows[s.member[q]])
        out.suffix[q - near.low] = total
    for q in range(near.high - near.low + 1):
        out.suffix[q] /= total
    for c in range(n_others):
        out.contrast[c + 1] /= total
    out.center = out.code[near.best - near.low]
    out.impurity = impurity / (total * s.below[s.n_codes - 1])
    return left_mass / total


cdef inline int scan_feature(Grower* g, intp_t j) except -1 nogil:
    # The best cut of feature j, pooled with its neighbourhood.
    cdef OpenNode* node = g.node
    cdef Workspace* s = &g.workspace
    cdef Candidate* out = &g.candidates[j]
    cdef intp_t n_others = g.n_classes - 1
    cdef const double* total
    cdef double mass, left_mass, on_left
    cdef Neighbourhood near
    cdef intp_t c
    out.useful = False
    gather(g, j, s)
    if s.n_codes < 2:
        if not node.has_histogram:
            node.list_length[j] = 0
        return 0
    mass = s.below[s.n_codes - 1]
    total = s.below_class.data() + (s.n_codes - 1) * n_others
    rate_cuts(s, n_others)
    near = neighbourhood(g, s, best_cut(s))
    out.code.resize(near.high - near.low + 1)
    out.suffix.resize(near.high - near.low + 1)
    out.contrast.resize(g.n_classes)
    left_mass = pool_cuts(g, j, s, near, out)
    out.left_share = left_mass / mass
    for c in range(n_others):
        on_left = out.contrast[c + 1]
        out.contrast[c + 1] = (total[c] - on_left) / (mass - left_mass) - on_left / left_mass
        out.contrast[0] -= out.contrast[c + 1]
    if mass < node.mass * (1.0 - 1e-9):
        # Missing values: the gain counts only for the part of the mass that is known.
        out.impurity = g.impurity - (
            gini_mass_of_node(total, n_others, mass) - mass * out.impurity
        ) / node.mass
    out.useful = out.impurity < g.impurity - TIE
    return 0


cdef class _Growing:
    """The nodes that are finished, and those that wait."""

    cdef vector[intp_t] left, right, depth
    cdef vector[double] mass, value
    cdef vector[intp_t] n_options, option_feature, option_center, option_n_cuts, cut_code
    cdef vector[uint8_t] option_flip
    cdef vector[double] option_impurity, option_missing, cut_suffix
    cdef vector[OpenNodePointer] stack
    cdef vector[vector[double]] spare   # histograms of nodes that are done
    cdef OpenNode* node             # taken from the stack
    cdef Grower g
    cdef bint stopped               # out of time

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.stack.size()):
            del self.stack[i]
        if self.node != NULL:
            del self.node


# ---------------------------------------------------------------------------------------------
# Lists, histograms and shares
# ---------------------------------------------------------------------------------------------

cdef int sort_list(Grower* g, OpenNode* node, intp_t j) except -1 nogil:
    # The list of feature j in a node, straight from the codes.
    cdef vector[uint64_t]* key = &g.workspace.key
    cdef int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef intp_t i, length = 0
    cdef int32_t code
    key.resize(node.n_rows)
    for i in range(node.n_rows):
        code = code_of(g, j, node.rows[i])
        if code >= 0:
            key[0][length] = (<uint64_t> code << 32) | <uint64_t> i
            length += 1
    key.resize(length)
    g.workspace.spare_key.resize(length)
    sort_keys(key[0], g.workspace.spare_key, g.bin_start[j + 1] - g.bin_start[j])
    for i in range(length):
        entry[i] = <int32_t> (key[0][i] & LOCAL_ROW)
        if i == 0 or not same_value(key[0][i], key[0][i - 1]):
            entry[i] |= FIRST_OF_CODE
    node.list_length[j] = <int32_t> length
    return 0


cdef void split_list(Grower* g, intp_t j) noexcept nogil:
    # The children's lists of feature j from the parent's, in one stable pass each.
    cdef OpenNode* node = g.node
    cdef OpenNode* child
    cdef const int32_t* entry = node.lists.data() + j * (node.n_rows + 1)
    cdef const int32_t* place
    cdef int32_t* target
    cdef intp_t length = node.list_length[j], side, e, kept
    cdef int32_t first, local, keep
    for side in range(2):
        child = g.child[side]
        if child.is_leaf:
            continue
        place = g.place.data() + side * node.n_rows
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


cdef void update_histogram(Grower* g, intp_t j) noexcept nogil:
    # Add the rows of g.small to its histogram and take them out of g.large's, where they have one.
    cdef OpenNode* small = g.small
    cdef intp_t start = g.bin_start[j] * g.n_classes
    cdef intp_t size = g.bin_start[j + 1] * g.n_classes - start
    cdef const uint16_t* column = g.bins + j * g.n_samples
    cdef double* subtract = NULL
    cdef double* add = NULL
    cdef intp_t i
    if g.large != NULL and g.large.has_histogram:
        subtract = g.large.histogram.data() + start
    if small.has_histogram:
        add = small.histogram.data() + start
        add_rows(g, column, add, 1.0)
        if subtract != NULL and size < 4 * small.n_rows:
            # one pass over the bins is quicker than another over the rows
            for i in range(size):
                subtract[i] -= add[i]
            return
    if subtract != NULL:
        add_rows(g, column, subtract, -1.0)


cdef void add_rows(
    Grower* g, const uint16_t* column, double* histogram, double sign
) noexcept nogil:
    # The rows of g.small, whose masses and labels are at hand.
    cdef const int32_t* row = g.small.rows.data()
    cdef const double* mass = g.small_mass.data()
    cdef const int32_t* label = g.small_label.data()
    cdef intp_t n_classes = g.n_classes, i
    cdef uint16_t b
    for i in range(g.small.n_rows):
        b = column[row[i]]
        if b != MISSING_BIN:
            histogram[b * n_classes + label[i]] += sign * mass[i]


cdef int weigh_small(Grower* g) except -1 nogil:
    # Masses and labels of the rows of g.small, once for all features.
    cdef intp_t n = g.small.n_rows, i, row
    if <intp_t> g.small_mass.size() < n:
        g.small_mass.resize(n)
        g.small_label.resize(n)
    for i in range(n):
        row = g.small.rows[i]
        g.small_mass[i] = g.small.fraction[i] * g.weight[row]
        g.small_label[i] = <int32_t> g.y[row]
    return 0


cdef inline double missing_share(Grower* g, intp_t o) noexcept nogil:
    # What of a row whose value is missing goes left by an option.
    cdef double share = g.candidates[g.option[o]].left_share
    return 1.0 - share if g.flip[o] else share


cdef void share_rows(Grower* g, intp_t start, intp_t stop) noexcept nogil:
    # The fraction of each row of a block that the options send left.
    cdef double* share = g.share.data()
    cdef intp_t n_options = <intp_t> g.option.size(), o, i, j
    cdef Candidate* chosen
    cdef const int32_t* cut
    cdef const double* suffix
    cdef intp_t n_cuts
    cdef int32_t code
    cdef double missing, low
    cdef bint flip
    for i in range(start, stop):
        share[i] = 0.0
    for o in range(n_options):
        j, flip = g.option[o], g.flip[o]
        chosen = &g.candidates[j]
        cut, suffix, n_cuts = chosen.code.data(), chosen.suffix.data(), chosen.code.size()
        missing = missing_share(g, o)
        for i in range(start, stop):
            code = code_of(g, j, g.node.rows[i])
            if code < 0:
                share[i] += missing
                continue
            low = weight_from(cut, suffix, n_cuts, code)
            share[i] += 1.0 - low if flip else low
    for i in range(start, stop):
        share[i] /= n_options


# ---------------------------------------------------------------------------------------------
# Which features are pooled
# ---------------------------------------------------------------------------------------------

cdef intp_t best_feature(Grower* g) noexcept nogil:
    # -1: none is of use.
    cdef intp_t best = -1, j
    for j in range(g.n_features):
        if g.candidates[j].useful and (
            best < 0 or g.candidates[j].impurity < g.candidates[best].impurity - TIE
        ):
            best = j
    return best


cdef inline double inner_product(
    const vector[double]& a, const vector[double]& b
) noexcept nogil:
    cdef double result = 0.0
    cdef size_t c
    for c in range(a.size()):
        result += a[c] * b[c]
    return result


cdef int set_reference(Grower* g, const vector[double]& contrast) except -1 nogil:
    # Right is where the class number is higher on average: class 1 of two.
    cdef double turn = 0.0
    cdef intp_t c
    for c in range(g.n_classes):
        turn += c * contrast[c]
    g.reference.resize(g.n_classes)
    for c in range(g.n_classes):
        g.reference[c] = -contrast[c] if turn < -TIE else contrast[c]
    return 0


cdef bint is_aligned(Grower* g, const vector[double]& contrast) noexcept nogil:
    # Whether a feature pushes the classes in the best feature's direction, or the opposite one.
    cdef double product, norm
    if g.n_classes <= 2:
        return True
    product = inner_product(g.reference, contrast)
    norm = inner_product(contrast, contrast)
    return norm > 0.0 and fabs(product) >= (
        g.align * sqrt(norm * inner_product(g.reference, g.reference)) - TIE
    )


cdef int choose_options(Grower* g) except -1 nogil:
    # Fill g.option and g.flip; no option: the node is a leaf.
    cdef intp_t best = best_feature(g)
    cdef double worst, against
    cdef intp_t j, place
    cdef vector[uint64_t] key
    g.option.clear()
    g.flip.clear()
    if best < 0:
        return 0
    set_reference(g, g.candidates[best].contrast)
    g.option.push_back(best)
    worst = g.option_threshold / <double> ((g.node.depth + 1) ** 3)
    worst = g.candidates[best].impurity + worst + TIE
    if g.option_modules:
        for j in range(g.n_features):
            if (
                j != best and g.candidates[j].useful and g.candidates[j].impurity <= worst
                and is_aligned(g, g.candidates[j].contrast)
            ):
                # By impurity, equal ones (to 11 digits) in order of the features.
                key.push_back(
                    (<uint64_t> (g.candidates[j].impurity * 1e11 + 0.5) << 24) | <uint64_t> j
                )
        sort(key.begin(), key.end())
        for place in range(<intp_t> key.size()):
            if g.max_options > 0 and <intp_t> g.option.size() >= g.max_options:
                break
            g.option.push_back(<intp_t> (key[place] & 0xFFFFFF))
    for place in range(<intp_t> g.option.size()):
        j = g.option[place]
        if g.n_classes == 2:
            against = g.candidates[j].contrast[1]
        else:
            against = inner_product(g.reference, g.candidates[j].contrast)
        g.flip.push_back(against < -TIE)
    return 0


# ---------------------------------------------------------------------------------------------
# One node after the other
# ---------------------------------------------------------------------------------------------

cdef double neighbourhood_mass(Grower* g, double mass) noexcept nogil:
    # k of a node: the square root of its mass, or interpolated in a table.
    cdef intp_t high, last = g.n_tabulated - 1
    if last < 0:
        return sqrt(mass)
    if mass <= g.k_mass[0]:
        return g.k_value[0]
    if mass >= g.k_mass[last]:
        return g.k_value[last]
    high = upper_bound(g.k_mass, g.k_mass + last, mass) - g.k_mass
    return g.k_value[high - 1] + (g.k_value[high] - g.k_value[high - 1]) * (
        (mass - g.k_mass[high - 1]) / (g.k_mass[high] - g.k_mass[high - 1])
    )


cdef void weigh(Grower* g, OpenNode* node) noexcept nogil:
    # Mass of a node, and whether it is a leaf before any split is looked for.
    cdef intp_t c
    node.has_histogram = False
    node.mass = 0.0
    for c in range(g.n_classes):
        node.mass += node.class_mass[c]
    node.is_leaf = (
        node.depth >= g.max_depth
        or node.mass < g.min_mass * (1.0 - TIE)
        or gini_mass_of_node(node.class_mass.data() + 1, g.n_classes - 1, node.mass)
        <= max(TIE * node.mass, g.min_impurity)
    )


cdef int make_lists(Grower* g, OpenNode* node) except -1 nogil:
    cdef intp_t j
    node.lists.resize(g.n_features * (node.n_rows + 1))
    node.list_length.resize(g.n_features)
    for j in range(g.n_features):
        sort_list(g, node, j)
    return 0


cdef int make_room(Grower* g, intp_t n_rows) except -1 nogil:
    # For nodes of at most so many rows.
    cdef Workspace* s = &g.workspace
    cdef intp_t most_codes = 1, j
    for j in range(g.n_features):
        most_codes = max(most_codes, g.bin_start[j + 1] - g.bin_start[j])
    if g.bins == NULL:
        most_codes = min(most_codes, n_rows)
    g.candidates.resize(g.n_features)
    s.below.resize(most_codes + 1)
    s.below_class.resize((most_codes + 1) * g.n_classes)
    s.member.resize(most_codes + 1)
    s.impurity.resize(most_codes + 1)
    g.w.resize(2 * n_rows)
    g.label.resize(n_rows)
    g.share.resize(n_rows)
    g.place.resize(2 * n_rows)
    return 0


cdef int add_root(_Growing out) except -1 nogil:
    # All rows, whole.
    cdef Grower* g = &out.g
    cdef OpenNode* root = new OpenNode()
    cdef intp_t i, j
    out.stack.push_back(root)
    root.parent = root.side = -1
    root.depth, root.n_rows = 0, g.n_samples
    root.rows.resize(g.n_samples)
    root.fraction.resize(g.n_samples)
    root.class_mass.resize(g.n_classes)
    for i in range(g.n_samples):
        root.rows[i] = <int32_t> i
        root.fraction[i] = 1.0
        root.class_mass[g.y[i]] += g.weight[i]
    weigh(g, root)
    g.negligible_mass = 1e-7 * root.mass / g.n_samples
    if root.is_leaf:
        return 0
    if g.bins == NULL or g.n_samples < g.list_below:
        return make_lists(g, root)
    root.has_histogram = True
    root.histogram.resize(g.bin_start[g.n_features] * g.n_classes)
    g.small = root
    g.large = NULL
    weigh_small(g)
    for j in range(g.n_features):
        update_histogram(g, j)
    return 0


cdef intp_t write_node(_Growing out) except -1 nogil:
    # Returns the number of the node.
    cdef OpenNode* node = out.node
    cdef intp_t number = <intp_t> out.left.size(), c
    if node.side == 0:
        out.left[node.parent] = number
    elif node.side == 1:
        out.right[node.parent] = number
    out.left.push_back(-1)
    out.right.push_back(-1)
    out.depth.push_back(node.depth)
    out.mass.push_back(node.mass)
    for c in range(out.g.n_classes):
        out.value.push_back(node.class_mass[c] / node.mass)
    return number


cdef int write_options(_Growing out) except -1 nogil:
    cdef Grower* g = &out.g
    cdef Candidate* chosen
    cdef size_t o, i
    for o in range(g.option.size()):
        chosen = &g.candidates[g.option[o]]
        out.option_feature.push_back(g.option[o])
        out.option_flip.push_back(g.flip[o])
        out.option_center.push_back(chosen.center)
        out.option_impurity.push_back(chosen.impurity)
        out.option_missing.push_back(missing_share(g, o))
        for i in range(chosen.code.size()):
            out.cut_code.push_back(chosen.code[i])
            out.cut_suffix.push_back(chosen.suffix[i])
        out.option_n_cuts.push_back(<intp_t> chosen.code.size())
    return 0


cdef int find_options(Grower* g) except -1 nogil:
    # Look at every feature of the node, and choose.
    cdef OpenNode* node = g.node
    cdef intp_t i, j
    g.k = neighbourhood_mass(g, node.mass)
    g.impurity = (
        gini_mass_of_node(node.class_mass.data() + 1, g.n_classes - 1, node.mass) / node.mass)
    for i in range(node.n_rows):
        g.label[i] = <int32_t> g.y[node.rows[i]]
    if not node.has_histogram:  # which holds the masses
        for i in range(node.n_rows):
            g.w[2 * i] = node.fraction[i] * g.weight[node.rows[i]]
            g.w[2 * i + 1] = g.w[2 * i] if g.label[i] == 1 else 0.0
    for j in range(g.n_features):
        scan_feature(g, j)
    return choose_options(g)


cdef int divide_rows(Grower* g) except -1 nogil:
    # Rows, fractions and class masses of the two children of g.node.
    cdef OpenNode* node = g.node
    cdef OpenNode* child
    # first shares of each row, then what of its fraction goes left
    cdef double* to_left = g.share.data()
    cdef int32_t* place
    cdef intp_t[2] n_rows = [0, 0]
    cdef intp_t side, i, kept
    cdef double part
    for i in range(node.n_rows):
        to_left[i] = left_part(node.fraction[i], to_left[i], g.smallest)
        n_rows[0] += to_left[i] > 0.0
        n_rows[1] += node.fraction[i] - to_left[i] > 0.0
    for side in range(2):
        child = g.child[side]
        child.class_mass.resize(g.n_classes)
        child.rows.resize(n_rows[side])
        child.fraction.resize(n_rows[side])
        place = g.place.data() + side * node.n_rows
        kept = 0
        for i in range(node.n_rows):
            part = node.fraction[i] - to_left[i] if side else to_left[i]
            place[i] = -1
            if part > 0.0:
                place[i] = <int32_t> kept
                child.rows[kept] = node.rows[i]
                child.fraction[kept] = part
                child.class_mass[g.label[i]] += g.weight[node.rows[i]] * part
                kept += 1
    return 0


cdef bint add_children(_Growing out, intp_t number) except -1 nogil:
    # Put the children on the stack, the left one on top. False: all rows go one way.
    cdef Grower* g = &out.g
    cdef OpenNode* child
    cdef intp_t side, i, _
    for i in range((g.node.n_rows + BLOCK - 1) // BLOCK):
        share_rows(g, i * BLOCK, min((i + 1) * BLOCK, g.node.n_rows))
    for _ in range(2):
        out.stack.push_back(new OpenNode())
    g.child[0], g.child[1] = out.stack.back(), out.stack[out.stack.size() - 2]
    divide_rows(g)
    for side in range(2):
        child = g.child[side]
        child.parent, child.side, child.depth = number, side, g.node.depth + 1
        child.n_rows = <intp_t> child.rows.size()
        weigh(g, child)
    if g.child[0].n_rows > 0 and g.child[1].n_rows > 0:
        return True
    for _ in range(2):
        child = out.stack.back()
        out.stack.pop_back()
        del child
    return False


cdef int hand_down_lists(Grower* g) except -1 nogil:
    cdef OpenNode* child
    cdef intp_t side, j
    for side in range(2):
        child = g.child[side]
        if not child.is_leaf:
            child.lists.resize(g.n_features * (child.n_rows + 1))
            child.list_length.resize(g.n_features)
    if not (g.child[0].is_leaf and g.child[1].is_leaf):
        for j in range(g.n_features):
            split_list(g, j)
    return 0


cdef int hand_down_histogram(_Growing out) except -1 nogil:
    # The larger child takes over its parent's histogram; small nodes are held as lists.
    cdef Grower* g = &out.g
    cdef intp_t j, smaller = g.child[0].n_rows > g.child[1].n_rows
    g.small, g.large = g.child[smaller], g.child[1 - smaller]
    if not g.large.is_leaf and g.large.n_rows >= g.list_below:
        g.large.has_histogram = True
        g.large.histogram.swap(g.node.histogram)
    if not g.small.is_leaf and g.small.n_rows >= g.list_below:
        g.small.has_histogram = True
        if not out.spare.empty():  # its memory is at hand
            g.small.histogram.swap(out.spare.back())
            out.spare.pop_back()
        g.small.histogram.assign(g.bin_start[g.n_features] * g.n_classes, 0.0)
    if g.small.has_histogram or g.large.has_histogram:
        weigh_small(g)
        for j in range(g.n_features):
            update_histogram(g, j)
    if not g.small.is_leaf and not g.small.has_histogram:
        make_lists(g, g.small)
    if not g.large.is_leaf and not g.large.has_histogram:
        make_lists(g, g.large)
    return 0


cdef int grow_nodes(_Growing out) except -1 nogil:
    # Without time, the nodes that are open become leaves.
    cdef intp_t work = 0, number, n_options
    make_room(&out.g, out.g.n_samples)
    while not out.stack.empty():
        out.node = out.stack.back()
        out.stack.pop_back()
        number = write_node(out)
        n_options = <intp_t> out.option_feature.size()
        if not out.node.is_leaf:
            work += out.node.n_rows * out.g.n_features + 1000
            if work > WORK_PER_CHECK and not out.stopped:
                work = 0
                out.stopped = should_stop()
            if not out.stopped:
                out.g.node = out.node
                find_options(&out.g)
                if not out.g.option.empty() and add_children(out, number):
                    write_options(out)
                    if out.node.has_histogram:
                        hand_down_histogram(out)
                    else:
                        hand_down_lists(&out.g)
        out.n_options.push_back(<intp_t> out.option_feature.size() - n_options)
        if not out.node.histogram.empty():
            out.spare.resize(out.spare.size() + 1)
            out.spare.back().swap(out.node.histogram)
        del out.node
        out.node = NULL
    return 0


cdef dict arrays_of(_Growing out):
    n_nodes, n_options, n_cuts = out.left.size(), out.option_flip.size(), out.cut_code.size()

    def integers(n):
        return np.empty(n, dtype=np.intp)

    return {
        "left": filled(integers(n_nodes), out.left.data()),
        "right": filled(integers(n_nodes), out.right.data()),
        "depth": filled(integers(n_nodes), out.depth.data()),
        "mass": filled(np.empty(n_nodes), out.mass.data()),
        "value": filled(np.empty(out.value.size()), out.value.data()).reshape(n_nodes, -1),
        "n_options": filled(integers(n_nodes), out.n_options.data()),
        "option_feature": filled(integers(n_options), out.option_feature.data()),
        "option_flip": filled(np.empty(n_options, dtype=bool), out.option_flip.data()),
        "option_center": filled(integers(n_options), out.option_center.data()),
        "option_impurity": filled(np.empty(n_options), out.option_impurity.data()),
        "option_missing": filled(np.empty(n_options), out.option_missing.data()),
        "option_n_cuts": filled(integers(n_options), out.option_n_cuts.data()),
        "cut_code": filled(integers(n_cuts), out.cut_code.data()),
        "cut_suffix": filled(np.empty(n_cuts), out.cut_suffix.data()),
    }


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
    double min_impurity,
    double min_fraction,
    bint trivial_threshold,
    double align,
    intp_t list_below,
):
    """Grow a tree of modules; the order of the nodes is pre-order.

    Nodes whose impurity times mass is at most `min_impurity`, or whose mass is less than
    `min_mass`, are leaves.

    Give `codes` (exact) or `bins` (histograms) and None for the other. Returns a dict of arrays
    and ``"timed_out"``.
    """
    cdef _Growing out = _Growing()
    cdef Grower* g = &out.g
    cdef intp_t j
    g.n_samples, g.n_features, g.n_classes = y.shape[0], n_codes.shape[0], n_classes
    g.codes = &codes[0, 0] if codes is not None else NULL
    g.bins = &bins[0, 0] if bins is not None else NULL
    g.y, g.weight = &y[0], &sample_weight[0]
    g.bin_start.push_back(0)
    for j in range(g.n_features):
        g.bin_start.push_back(g.bin_start[j] + n_codes[j])
    g.option_threshold, g.option_modules = option_threshold, option_modules
    g.max_options, g.align = max_options, align
    g.robust, g.trivial = robust_splits, trivial_threshold
    g.n_tabulated = k_mass.shape[0]
    if g.n_tabulated:
        g.k_mass, g.k_value = &k_mass[0], &k_value[0]
    g.max_depth, g.min_mass, g.list_below = max_depth, min_mass, list_below
    g.min_impurity = min_impurity
    g.smallest = smallest_fraction(min_fraction)
    with nogil:
        add_root(out)
        grow_nodes(out)
    tree = arrays_of(out)
    for start, count in (("option_start", "n_options"), ("cut_start", "option_n_cuts")):
        tree[start] = np.concatenate([[0], np.cumsum(tree.pop(count))])
    return {**tree, "timed_out": bool(out.stopped)}


# ---------------------------------------------------------------------------------------------
# Routing
# ---------------------------------------------------------------------------------------------

cdef enum Answer:
    MEAN                            # what becomes of a row in a leaf
    MOMENTS
    LEAVES


cdef struct Segment:
    intp_t node, start, count


cdef cppclass Walk:
    # The rows of a block on their way, and what they have met in leaves.
    vector[intp_t] row
    vector[double] fraction
    vector[Segment] stack
    vector[double] share            # (ROUTED,) fraction of each whole row that goes left
    vector[intp_t] left_row
    vector[double] left_fraction
    vector[double] arrived          # (ROUTED,) fraction of each row that has reached leaves
    vector[intp_t] found_row, found_leaf
    vector[double] found_fraction


cdef class Router:
    """Routes rows through a `ModuleTree`, whose arrays have the same names here."""

    cdef const intp_t[::1] left, right, option_start, option_feature, cut_start
    cdef const double[:, ::1] response
    cdef const uint8_t[::1] option_flip
    cdef const double[::1] option_missing, cut_threshold, cut_suffix
    cdef double smallest

    def __init__(self, tree, double min_fraction):
        self.left, self.right, self.response = tree.left, tree.right, tree.response
        self.option_start, self.option_feature = tree.option_start, tree.option_feature
        self.option_flip = tree.option_flip.view(np.uint8)
        self.option_missing, self.cut_start = tree.option_missing, tree.cut_start
        self.cut_threshold, self.cut_suffix = tree.cut_threshold, tree.cut_suffix
        self.smallest = smallest_fraction(min_fraction)

    def mean(self, const double[:, ::1] X, double[:, ::1] proba):  # OUT: proba
        """Weighted mean of the leaf values of each row; `proba` comes in as zeros."""
        cdef Walk walk
        with nogil:
            self.route(X, MEAN, &walk, proba, proba)

    def moments(
        self, const double[:, ::1] X, double[:, ::1] mean, double[:, ::1] variance  # OUT
    ):
        """Weighted mean and variance of the leaf values; both come in as zeros."""
        cdef Walk walk
        with nogil:
            self.route(X, MOMENTS, &walk, mean, variance)

    def leaves(self, const double[:, ::1] X):
        """Triplets (row, node of the leaf, fraction), ordered by leaf within blocks of rows."""
        cdef Walk walk
        cdef double[:, ::1] nothing = np.empty((1, 1))
        with nogil:
            self.route(X, LEAVES, &walk, nothing, nothing)
        n = walk.found_row.size()
        return (
            filled(np.empty(n, dtype=np.intp), walk.found_row.data()),
            filled(np.empty(n, dtype=np.intp), walk.found_leaf.data()),
            filled(np.empty(n, dtype=np.float64), walk.found_fraction.data()),
        )

    cdef void share_rows(
        self, intp_t node, const double[:, ::1] X, const intp_t* row, intp_t count,
        double* share,  # OUT
    ) noexcept nogil:
        cdef intp_t first = self.option_start[node], last = self.option_start[node + 1]
        cdef intp_t o, i, feature, n_cuts
        cdef const double* cut
        cdef const double* suffix
        cdef double x, low
        for i in range(count):
            share[i] = 0.0
        for o in range(first, last):
            feature = self.option_feature[o]
            n_cuts = self.cut_start[o + 1] - self.cut_start[o]
            cut = &self.cut_threshold[self.cut_start[o]]
            suffix = &self.cut_suffix[self.cut_start[o]]
            for i in range(count):
                x = X[row[i], feature]
                if x != x:
                    share[i] += self.option_missing[o]
                    continue
                low = weight_from(cut, suffix, n_cuts, x)
                share[i] += 1.0 - low if self.option_flip[o] else low
        for i in range(count):
            share[i] /= last - first

    cdef int route(
        self, const double[:, ::1] X, Answer answer, Walk* walk,
        double[:, ::1] first, double[:, ::1] second,  # OUT
    ) except -1 nogil:
        # Depth first, a block of rows at a time; a node's rows lie on top of its ancestors'.
        cdef intp_t n = X.shape[0], begin = 0, n_blocks = 0
        cdef Segment segment
        walk.share.resize(ROUTED)
        walk.left_row.resize(ROUTED)
        walk.left_fraction.resize(ROUTED)
        while begin < n:
            self.start(walk, begin, min(<intp_t> ROUTED, n - begin))
            while not walk.stack.empty():
                segment = walk.stack.back()
                walk.stack.pop_back()
                if self.left[segment.node] < 0:
                    self.arrive(segment, begin, answer, walk, first, second)
                else:
                    self.divide(X, segment, walk)
            begin += ROUTED
            n_blocks += 1
            if n_blocks % BLOCKS_PER_CHECK == 0:
                should_stop()  # all rows are routed, whatever the clock says
        return 0

    cdef int start(self, Walk* walk, intp_t begin, intp_t count) except -1 nogil:
        # A block of whole rows at the root.
        cdef intp_t i
        walk.arrived.assign(ROUTED, 0.0)
        if <intp_t> walk.row.size() < count:
            walk.row.resize(count)
            walk.fraction.resize(count)
        for i in range(count):
            walk.row[i] = begin + i
            walk.fraction[i] = 1.0
        walk.stack.push_back(Segment(0, 0, count))
        return 0

    cdef int arrive(
        self, Segment segment, intp_t begin, Answer answer, Walk* walk,
        double[:, ::1] first, double[:, ::1] second,  # OUT
    ) except -1 nogil:
        # Rows in a leaf.
        cdef intp_t n_classes = self.response.shape[1]
        cdef const double* value = &self.response[segment.node, 0]
        cdef intp_t i, c, r
        cdef double f, delta
        for i in range(segment.start, segment.start + segment.count):
            r = walk.row[i]
            f = walk.fraction[i]
            if answer == MEAN:
                for c in range(n_classes):
                    first[r, c] += f * value[c]
            elif answer == MOMENTS:
                # Mean and variance of weighted numbers that come one by one (West, 1979).
                walk.arrived[r - begin] += f
                for c in range(n_classes):
                    delta = value[c] - first[r, c]
                    first[r, c] += delta * f / walk.arrived[r - begin]
                    second[r, c] += f * delta * (value[c] - first[r, c])
            else:
                walk.found_row.push_back(r)
                walk.found_leaf.push_back(segment.node)
                walk.found_fraction.push_back(f)
        return 0

    cdef int divide(self, const double[:, ::1] X, Segment segment, Walk* walk) except -1 nogil:
        # Rows at a module: those that go right are put on top, and those that go left above them.
        cdef intp_t top = segment.start + segment.count, needed = top + 2 * segment.count
        cdef intp_t n_left = 0, n_right = 0, i, r
        cdef double f, to_left, to_right
        if <intp_t> walk.row.size() < needed:
            walk.row.resize(needed)
            walk.fraction.resize(needed)
        self.share_rows(
            segment.node, X, walk.row.data() + segment.start, segment.count, walk.share.data()
        )
        for i in range(segment.count):
            r = walk.row[segment.start + i]
            f = walk.fraction[segment.start + i]
            to_left = left_part(f, walk.share[i], self.smallest)
            to_right = f - to_left
            if to_right > 0.0:
                walk.row[top + n_right] = r
                walk.fraction[top + n_right] = to_right
                n_right += 1
            if to_left > 0.0:
                walk.left_row[n_left] = r
                walk.left_fraction[n_left] = to_left
                n_left += 1
        if n_right > 0:
            walk.stack.push_back(Segment(self.right[segment.node], top, n_right))
        if n_left > 0:
            for i in range(n_left):
                walk.row[top + n_right + i] = walk.left_row[i]
                walk.fraction[top + n_right + i] = walk.left_fraction[i]
            walk.stack.push_back(Segment(self.left[segment.node], top + n_right, n_left))
        return 0
