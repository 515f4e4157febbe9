"""The six tasks of docs/python.md, with as many lines as it says."""
import os

import numpy as np
import pytest

if os.environ.get("CAROM_TEST_NO_TORCH"):
    pytest.skip("torch is left out here", allow_module_level=True)
torch = pytest.importorskip("torch")

import carom  # noqa: E402

SIMULATE = """
system = carom.System("cp3")
traj = system.rollout(*system.sample(64, seed=1), steps=100)
"""
DIFFERENTIATE = """
x_bar = np.zeros_like(traj.x)
x_bar[:, -1] = 1
grads = traj.vjp(x_bar)
"""
FRICTION = """
mu_bar = grads.theta["friction"]
"""
LEARN = """
x0, v0, data = torch.tensor(traj.x[:, 0]), torch.tensor(traj.v[:, 0]), torch.tensor(traj.x[:, :41])
simulator = carom.torch.Simulator(system, ["friction", "restitution"], steps=40)
torch.nn.init.constant_(simulator.friction, 0.3)
optimizer = torch.optim.Adam(simulator.parameters(), lr=0.02)
for _ in range(20):
    x, v = simulator(x0, v0)
    loss = (x - data).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
IDENTIFY = """
found = carom.identify(system, traj, {"friction": {"start": 0.3, "shared": True}}, threads=1)
"""
LAYER = """
f = carom.cone_program(torch.eye(2), torch.tensor([-1.0, -2.0], requires_grad=True), torch.tensor([0.5]))
"""


def test_the_tasks():
    names = {"carom": carom, "np": np, "torch": torch}
    counts = []
    for task in (SIMULATE, DIFFERENTIATE, FRICTION, LEARN, IDENTIFY, LAYER):
        exec(task, names)
        counts.append(len(task.strip().splitlines()))
    assert names["traj"].x.shape == (64, 101, 3, 2) and names["grads"].v0.shape == (64, 3, 2)
    assert names["mu_bar"].shape == (3,) and names["f"].requires_grad
    assert 0.3 < names["simulator"].friction.max().item() < 0.8
    assert counts == [2, 3, 1, 10, 1, 1]
