"""Writes the notebooks anew from the texts below: python3 python/notebooks/build.py

They are kept without outputs; python/tests/test_notebooks.py runs them.
"""
import json
import pathlib

LEARN = [
    "# Learn from your own trajectories\n\nYou have recorded bodies: positions and angles over time. From them alone carom "
    "learns friction, restitution and the potential.",
    """import carom
import numpy as np

# stands for your recording: positions [motion, time, body, 2] and angles [motion, time, body]
system = carom.System("bd1")
recorded = system.rollout(*system.sample(60, seed=1), steps=100).pose()
position, angle = recorded.position, recorded.angle
position.shape, angle.shape""",
    "The scene says what bodies there are and what they can touch. It draws itself.",
    "system",
    "Poses become a data set: velocities are estimated, contacts are found, and what was found out is said.",
    """data = carom.Dataset.from_poses(system, position, angle, dt=0.01, train=200, validation=30, test=30)
for finding in data.findings:
    print(("! " if finding.warning else "  ") + finding.text)
data""",
    """model = carom.Model(system, "cm-cd-clnn", hidden_size=32, seed=1)
history = carom.fit(model, data, epochs=EPOCHS, batch=50, progress=False)
history""",
    """learned, true = model.properties(), model.true_properties()
for name in ("friction", "restitution"):
    print(f"{name}: {learned[name]:.3f} (true {true[name]:.3f})")
evaluation = model.evaluate(data, steps=20)
print(f"relative error along held-out chunks: {evaluation.error:.2e}")""",
    "A prediction from a state that was not in the data, as the page of `carom view`.",
    """prediction = model.predict(*system.sample(1, seed=99), 60)
prediction""",
]

GRADIENT = [
    "# A gradient through a contact, and where it goes wrong\n\nA ball falls on the ground. How does its height after a second "
    "depend on the height from which it falls?",
    """import carom
import matplotlib.pyplot as plt
import numpy as np

ball = carom.System({
    "carom": 1, "name": "ball", "dimension": 2, "dt": 0.01, "steps": 70, "gravity": [0, -9.81],
    "bodies": [{"id": "ball", "type": "point", "mass": 1, "radius": 0.1}],
    "planes": [{"id": "ground", "normal": [0, 1], "offset": 0}],
    "contacts": {"friction": 0, "restitution": 0.8},
    "initial": {"sampler": "box", "low": [0, 1], "high": [1, 2], "speed": 0}})
heights = np.linspace(1.0, 1.2, 400)
x0 = np.stack([np.zeros(400), heights], -1)[:, None]
v0 = np.zeros_like(x0)""",
    "With contacts that act at the end of a time step, the motion jumps whenever the impact moves to the next step. Between the "
    "jumps the derivative is exact, but it is that of one tooth of a saw: it has the wrong size.",
    """def end_and_slope(**options):
    traj = ball.rollout(x0, v0, **options)
    x_bar = np.zeros_like(traj.x)
    x_bar[:, -1, 0, 1] = 1
    return traj.x[:, -1, 0, 1], traj.vjp(x_bar).x0[:, 0, 1]

steps_end, steps_slope = end_and_slope(contact_time="step")
event_end, event_slope = end_and_slope(contact_time="event")
secant = (event_end[-1] - event_end[0]) / (heights[-1] - heights[0])
print(f"mean slope: secant {secant:.3f}, at steps {steps_slope.mean():.3f}, at events {event_slope.mean():.3f}")""",
    """figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot(heights, steps_end, label="contacts at steps")
left.plot(heights, event_end, label="contacts when gaps close")
left.set(xlabel="height at the start", ylabel="height at the end")
left.legend()
right.plot(heights, steps_slope, label="at steps")
right.plot(heights, event_slope, label="at events")
right.axhline(secant, color="k", linestyle=":", label="secant")
right.set(xlabel="height at the start", ylabel="derivative")
right.legend()
plt.show()""",
    "At the time of impact (`contact_time=\"event\"`) the derivative is that of the motion. The time of the impact is a result "
    "too, and has a derivative: $t = \\sqrt{2 h / g}$, so $dt/dh = 1/\\sqrt{2 g h}$.",
    """one = ball.rollout(x0[0], v0[0], contact_time="event", keep_impacts=True)
impact = one.impacts()[0]
slope = one.vjp(impacts={(0, 0): {"time": 1.0}}).x0[0, 1]
h = heights[0] - 0.1
print(f"time {impact.time:.6f}, closed form {np.sqrt(2 * h / 9.81):.6f}")
print(f"derivative {slope:.6f}, closed form {1 / np.sqrt(2 * 9.81 * h):.6f}")""",
]

CONE = [
    "# The cone program as a layer\n\nContact impulses solve a small convex program with friction cones. `carom.cone_program` is "
    "that solver as a differentiable function, for numpy and torch.",
    """import carom
import numpy as np

f = carom.cone_program(np.eye(2), [-1.0, -2.0], [0.5])     # one contact: normal and tangent, friction 0.5
f                                                          # it slides: |tangent| = 0.5 normal""",
    "In torch it takes batches and autograd goes through it. Here friction and a right-hand side are found again from the impulses "
    "that they gave.",
    """import torch

torch.manual_seed(0)
G = torch.randn(32, 4, 6, dtype=torch.float64)
A = G @ G.transpose(-1, -2)                               # two contacts in the plane, 32 programs
mu_true = torch.tensor([0.3, 0.7], dtype=torch.float64)
b = torch.randn(32, 4, dtype=torch.float64)
f_data = carom.cone_program(A, b, mu_true)

mu = torch.tensor([0.5, 0.5], dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.Adam([mu], lr=0.05)
for step in range(120):
    loss = ((carom.cone_program(A, b, mu) - f_data) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(mu.detach().numpy().round(3), f"loss {loss.item():.1e}")""",
    "`torch.autograd.gradcheck` agrees; how each program was solved is said by `cone_solve`.",
    """ok = torch.autograd.gradcheck(carom.cone_program, [part[:2].clone().requires_grad_() for part in (A, b)]
                              + [torch.full((2, 2), 0.4, dtype=torch.float64, requires_grad=True)])
print(ok, carom.cone_solve(A[0].numpy(), b[0].numpy(), [0.4, 0.4]).info)""",
]


def cell(k, source, code):
    lines = source.splitlines(keepends=True)
    if code:
        return {"cell_type": "code", "id": f"c{k}", "metadata": {}, "execution_count": None, "outputs": [],
                "source": lines}
    return {"cell_type": "markdown", "id": f"c{k}", "metadata": {}, "source": lines}


def write(name, cells):
    made = [cell(k, text.replace("EPOCHS", "60"), text[0] != "#" and not _is_text(text))
            for k, text in enumerate(cells)]
    notebook = {"cells": made, "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python",
                                                           "name": "python3"}},
                "nbformat": 4, "nbformat_minor": 5}
    path = pathlib.Path(__file__).parent / f"{name}.ipynb"
    path.write_text(json.dumps(notebook, indent=1) + "\n")


def _is_text(text):
    """Sentences begin with a capital or a backtick and end with a full stop."""
    return text[0] in "ABCDEFGHIJKLMNOPQRSTUVWXYZ`" and text.rstrip().endswith(".")


if __name__ == "__main__":
    write("learn_from_trajectories", LEARN)
    write("gradient_through_a_contact", GRADIENT)
    write("cone_program_layer", CONE)
