"""What a node of a tree of modules holds while it is grown, and the best cuts of one feature in it.

The rows of a node stand in it as lists or as histograms; see `_grow.pyx`.
"""

from libcpp.vector cimport vector

from ensemble_simplify._typedefs cimport int32_t, intp_t, uint8_t, uint16_t, uint64_t
from ensemble_simplify.cultivated._fractions cimport MISSING_BIN
from ensemble_simplify.grid._sweep cimport TIE, gini

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
    FIRST_OF_CODE = -2147483648     # sign bit of a list entry: a new code begins here
    LOCAL_ROW = 0x7FFFFFFF          # the other bits: the row's number within the node


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
    OpenNode* left
    OpenNode* right
    OpenNode* small                 # the child with fewer rows, where histograms are updated
    OpenNode* large
    vector[double] small_mass       # of its rows
    vector[int32_t] small_label
    vector[double] table            # of the options: share that goes left, see fill_tables
    vector[intp_t] table_start      # (n_options,), -1: too long, cuts are searched
    double k                        # mass of a neighbourhood, on either side
    double impurity
    vector[double] w                # (n_rows, 2) mass of each row of the node, and in class 1
    vector[int32_t] label
    vector[double] share            # (n_rows,) fraction of each whole row that goes left
    vector[int32_t] to_left         # (n_rows,) local number in the child, -1: absent
    vector[int32_t] to_right
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
