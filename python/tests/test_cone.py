"""The cone program as a layer."""
import numpy as np
import pytest

import carom


def program(seed, count=3, dimension=2, batch=()):
    random = np.random.default_rng(seed)
    size = count * dimension
    G = random.standard_normal((*batch, size, size + 2))
    return (G @ np.swapaxes(G, -1, -2), random.standard_normal((*batch, size)),
            random.uniform(0.1, 0.9, (*batch, count)))


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_optimality(dimension):
    for seed in range(20):
        A, b, mu = program(seed, 4, dimension)
        f = carom.cone_program(A, b, mu).reshape(4, dimension)
        w = (A @ f.ravel() + b).reshape(4, dimension)
        tangent = np.linalg.norm(f[:, 1:], axis=1)
        # f in the cone, w in its dual, f.w = 0
        assert np.all(f[:, 0] >= -1e-9) and np.all(tangent <= mu * f[:, 0] + 1e-9)
        assert np.all(w[:, 0] >= mu * np.linalg.norm(w[:, 1:], axis=1) - 1e-7)
        assert abs((f * w).sum()) < 1e-8


@pytest.mark.parametrize("dimension", [2, 3])
def test_derivative(dimension):
    for seed in range(5):
        A, b, mu = program(seed, 3, dimension)
        lower = np.full(3, 0.05)
        solution = carom.cone_solve(A, b, mu, lower)
        random = np.random.default_rng(seed)
        f_bar = random.standard_normal(b.shape)
        D = [random.standard_normal(a.shape) for a in (A, b, mu, lower)]
        D[0] = D[0] + D[0].T
        grads = solution.vjp(f_bar)
        exact = sum((g * d).sum() for g, d in zip(grads, D))
        h = 1e-6

        def value(s):
            parts = [p + s * d for p, d in zip((A, b, mu, lower), D)]
            return (f_bar * carom.cone_solve(*parts).f).sum()

        assert np.isclose(exact, (value(h) - value(-h)) / (2 * h), rtol=1e-5, atol=1e-7)


def test_batches():
    A, b, mu = program(1, 3, 2, (2, 4))
    f = carom.cone_program(A, b, mu)
    assert f.shape == (2, 4, 6)
    assert np.array_equal(f[1, 2], carom.cone_program(A[1, 2], b[1, 2], mu[1, 2]))
    solution = carom.cone_solve(A, b, mu)
    assert len(solution.info) == 8 and solution.info[0].status == "solved"
    grads = solution.vjp(np.ones_like(f))
    single = carom.cone_solve(A[1, 2], b[1, 2], mu[1, 2]).vjp(np.ones(6))
    assert grads.A.shape == A.shape and np.array_equal(grads.A[1, 2], single.A)
    assert carom.cone_program(np.zeros((0, 2, 2)), np.zeros((0, 2)), np.zeros((0, 1))).shape == (0, 2)


def test_two_solutions_before_a_derivative():
    A, b, mu = program(2)
    first, second = carom.cone_solve(A, b, mu), carom.cone_solve(2 * A, b, mu)
    alone = carom.cone_solve(A, b, mu).vjp(np.ones(6))
    second.vjp(np.ones(6))
    assert np.array_equal(first.vjp(np.ones(6)).A, alone.A)


def test_options():
    A, b, mu = program(3)
    smooth = carom.cone_program(A, b, mu, smoothing=1e-2)
    assert not np.allclose(smooth, carom.cone_program(A, b, mu))
