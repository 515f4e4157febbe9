"""Potentials of the user's own: from numpy here, from torch below, with everything that may go wrong."""
import os
import pickle

import numpy as np
import pytest

import carom

TORCH = not os.environ.get("CAROM_TEST_NO_TORCH")
try:
    torch = __import__("torch") if TORCH else None
except ImportError:
    torch = None
if torch is not None:
    torch.set_num_threads(1)  # tensors are small here
needs_torch = pytest.mark.skipif(torch is None, reason="torch is left out here")


class Wells:
    """V = sum_i p0 y_i + p1 y_i^2 / 2 + p2 y_i^4 / 4 over the centre of the first body."""
    parameter_count = 3

    def __init__(self, p=(0.3, 0.5, 0.2)):
        self.p = np.array(p)
        self.counts = []

    def value(self, x):
        y, p = x[:, 0], self.p
        return (p[0] * y + p[1] * y ** 2 / 2 + p[2] * y ** 4 / 4).sum(-1)

    def gradient(self, x):
        self.counts.append(len(x))
        y, p = x[:, 0], self.p
        g = np.zeros_like(x)
        g[:, 0] = p[0] + p[1] * y + p[2] * y ** 3
        return g

    def gradient_vjp(self, x, g_bar):
        y, bar, p = x[:, 0], g_bar[:, 0], self.p
        x_bar = np.zeros_like(x)
        x_bar[:, 0] = (p[1] + 3 * p[2] * y ** 2) * bar
        return x_bar, [bar.sum(), (y * bar).sum(), (y ** 3 * bar).sum()]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("time", ["step", "event"])
def test_derivative_from_numpy(bd1, time, beside):
    random = np.random.default_rng(1)
    x0, v0 = bd1.sample(3, seed=3)
    theta = bd1.parameters({"friction": 0.2, "restitution": 0.5})
    own = Wells()
    given = [x0, v0, theta.array, own.p]
    ways = [random.standard_normal(part.shape) for part in given]

    def run(s):
        x, v, t, p = (part + s * way for part, way in zip(given, ways))
        return bd1.rollout(x, v, t, potential=Wells(p), beside_scene=beside, steps=20, contact_time=time)

    base = run(0)
    assert base.report.events > 0
    x_bar, v_bar = (random.standard_normal(base.x.shape) for _ in range(2))
    grads = base.vjp(x_bar, v_bar)
    exact = sum((bar * way).sum()
                for bar, way in zip((grads.x0, grads.v0, grads.theta.array, grads.potential), ways))
    h = 1e-6
    plus, minus = ((x_bar * t.x).sum() + (v_bar * t.v).sum() for t in (run(h), run(-h)))
    assert np.isclose(exact, (plus - minus) / (2 * h), rtol=1e-6)


def test_it_is_asked_once_for_each_stage_with_the_whole_batch(cp3):
    own = Wells()
    cp3.rollout(*cp3.sample(16), potential=own, steps=5, shard_size=2, threads=2)
    assert own.counts == [16] * 4 * 5


def test_results_know_their_potential(cp3):
    x0, v0 = cp3.sample(4, seed=1)
    own = Wells()
    traj = cp3.rollout(x0, v0, potential=own, steps=20, gradient=False)
    energy = traj.energy()
    assert np.allclose(energy.potential, [[own.value(x[None])[0] for x in path] for path in traj.x])
    assert np.allclose(cp3.rollout(x0, v0, potential=own, beside_scene=True, steps=3).energy().potential[:, 0],
                       own.value(x0) + cp3.energy(x0, v0).potential)
    again = pickle.loads(pickle.dumps(traj))
    assert np.array_equal(again.energy().potential, energy.potential)
    single = cp3.rollout(x0[0], v0[0], potential=own, steps=20)
    assert np.array_equal(single.x, traj.x[0]) and single.vjp(single.x).potential.shape == (3,)
    # results live on while others are made, each with its own
    other = cp3.rollout(x0, v0, potential=Wells((1, 2, 3)), steps=20)
    kept = traj.vjp(traj.x)
    other.vjp(other.x)
    assert np.array_equal(traj.vjp(traj.x).potential, kept.potential)
    with pytest.warns(carom.CaromWarning, match="energy is that of the scene"):
        carom.view(traj)
    own.value = None
    with pytest.raises(carom.StateError, match="no method `value`"):
        traj.energy()


class Broken(Wells):
    """Goes wrong in the way that it is told, at one of its calls."""

    def __init__(self, way, at=3):
        super().__init__()
        self.way, self.left = way, at

    def _spoil(self, good):
        self.left -= 1
        return self.way(good) if self.left == 0 else good

    def gradient(self, x):
        return self._spoil(super().gradient(x))


