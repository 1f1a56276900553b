"""Weakest-link pruning; see `_cost_complexity.pyx`."""

from libcpp.vector cimport vector

from ensemble_simplify.grid._regions cimport Node
from ensemble_simplify._typedefs cimport float64_t, intp_t


# The price of a leaf from which on every node is no split: its own, or that of one above; -inf in
# leaves. Inputs first, `price` is filled.
cdef void critical_prices(
    const Node *nodes, intp_t n_nodes, const float64_t *cost, vector[double] &price
) noexcept nogil
