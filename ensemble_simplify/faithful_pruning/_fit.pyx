"""Weights that are not negative, of least squared shortfall: coordinate descent.

Sums run in one order and products are not fused, so the weights are the same on every processor;
a fit by a general solver stops at other weights wherever its linear algebra rounds otherwise.
"""

from ensemble_simplify._typedefs cimport float64_t, intp_t


cdef inline double loss_at(
    const double *lead, const double *short, double step, intp_t n
) noexcept nogil:
    """Squared shortfall after a step along one column; in four sums, for speed."""
    cdef double[4] total
    cdef double left
    cdef intp_t i, k
    for k in range(4):
        total[k] = 0.0
    for i in range(n):
        left = short[i] - step * lead[i]
        left = left if left > 0.0 else 0.0
        total[i & 3] += left * left
    return (total[0] + total[1]) + (total[2] + total[3])


def fit(
    const float64_t[:, ::1] leads,
    float64_t[::1] short,
    float64_t[::1] weights,
    intp_t max_sweeps,
    double precision,
):
    """Improve weights until a sweep over them gains less than a share (`precision`) of the loss.

    `leads` is of shape (n_trees, n_demands); `short`, what the weights leave short of each demand,
    negative where they meet it, and `weights` are overwritten.
    """
    cdef intp_t n_trees = leads.shape[0], n = leads.shape[1], t, i
    cdef const double *lead
    cdef double loss, before, slope, curve, step, after
    if not n:
        return
    with nogil:
        loss = loss_at(&leads[0, 0], &short[0], 0.0, n)
        for _ in range(max_sweeps):
            before = loss
            for t in range(n_trees):
                lead = &leads[t, 0]
                slope = curve = 0.0
                for i in range(n):
                    if short[i] > 0.0:
                        slope += short[i] * lead[i]
                        curve += lead[i] * lead[i]
                if curve == 0.0:
                    continue
                step = slope / curve
                if step < -weights[t]:
                    step = -weights[t]
                # a long step can lose: past where it begins to meet other demands no more
                for _ in range(20):
                    after = loss_at(lead, &short[0], step, n)
                    if after <= loss:
                        break
                    step *= 0.5
                else:
                    continue
                loss = after
                weights[t] += step
                for i in range(n):
                    short[i] -= step * lead[i]
            if loss >= before * (1.0 - precision):
                break
