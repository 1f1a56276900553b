/* The inner loops of the exact search, on contiguous runs of regions.

   The number type says what is counted: unsigned types hold depths (two sides join to the
   deeper one), signed types hold numbers of splits (two sides join to their sum). */
#pragma once
#include <cstdint>
#include <limits>

template <class T> struct Value {
    static constexpr bool is_depth = std::numeric_limits<T>::is_signed == false;
    /* while classes are swept: more than one class */
    static constexpr T mixed = std::numeric_limits<T>::max();
    /* no tree, or a value too large for the type; twice it must not overflow */
    static constexpr T infinite = is_depth ? std::numeric_limits<T>::max() - 1
                                           : std::numeric_limits<T>::max() / 2 - 1;
};

template <class T> static inline T es_mixed(T) { return Value<T>::mixed; }
template <class T> static inline T es_infinite(T) { return Value<T>::infinite; }

template <class T> static inline T es_join(T a, T b) {
    if (Value<T>::is_depth) return a > b ? a : b;
    return (T)(a + b);
}

template <class T> static inline T es_plus_one(T a) {
    return a >= Value<T>::infinite ? Value<T>::infinite : (T)(a + 1);
}

/* While classes are swept, class c is c + 1, and 0 stands for cells of free class. */
template <class T> static inline T es_merge(T a, T b) {
    bool one = (a == b) | (a == 0) | (b == 0);
    return one ? (T)(a | b) : Value<T>::mixed;
}

template <class T> static inline T es_most(T a, T b) { return a > b ? a : b; }

/* acc[i] = min(acc[i], join(a[i], b[i])) */
template <class T>
static inline void es_join_min(T *__restrict acc, const T *__restrict a, const T *__restrict b,
                               intptr_t n) {
    for (intptr_t i = 0; i < n; i++) {
        T s = es_join<T>(a[i], b[i]);
        acc[i] = s < acc[i] ? s : acc[i];
    }
}

/* the same through index maps; a null map is the identity */
template <class T>
static inline void es_join_min_mapped(T *__restrict acc, const T *__restrict a,
                                      const int32_t *__restrict ia, const T *__restrict b,
                                      const int32_t *__restrict ib, intptr_t n) {
    if (!ia && !ib) {
        es_join_min<T>(acc, a, b, n);
    } else if (!ia) {
        for (intptr_t i = 0; i < n; i++) {
            T s = es_join<T>(a[i], b[ib[i]]);
            acc[i] = s < acc[i] ? s : acc[i];
        }
    } else if (!ib) {
        for (intptr_t i = 0; i < n; i++) {
            T s = es_join<T>(a[ia[i]], b[i]);
            acc[i] = s < acc[i] ? s : acc[i];
        }
    } else {
        for (intptr_t i = 0; i < n; i++) {
            T s = es_join<T>(a[ia[i]], b[ib[i]]);
            acc[i] = s < acc[i] ? s : acc[i];
        }
    }
}

/* out[i] = merge(a[i], b[i]); a null map is the identity */
template <class T, class Merge>
static inline void es_merge_by(Merge merge, T *__restrict out, const T *__restrict a,
                               const int32_t *__restrict ia, const T *__restrict b,
                               const int32_t *__restrict ib, intptr_t n) {
    for (intptr_t i = 0; i < n; i++) out[i] = merge(a[ia ? ia[i] : i], b[ib ? ib[i] : i]);
}

/* How the cells of a region merge: into their class where none is free, or some are; or into the
   largest of their codes. */
enum Merge { CLASSES, FREE_CLASSES, LARGEST };

/* out[i] = the common class of a[i] and b[i] (free if both are), or mixed; or the larger of both */
template <class T>
static inline void es_merge_mapped(T *__restrict out, const T *__restrict a,
                                   const int32_t *__restrict ia, const T *__restrict b,
                                   const int32_t *__restrict ib, intptr_t n, Merge merge) {
    if (merge == LARGEST)
        es_merge_by<T>([](T x, T y) { return es_most<T>(x, y); }, out, a, ia, b, ib, n);
    else if (merge == FREE_CLASSES)
        es_merge_by<T>([](T x, T y) { return es_merge<T>(x, y); }, out, a, ia, b, ib, n);
    else
        es_merge_by<T>([](T x, T y) { return x == y ? x : Value<T>::mixed; }, out, a, ia, b, ib,
                       n);
}

/* One row: entry e is one plus the best of acc[e] and of its splits inside the row (left[x],
   right[x]) for start[e] <= x < start[e + 1]. A row of classes is solved in place, `below` is the
   row itself, and what is of one class gets 0. A row of the next layer is made from the layer below:
   what has 0 or 1 split there cannot have fewer. Returns whether that differs. */
template <bool is_next, class T>
static inline int es_row(T *row, const T *below, const T *acc, const int32_t *start,
                         const int32_t *left, const int32_t *right, intptr_t n) {
    int changed = 0;
    for (intptr_t e = 0; e < n; e++) {
        if (is_next ? below[e] <= 1 : below[e] != Value<T>::mixed) {
            row[e] = is_next ? below[e] : (T)0;
            continue;
        }
        T best = acc[e];
        for (int32_t x = start[e]; x < start[e + 1]; x++) {
            T s = es_join<T>(below[left[x]], below[right[x]]);
            best = s < best ? s : best;
        }
        T value = es_plus_one<T>(best);
        if (is_next) changed |= value != below[e];
        row[e] = value;
    }
    return changed;
}

template <class T>
static inline int es_solve_row(bool is_next, T *row, const T *below, const T *acc,
                               const int32_t *start, const int32_t *left, const int32_t *right,
                               intptr_t n) {
    return is_next ? es_row<true, T>(row, below, acc, start, left, right, n)
                   : es_row<false, T>(row, row, acc, start, left, right, n);
}

/* The same for a row of one long axis of n cells, without lists of splits: intervals are
   numbered by length, then by start, so that those of one length are vectors. acc is used up. */
static inline intptr_t es_first_of_length(intptr_t n, intptr_t length) {
    return (length - 1) * (n + 1) - (length - 1) * length / 2;
}

template <class T>
static inline int es_solve_axis(bool is_next, T *row, const T *below, T *acc, intptr_t n) {
    int changed = 0;
    T leaf = is_next ? (T)0 : Value<T>::mixed;
    for (intptr_t length = 1; length <= n; length++) {
        intptr_t first = es_first_of_length(n, length), count = n - length + 1;
        for (intptr_t k = 1; k < length; k++)
            es_join_min<T>(acc + first, below + es_first_of_length(n, k),
                           below + es_first_of_length(n, length - k) + k, count);
        for (intptr_t e = first; e < first + count; e++) {
            T value = (below[e] == leaf) == is_next ? (T)0 : es_plus_one<T>(acc[e]);
            changed |= value != below[e];
            row[e] = value;
        }
    }
    return changed;
}
