"""Penalties against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize_scalar
from scipy.sparse import csr_array

from skatoms.coding import L1, TopK


@pytest.mark.parametrize("positive", [False, True])
def test_the_prox_of_l1_minimises_what_it_should(positive):
    penalty = L1(positive=positive)
    for value in (-2.0, -0.3, 0.0, 0.2, 1.7):
        best = minimize_scalar(
            lambda a, value=value: 0.5 * (a - value) ** 2 + 0.5 * abs(a),
            bounds=(0 if positive else -5, 5),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert_allclose(penalty.prox(np.array([[value]]), 0.5), [[best.x]], atol=1e-7)


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_residual_of_l1_is_zero_at_a_prox_and_not_beside_it(positive, dtype):
    values = np.random.default_rng(0).standard_normal((50, 4)).astype(dtype)
    penalty = L1(positive=positive)
    codes = penalty.prox(values, 0.5)
    assert codes.dtype == dtype
    # A prox is the optimum for a Gram matrix of one, where what is left is values - codes.
    residual = penalty.residual(codes, values - codes, 0.5)
    assert residual.dtype == dtype
    assert_allclose(residual, 0, atol=4 * np.finfo(dtype).eps)
    moved = codes + np.array([0.1, 0, 0, 0], dtype)
    assert np.all(penalty.residual(moved, values - moved, 0.5).max(axis=1) > 0.05)


def test_the_value_of_l1_is_the_sum_of_absolute_values():
    codes = np.array([[1.0, -2, 0], [0, 0, 0]])
    assert_array_equal(L1().value(codes), [3, 0])
    assert_array_equal(L1().value(csr_array(codes)), [3, 0])


def test_top_k_keeps_the_largest_absolute_values():
    values = np.array([[3.0, -5, 1, 0], [0, 0, 2, -1]])
    assert_array_equal(TopK(2).prox(values, 1.0), [[3, -5, 0, 0], [0, 0, 2, -1]])
    assert_array_equal(TopK(4).prox(values, 1.0), values)
    assert_array_equal(values[0], [3, -5, 1, 0])


def test_the_value_of_top_k_tells_who_keeps_to_it():
    codes = np.array([[1.0, 2, 0], [1, 2, 3]])
    assert_array_equal(TopK(2).value(codes), [0, np.inf])
    assert_array_equal(TopK(2).value(csr_array(codes)), [0, np.inf])


def test_the_residual_of_top_k_is_about_its_support():
    codes, left = np.array([[1.0, 0, 2]]), np.array([[0.1, 9.0, -0.3]])
    assert_array_equal(TopK(2).residual(codes, left, 1.0), [[0.1, 0, 0.3]])
