"""carom in PyTorch: gradcheck of every function, tapes, modules, a training loop."""
import os

import numpy as np
import pytest

if os.environ.get("CAROM_TEST_NO_TORCH"):
    pytest.skip("torch is left out here", allow_module_level=True)
torch = pytest.importorskip("torch")

import carom  # noqa: E402
import carom.torch  # noqa: E402
from conftest import SCENES  # noqa: E402
from test_rollout import setting, touching  # noqa: E402

torch.set_num_threads(1)  # tensors are small here
gradcheck = torch.autograd.gradcheck
CHECK = {"eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "fast_mode": True}


def inside(system):
    """Parameters with room to both sides."""
    return system.parameters({"friction": 0.15, "restitution": 0.5}).array


def tensors(*arrays):
    return [torch.tensor(np.array(a), requires_grad=True) for a in arrays]


@pytest.mark.parametrize("name", SCENES)
def test_gradcheck_without_contacts(name):
    system, x0, v0, options = setting(name)
    options["steps"] = min(options["steps"], 4)
    given = tensors(x0, v0, inside(system))
    assert gradcheck(lambda x, v, t: carom.torch.rollout(system, x, v, t, **options), given, **CHECK)


@pytest.mark.parametrize("event", [False, True])
@pytest.mark.parametrize("name", [name for name in SCENES if not name.startswith("rope")])
def test_gradcheck_with_contacts(name, event):
    system, x0, v0 = touching(name)
    options = {"steps": 4, "contact_time": "event" if event else "step"}
    given = tensors(x0, v0, inside(system))
    base = system.rollout(x0, v0, given[2].detach().numpy(), **options)
    assert base.report.events > 0 or base.report.impacts > 0
    assert gradcheck(lambda x, v, t: carom.torch.rollout(system, x, v, t, **options), given, **CHECK)


@pytest.mark.parametrize("time", ["step", "event"])
@pytest.mark.parametrize("name", ["rope", "rope50", "rope100", "rope200"])
def test_gradcheck_with_contacts_of_many_bodies(name, time):
    system, x0, v0, _ = setting(name, 1)
    long = system.rollout(x0, v0, steps=60 if time == "step" else 6, contact_time=time)
    assert long.contact.any()
    first = max(int(np.argmax(long.contact[0])) - 1, 0)
    options = {"steps": 2, "contact_time": time}
    given = tensors(long.x[:, first], long.v[:, first], inside(system))
    base = system.rollout(long.x[:, first], long.v[:, first], given[2].detach().numpy(), **options)
    assert base.report.events > 0
    assert gradcheck(lambda x, v, t: carom.torch.rollout(system, x, v, t, **options), given, **CHECK)


def test_gradcheck_of_segments_and_controls():
    system = carom.System({
        "carom": 1, "name": "pushed", "dimension": 2, "dt": 0.01, "steps": 5, "gravity": [0, -9.81],
        "bodies": [{"id": "a", "type": "rigid", "mass": 2, "radius": 0.1}],
        "planes": [{"id": "ground", "normal": [0, 1], "offset": 0}],
        "contacts": {"friction": 0.3, "restitution": 0.5},
        "controls": [{"id": "push", "type": "force", "body": "a"},
                     {"id": "twist", "type": "torque", "body": "a"}],
        "initial": {"sampler": "box", "low": [0, 1], "high": [1, 2], "speed": 1}})
    x0, v0 = (part[None] for part in system.from_pose([[0, 0.105]], [0.2], [[0.3, -1.0]], [0.5]))
    random = np.random.default_rng(1)
    given = tensors(x0, v0, random.standard_normal((1, 5, 3)), [2.0], [[0.1, 0.2]], [0.3], [0.5])

    def run(x, v, u, mass, moment, friction, restitution):
        theta = {"mass": mass, "moment": moment, "friction": friction, "restitution": restitution}
        return carom.torch.rollout(system, x, v, theta, u)

    x, v = run(*given)
    assert system.rollout(x0, v0, steps=5).report.events > 0
    assert gradcheck(run, given, **{**CHECK, "fast_mode": False})


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_gradcheck_of_the_cone_program(dimension, batch):
    from test_cone import program
    A, b, mu = program(4, 2, dimension, batch)
    given = tensors(A, b, mu, np.full(mu.shape, 0.02))
    assert gradcheck(carom.torch.cone_program, given, eps=1e-6, atol=1e-6, rtol=1e-4)


def test_the_cone_program_dispatches_and_expands():
    A = torch.eye(2, dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[-1.0, -2.0], [-1.0, 0.0]], dtype=torch.float64)
    f = carom.cone_program(A, b, torch.tensor([0.5], dtype=torch.float64))
    assert f.requires_grad and f.shape == (2, 2)
    f.sum().backward()
    assert A.grad.shape == (2, 2)