class BrokenInReverse(Broken):
    def gradient(self, x):
        return Wells.gradient(self, x)

    def gradient_vjp(self, x, g_bar):
        return self._spoil(super().gradient_vjp(x, g_bar))


def _raise(kind):
    def way(good):
        raise kind("on purpose")
    return way


@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt, ZeroDivisionError])
def test_exceptions_come_through(cp3, kind):
    x0, v0 = cp3.sample(4)
    with pytest.raises(kind, match="on purpose"):
        cp3.rollout(x0, v0, potential=Broken(_raise(kind)), steps=5)
    traj = cp3.rollout(x0, v0, potential=BrokenInReverse(_raise(kind)), steps=5)
    with pytest.raises(kind, match="on purpose"):
        traj.vjp(traj.x)
    # it went wrong once: the result is as good as before
    assert traj.vjp(traj.x).potential.shape == (3,)


def test_bad_potentials(cp3):
    x0, v0 = cp3.sample(4)

    def fails(kind, message, potential):
        with pytest.raises(kind, match=message):
            traj = cp3.rollout(x0, v0, potential=potential, steps=5)
            traj.vjp(traj.x)

    fails(TypeError, "method 'gradient', which int has not", 3)
    fails(ValueError, r"the potential's gradient has shape \[4, 1, 2\], must be \[4, 3, 2\]",
          Broken(lambda g: g[:, :1]))
    fails(TypeError, "real numbers", Broken(lambda g: g + 1j))
    fails(carom.NumericalError, "its gradient is not finite at state 2 of 4",
          Broken(lambda g: np.where(np.arange(4)[:, None, None] == 2, np.nan, g)))
    fails(ValueError, r"cotangent of x has shape", BrokenInReverse(lambda b: (b[0][:1], b[1])))
    fails(ValueError, r"cotangent of its parameters has shape \[2\], must be \[3\]",
          BrokenInReverse(lambda b: (b[0], b[1][:2])))
    fails(TypeError, "gives two arrays", BrokenInReverse(lambda b: b[0]))
    fails(carom.NumericalError, "its Hessian is not finite",
          BrokenInReverse(lambda b: (np.full_like(b[0], np.inf), b[1])))


# ---- torch -----------------------------------------------------------------------------------------

def network(kind="float64", seed=0, size=8):
    torch.manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, size), torch.nn.Tanh(),
                               torch.nn.Linear(size, 1))
    return made.to(getattr(torch, kind))


def tensors(*arrays):
    return [torch.tensor(np.array(a), requires_grad=True) for a in arrays]


@needs_torch
@pytest.mark.parametrize("time, touching", [("step", False), ("step", True), ("event", True)])
def test_gradcheck_of_a_network(time, touching):
    system = carom.System("bd1" if touching else "cp3")
    x0, v0 = system.sample(2, seed=3)
    if touching:
        v0 = np.where(np.arange(2)[:, None, None] == 0, v0, [0.1, -4.0])
    net = network(size=4)
    options = {"steps": 20 if touching else 4, "contact_time": time}
    theta = system.parameters({"friction": 0.2, "restitution": 0.5}).array
    given = tensors(x0, v0, theta, *(part.detach() for part in net.parameters()))

    def run(x, v, t, inner, shift, outer, end):
        def energy(at):
            return torch.tanh(at.flatten(1) @ inner.T + shift) @ outer.T + end

        return carom.torch.rollout(system, x, v, t, potential=energy, beside_scene=True, **options)

    with torch.no_grad():
        events = system.rollout(x0, v0, theta, **options).report.events
    assert (events > 0) == touching
    assert torch.autograd.gradcheck(run, given, eps=1e-6, atol=1e-5, rtol=1e-3, fast_mode=True)


@needs_torch
def test_several_forward_passes_of_a_network_before_a_backward(cp3):
    x0, v0 = tensors(*cp3.sample(4, seed=1))
    net = network()

    def loss(scale):
        x, v = carom.torch.rollout(cp3, scale * x0, v0, potential=net, steps=10)
        return (x ** 2).sum() + v.sum()

    def gradient(value, **how):
        return torch.cat([part.reshape(-1) for part in torch.autograd.grad(value, list(net.parameters())[:3],
                                                                           **how)])

    one, two = gradient(loss(1.0)), gradient(loss(0.5))
    first, second = loss(1.0), loss(0.5)
    assert torch.allclose(gradient(first + second, retain_graph=True), one + two, rtol=1e-12)
    assert torch.equal(gradient(second, retain_graph=True), two) and torch.equal(gradient(first), one)
    # parameters that were changed meanwhile: no gradient of another network
    third = loss(1.0)
    with torch.no_grad():
        net[1].weight += 0.1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        third.backward()


