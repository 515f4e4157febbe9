"""Systems, parameters, states, energies, contacts."""
import json
import pickle

import numpy as np
import pytest

import carom
from conftest import SCENES


def test_a_scene_by_name_path_dict_and_text(tmp_path):
    named = carom.System("cp3")
    path = tmp_path / "mine.json"
    path.write_text(named.json)
    x0, v0 = named.sample(3, seed=5)
    motion = named.rollout(x0, v0, steps=20).x
    for scene in (path, str(path), named.scene, named.json, "\n " + named.json):
        assert np.array_equal(carom.System(scene).rollout(x0, v0, steps=20).x, motion)


@pytest.mark.parametrize("name", SCENES)
def test_what_a_system_says_of_itself(name):
    system = carom.System(name)
    x0, v0 = system.sample(2, seed=3)
    assert x0.shape == v0.shape == (2, *system.state_shape)
    system.check_states(x0, v0)
    assert len(system.bodies) == len(system.rigid) == system.body_count
    assert len(system.contacts) == system.contact_count == len(set(system.contacts))
    theta = system.parameters()
    assert theta["friction"].shape == (system.contact_count,)
    assert sum(theta.array[place].size for place in theta.segments.values()) == len(theta)
    again = pickle.loads(pickle.dumps(system))
    assert again.json == system.json and "svg" in system._repr_html_()


def test_parameters_are_views_and_masses_are_no_logarithms(cp3):
    theta = cp3.parameters()
    theta["mass"] = [1, 2, 3]
    theta["friction"][1] = 0.25
    assert np.allclose(theta.array[theta.segments["log_mass"]], np.log([1, 2, 3]))
    assert theta.array[theta.segments["friction"]][1] == 0.25
    assert np.asarray(theta) is theta.array
    assert np.array_equal(cp3.parameters({"friction": 0.25})["friction"], [0.25] * 3)
    assert pickle.loads(pickle.dumps(theta))["friction"][1] == 0.25
    with pytest.raises(ValueError, match="positive"):
        theta["mass"] = 0
    with pytest.raises(KeyError, match="no segment 'frictoin'"):
        theta["frictoin"]
    theta["restitution"] = 2
    with pytest.raises(ValueError, match="restitution"):
        theta.check()


def test_parameters_there_and_back(cp3, tmp_path):
    theta = cp3.parameters({"mass": [1, 2, 3], "friction": [0.1, 0.2, 0.3]})
    theta.save(tmp_path / "theta.h5")
    again = cp3.parameters(tmp_path / "theta.h5")
    assert np.allclose(again.array, theta.array, rtol=1e-15)


def test_energy_is_conserved_where_nothing_touches(bd1):
    x, v = bd1.from_pose([[0.5, 0.5]], [0.3], [[0.2, 1.0]], [3.0])
    kinetic, potential = bd1.rollout(x, v, steps=10).energy()
    total = kinetic + potential
    assert np.allclose(total, total[0], rtol=1e-9)
    theta = bd1.parameters()
    mass, moment = theta["mass"][0], np.exp(theta["log_moment"][0]).sum()
    assert np.isclose(kinetic[0], 0.5 * mass * (1.04 + moment * 9))


def test_contacts_at_a_state(bd1):
    x, v = bd1.from_pose([[0.5, 0.0999]], [0.0], [[1.0, -1.0]], [0.0])
    touching = bd1.contacts_at(x)
    near = bd1.contacts_at(x, margin=np.inf)
    assert len(near) == bd1.contact_count >= len(touching)
    acting = bd1.step_contacts(x, v)
    if acting:
        assert acting[0].normal_impulse > 0 and acting[0].label in bd1.contacts


def test_controls_are_listed():
    scene = {"carom": 1, "name": "pushed", "dimension": 2, "dt": 0.01, "steps": 10,
             "bodies": [{"id": "a", "type": "rigid", "mass": 2, "radius": 0.1}],
             "controls": [{"id": "push", "type": "force", "body": "a"},
                          {"id": "twist", "type": "torque", "body": "a"}],
             "initial": {"sampler": "box", "low": [0, 1], "high": [1, 2], "speed": 1}}
    system = carom.System(scene)
    assert [(c.id, c.kind, c.numbers) for c in system.controls] == [
        ("push", "force", slice(0, 2)), ("twist", "torque", slice(2, 3))]
    # constant force: x = F t^2 / (2 m)
    x, v = system.from_pose([[0.0, 0.0]], [0.0])
    u = np.zeros((10, 3))
    u[:, 0] = 4.0
    end = system.rollout(x, v, u=u).pose()
    assert np.isclose(end.position[-1, 0, 0], 0.5 * 2.0 * 0.1 ** 2)
    with pytest.raises(ValueError, match=r"u has shape \[10, 2\], must be \[10, 3\]"):
        system.rollout(x, v, u=u[:, :2])


def test_names_of_options():
    options = carom.rollout_options()
    assert options["substeps"].default == 1 and options["steps"].default is None
    assert carom.trainer_options()["epochs"].default == 300
    assert "train" in carom.dataset_options() and "hidden_size" in carom.model_options()
    assert "steps" in carom.evaluation_options()
    json.dumps({name: option._asdict() for name, option in options.items()})