def test_several_forward_passes_before_a_backward(cp3):
    x0, v0 = tensors(*cp3.sample(4, seed=1))
    mu = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)

    def loss(scale):
        x, v = carom.torch.rollout(cp3, scale * x0, scale * v0, {"friction": mu}, steps=60)
        return (x ** 2).sum() + v.sum()

    one, = torch.autograd.grad(loss(1.0), mu)
    two, = torch.autograd.grad(loss(0.5), mu)
    first, second = loss(1.0), loss(0.5)
    both, = torch.autograd.grad(first + second, mu, retain_graph=True)
    assert torch.allclose(both, one + two, rtol=1e-12)
    # the second first, and the same graph again
    assert torch.equal(torch.autograd.grad(second, mu, retain_graph=True)[0], two)
    assert torch.equal(torch.autograd.grad(first, mu)[0], one)


def test_same_as_numpy(cp3):
    x0, v0 = cp3.sample(4, seed=1)
    x, v = carom.torch.rollout(cp3, torch.tensor(x0), torch.tensor(v0), steps=20)
    traj = cp3.rollout(x0, v0, steps=20)
    assert np.array_equal(x.numpy(), traj.x) and np.array_equal(v.numpy(), traj.v)
    assert not x.requires_grad
    single, _ = carom.torch.rollout(cp3, torch.tensor(x0, dtype=torch.float32), torch.tensor(v0), steps=20)
    assert single.dtype == torch.float32 and np.allclose(single.numpy(), traj.x, atol=1e-4)
    one, _ = carom.torch.rollout(cp3, torch.tensor(x0[0]), torch.tensor(v0[0]), steps=20)
    assert np.array_equal(one.numpy(), traj.x[0])


def test_bad_tensors(cp3):
    x0, v0 = (torch.tensor(part) for part in cp3.sample(2))
    with pytest.raises(ValueError, match="x0 has shape"):
        carom.torch.rollout(cp3, x0[:, :2], v0)
    with pytest.raises(TypeError, match="real numbers"):
        carom.torch.rollout(cp3, x0.to(torch.complex128), v0)
    with pytest.raises(KeyError, match="no segment 'mu'"):
        carom.torch.rollout(cp3, x0, v0, {"mu": 1.0})
    with pytest.raises(RuntimeError, match="expand"):
        carom.torch.rollout(cp3, x0, v0, {"friction": torch.ones(2)})
    with pytest.raises(ValueError, match="theta has shape"):
        carom.torch.rollout(cp3, x0, v0, torch.ones(2))
    with pytest.raises(ValueError, match="finite"):
        carom.torch.rollout(cp3, x0 * float("nan"), v0)
    mu = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    x, _ = carom.torch.rollout(cp3, x0, v0, {"friction": mu}, steps=30)
    gradient, = torch.autograd.grad(x.sum(), mu, create_graph=True)
    if gradient.requires_grad:
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.backward()


def test_a_training_loop_learns_friction_and_restitution_of_cp3():
    system = carom.System("cp3")
    truth = {"friction": 0.5, "restitution": 0.3}
    # a state shortly before a contact, for each of several motions
    long = system.rollout(*system.sample(64, seed=1), truth, steps=60)
    rows = [k for k in range(64) if long.contact[k, 2:].any()]
    first = [int(np.argmax(long.contact[k, 2:])) for k in rows]
    x0, v0 = (torch.tensor(part[rows, first]) for part in (long.x, long.v))
    x_data, v_data = carom.torch.rollout(system, x0, v0, truth, steps=6)

    mu, e = (torch.tensor(start, dtype=torch.float64, requires_grad=True) for start in (0.2, 0.7))
    optimizer = torch.optim.Adam([mu, e], lr=0.03)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.985)
    for _ in range(250):
        x, v = carom.torch.rollout(system, x0, v0, {"friction": mu, "restitution": e}, steps=6)
        loss = (x - x_data).abs().mean() + (v - v_data).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    assert abs(mu.item() - 0.5) < 0.01 and abs(e.item() - 0.3) < 0.01


def test_a_module(cp3):
    x0, v0 = (torch.tensor(part) for part in cp3.sample(4, seed=1))
    with torch.no_grad():
        simulator = carom.torch.Simulator(cp3, ["friction", "restitution", "log_mass"], steps=40)
        simulator.friction.fill_(-0.1)
        x, v = simulator(x0, v0)
    assert np.array_equal(x.numpy(), cp3.rollout(*cp3.sample(4, seed=1), {"friction": 0}, steps=40).x)
    x, v = simulator(x0, v0)
    x.sum().backward()
    assert simulator.log_mass.grad.abs().sum() > 0
    again = carom.torch.Simulator(cp3, ["friction", "restitution", "log_mass"])
    again.load_state_dict(simulator.state_dict())
    assert torch.equal(again.friction, simulator.friction)


class _Motions(torch.utils.data.Dataset):
    def __init__(self, system):
        self.system = system
        self.x0, self.v0 = system.sample(16, seed=1)

    def __len__(self):
        return 16

    def __getitem__(self, k):
        return torch.tensor(self.system.rollout(self.x0[k], self.v0[k], steps=20, threads=2).x)


def test_the_loader_of_torch(cp3):
    cp3.rollout(*cp3.sample(32), steps=20, threads=2)  # the parent has threads
    motions = _Motions(cp3)
    loader = torch.utils.data.DataLoader(motions, batch_size=4, num_workers=2)
    found = torch.cat(list(loader))
    assert np.array_equal(found.numpy(), cp3.rollout(motions.x0, motions.v0, steps=20).x)
