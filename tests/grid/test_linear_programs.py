"""Linear and integer programs against scipy.optimize, enumeration and by hand."""

import _thread
import threading
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog, milp

from ensemble_simplify.grid.linear_programs import LinearProgram


def random_lp(seed, n_rows=8, n_columns=12):
    rng = np.random.default_rng(seed)
    A = sparse.csr_array(rng.random((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.5))
    return rng.normal(size=n_columns), A, rng.uniform(0.5, 2, n_rows)


@pytest.mark.parametrize("seed", range(5))
def test_equals_scipy(seed):
    cost, A, upper = random_lp(seed)
    found = LinearProgram(cost, A, row_upper=upper, upper=1.0).solve()
    truth = linprog(cost, A_ub=A.toarray(), b_ub=upper, bounds=(0, 1))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(truth.fun, abs=1e-7)
    assert found.bound == found.objective
    assert cost @ found.x == pytest.approx(found.objective)
    # Duals: no column could still improve the optimum.
    reduced = cost - A.T @ found.row_dual
    assert np.all(reduced[found.x < 1e-9] >= -1e-6)
    assert np.all(reduced[found.x > 1 - 1e-9] <= 1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_integer_program(seed):
    cost, A, upper = random_lp(seed)
    found = LinearProgram(cost, A, row_upper=upper, upper=1.0, integer=True).solve()
    truth = milp(
        cost,
        constraints=(A, -np.inf, upper),
        bounds=(0, 1),
        integrality=np.ones(len(cost)),
    )
    assert found.objective == pytest.approx(truth.fun)
    assert found.bound == pytest.approx(truth.fun, abs=1e-6)
    assert np.allclose(found.x, np.rint(found.x))


@given(st.integers(0, 10**6))
def test_clauses_over_binary_variables(seed):
    """Satisfiable iff an assignment satisfies every clause; no variables and no clauses too."""
    rng = np.random.default_rng(seed)
    n_variables, n_clauses = int(rng.integers(0, 5)), int(rng.integers(0, 14))
    sign = rng.integers(-1, 2, (n_clauses, n_variables))
    needed = 1.0 - (sign < 0).sum(axis=1)
    program = LinearProgram(0.0, sign, row_lower=needed, upper=1.0, integer=True)
    found = program.solve(time_limit=60.0)
    points = np.array(list(product((0, 1), repeat=n_variables)), dtype=float)
    possible = np.all(sign @ points.T >= needed[:, None], axis=0).any()
    assert found.status == ("optimal" if possible else "infeasible")
    if possible:
        assert np.all(np.abs(found.x - np.rint(found.x)) < 1e-6)
        assert np.all(sign @ np.rint(found.x) >= needed)


def test_some_columns_are_whole():
    A = np.ones((1, 2))
    program = LinearProgram([-2.0, -1.0], A, row_upper=1.5, upper=1.0, integer=[True, False])
    assert program.solve().x == pytest.approx([1.0, 0.5])


def test_new_columns():
    cost, A, upper = random_lp(3)
    A = A.toarray()
    program = LinearProgram(cost[:6], A[:, :6], row_upper=upper, upper=1.0)
    program.solve()
    program.add_columns(cost[6:], A[:, 6:], upper=1.0)
    whole = LinearProgram(cost, A, row_upper=upper, upper=1.0)
    assert program.solve().objective == pytest.approx(whole.solve().objective)


def test_start_of_an_integer_program_is_kept_when_time_is_short():
    rng = np.random.default_rng(0)
    weight = rng.uniform(1, 2, 60)
    A = sparse.csr_array(weight[None, :])
    program = LinearProgram(-weight - 0.1, A, row_upper=20.0, upper=1.0, integer=True)
    start = np.zeros(60)
    start[:9] = 1
    program.start_from(start)
    found = program.solve(time_limit=0.5)
    assert found.objective <= -(weight[:9] + 0.1).sum() + 1e-9
    assert found.bound <= found.objective + 1e-9


def test_infeasible_and_unbounded():
    A = np.ones((1, 2))
    assert LinearProgram([1, 1], A, row_lower=3.0, upper=1.0).solve().status == "infeasible"
    assert LinearProgram([-1, 0], A, row_lower=0.0).solve().status == "unbounded"


def test_time_limit_counts_from_the_call():
    cost, A, upper = random_lp(1)
    program = LinearProgram(cost, A, row_upper=upper, upper=1.0)
    for _ in range(3):
        assert program.solve(time_limit=60.0).status == "optimal"


def test_no_columns():
    found = LinearProgram([], sparse.csr_array((0, 0))).solve()
    assert (found.status, found.objective, found.x.size) == ("optimal", 0.0, 0)
    impossible = LinearProgram([], sparse.csr_array((1, 0)), row_lower=1.0)
    assert impossible.solve().status == "infeasible"
    impossible.add_columns([3.0], np.ones((1, 1)))
    assert impossible.solve().objective == 3.0


def test_no_rows():
    found = LinearProgram([1.0, -1.0], sparse.csr_array((0, 2)), upper=1.0).solve()
    assert found.status == "optimal"
    assert found.x.tolist() == [0.0, 1.0]


def test_ctrl_c_stops_highs():
    """A market split problem: nothing to round, and millions of branches."""
    rng = np.random.default_rng(0)
    A = rng.integers(0, 100, (5, 40)).astype(float)
    half = np.floor(A.sum(axis=1) / 2)
    program = LinearProgram(
        0.0, sparse.csr_array(A), row_lower=half, row_upper=half, upper=1.0, integer=True
    )
    n_threads = threading.active_count()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        program.solve(time_limit=600)
    timer.join()
    # No thread goes on solving: one that did would end Python with an abort.
    assert threading.active_count() == n_threads
    # HiGHS goes on to work.
    found = LinearProgram([-1.0], sparse.csr_array([[1.0]]), row_upper=2.0).solve()
    assert found.objective == -2.0


def test_highs_prints_nothing(capfd):
    """Version 1.16 prints its name as soon as it is made."""
    program = LinearProgram([1.0], np.ones((1, 1)), row_lower=1.0)
    assert program.solve().objective == 1
    assert capfd.readouterr() == ("", "")
