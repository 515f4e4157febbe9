"""Plans."""
import numpy as np
import pytest

import carom


@pytest.mark.parametrize("name", carom.plans())
def test_the_gradient_of_every_built_in_plan(name):
    plan = carom.Plan(name)
    start = np.array([unknown.start for unknown in plan.unknowns])
    found = plan.loss(start)
    assert np.isfinite(found.loss) and np.isclose(found.terms.sum(), found.loss)
    assert len(plan.terms) == len(found.terms)
    motion = plan.motion(start)
    assert motion.x.shape == (plan.steps + 1, *plan.system.state_shape)


def test_a_gradient_beside_differences():
    plan = carom.Plan("hit")
    z = np.array([unknown.start for unknown in plan.unknowns])
    direction = np.random.default_rng(0).standard_normal(len(z))
    h = 1e-6
    numeric = (plan.loss(z + h * direction).loss - plan.loss(z - h * direction).loss) / (2 * h)
    assert np.isclose(plan.loss(z).gradient @ direction, numeric, rtol=1e-4)


def test_solving(tmp_path):
    plan, seen = carom.Plan("hit"), []
    result = plan.solve(lambda done, total, loss, best: seen.append(best), iterations=20)
    assert seen and result.loss <= result.losses[0] and np.isclose(plan.loss(result.unknowns).loss, result.loss)
    assert result.motions.batch >= 2
    result.write(tmp_path / "plan.h5")
    assert "carom-document" in carom.view(tmp_path / "plan.h5")
    stopped = plan.solve(lambda *progress: False, iterations=20)
    assert len(stopped.losses) <= len(result.losses)

    def fail(*progress):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        plan.solve(fail)
    with pytest.raises(ValueError, match="unknowns has shape"):
        plan.loss([1.0] * 99)
    with pytest.raises(carom.FileError):
        carom.Plan("hitt")
    with pytest.raises(carom.PlanError, match="this is a scene"):
        carom.Plan({"carom": 1})