@needs_torch
def test_whatever_a_function_is_made_of_gets_its_gradient(cp3):
    x0, v0 = (torch.tensor(part) for part in cp3.sample(4, seed=1))
    raw = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    k = torch.nn.functional.softplus(raw)

    def run(k):
        x, _ = carom.torch.rollout(cp3, x0, v0, potential=lambda x: k * (x ** 2).sum((1, 2)), steps=20)
        return x.sum()

    run(k).backward()
    h = 1e-6
    with torch.no_grad():
        plus, minus = (run(torch.nn.functional.softplus(raw + s * h)) for s in (1, -1))
    assert torch.isclose(raw.grad, (plus - minus) / (2 * h), rtol=1e-7)
    # a constant, a linear one, one without a graph
    for energy in (lambda x: torch.zeros(len(x), dtype=torch.float64), lambda x: raw * x.sum((1, 2)),
                   lambda x: 3 * x.sum((1, 2))):
        x, _ = carom.torch.rollout(cp3, x0.requires_grad_(), v0, potential=energy, steps=5)
        x.sum().backward()


@needs_torch
def test_a_network_in_single_precision_and_in_a_module(cp3):
    x0, v0 = (torch.tensor(part) for part in cp3.sample(4, seed=1))
    single, double = network("float32"), network("float32").double()
    results = []
    for net in (single, double):
        simulator = carom.torch.Simulator(cp3, ["friction"], potential=net, steps=10)
        assert len(list(simulator.parameters())) == 1 + 4
        x, v = simulator(x0, v0)
        (x.sum() + v.sum()).backward()
        results.append((x.detach(), net[1].weight.grad))
    assert results[0][1].dtype == torch.float32
    assert torch.allclose(results[0][0], results[1][0], atol=1e-5)
    assert torch.allclose(results[0][1].double(), results[1][1], atol=1e-4)


@needs_torch
def test_bad_networks(cp3):
    x0, v0 = (torch.tensor(part) for part in cp3.sample(4, seed=1))

    def fails(kind, message, potential):
        with pytest.raises(kind, match=message):
            x, _ = carom.torch.rollout(cp3, x0, v0, potential=potential, steps=5)
            x.sum().backward()

    net = network()
    fails(TypeError, "a module or a function", 3)
    fails(ValueError, r"gave \[4, 6\] for 4 states", lambda x: x.flatten(1))
    fails(ValueError, "gave float for 4 states", lambda x: 1.0)
    fails(ValueError, r"dropout or batch normalisation",
          torch.nn.Sequential(net[0], net[1], torch.nn.Dropout(0.5), net[2], net[3]))
    fails(ValueError, r"dropout or batch normalisation",
          lambda x: (x * x.mean(0, keepdim=True)).sum((1, 2)))
    fails(carom.NumericalError, "not finite", lambda x: (x - 100).sqrt().sum((1, 2)))
    fails(RuntimeError, "shapes cannot be multiplied", torch.nn.Linear(5, 1).double())

    class Late(torch.nn.Module):
        def forward(self, x):
            self.calls = getattr(self, "calls", 0) + 1
            if self.calls > 6:
                raise ZeroDivisionError("on purpose")
            return net(x)

    fails(ZeroDivisionError, "on purpose", Late())
    hidden = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)

    class Sometimes:
        """Depends on a tensor that it does not show at the first states."""
        calls = 0

        def __call__(self, x):
            self.calls += 1
            return (hidden * x ** 2).sum((1, 2)) if self.calls > 5 else net(x)

    fails(RuntimeError, "would get no gradient", Sometimes())


@needs_torch
def test_ten_lines_that_train_a_network_on_cp3():
    system = carom.System("cp3")
    seen = system.rollout(*system.sample(32, seed=1), steps=55)
    assert seen.contact[:, 51:].any()
    x0, v0, v_data = (torch.tensor(part) for part in (seen.x[:, 50], seen.v[:, 50], seen.v[:, 50:]))
    torch.manual_seed(0)
    # the lines of docs/python.md
    V = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 32), torch.nn.Softplus(),
                            torch.nn.Linear(32, 1)).double()
    optimizer = torch.optim.Adam(V.parameters(), lr=0.02)
    for _ in range(100):
        x, v = carom.torch.rollout(system, x0, v0, potential=V, steps=5)
        loss = (v - v_data).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    # twelve times as far, from states that it has not seen, through contacts
    tests = system.sample(16, seed=2)
    truth = system.rollout(*tests, steps=60)
    assert truth.report.events > 0
    x, v = carom.torch.rollout(system, *map(torch.tensor, tests), potential=V, steps=60)
    learned, nothing = (np.abs(found - truth.x).mean()
                        for found in (x.detach().numpy(), system.rollout(*tests, {"gravity": 0}, steps=60).x))
    assert learned < 0.1 * nothing
