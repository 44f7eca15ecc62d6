"""A box that tumbles freely for five seconds: what each integrator makes of an energy that nothing can change.

A box of 0.2 × 0.4 × 0.6 m and 1 kg spins at (1, 2, 3) rad/s, 500 steps of 10 ms, without gravity. The error is how far
its orientation is from that of a run with steps a hundred times finer. Beside Passivo stand MuJoCo's integrators on the
same box, where `pip install passivo[world]` has brought it.
"""

import numpy as np

import passivo as pv

STEP, STEPS, RATE = 1e-2, 500, (1.0, 2.0, 3.0)
INTEGRATORS = ("Euler", "implicit", "implicitfast", "RK4")  # MuJoCo's
SCENE = """
<mujoco>
  <option timestep="{step}" gravity="0 0 0" integrator="{name}"/>
  <worldbody> <body> <freejoint/> <geom type="box" size="0.1 0.2 0.3" mass="1"/> </body> </worldbody>
</mujoco>
"""


def world() -> pv.World:
    scene = pv.World(gravity=(0, 0, 0))
    scene.add_body("box", pv.Box(0.2, 0.4, 0.6), 1.0, angular_velocity=RATE)
    return scene


def ours(method, parts: int = 1, engine: str = "numba") -> tuple[float, np.ndarray, str]:
    """Energy at the end over that at the start, the orientation, and the verdict."""
    run = pv.simulate(world(), method, step=STEP / parts, until=STEP * STEPS, record_every=parts, engine=engine)
    stored = run.ledger.stored.sel(part="total").values
    return stored[-1] / stored[0], run["box.orientation"].values[-1], run.verdict.kind


def mujocos(name: str) -> tuple[float, np.ndarray]:
    import mujoco

    model = mujoco.MjModel.from_xml_string(SCENE.format(step=STEP, name=name))
    data = mujoco.MjData(model)
    data.qvel[3:] = RATE
    energy = lambda: 0.5 * float(model.body_inertia[1] @ mujoco_rates(model, data) ** 2)  # noqa: E731
    before = energy()
    for _ in range(STEPS):
        mujoco.mj_step(model, data)
    return energy() / before, data.qpos[3:].copy()


def mujoco_rates(model, data) -> np.ndarray:
    """Rates about the principal axes."""
    import mujoco

    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, model.body_iquat[1])
    return matrix.reshape(3, 3).T @ data.qvel[3:]


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """The angle between two orientations, rad."""
    return float(2 * np.arccos(min(abs(a @ b), 1.0)))


def main() -> None:
    exact = ours(pv.PassiveMidpoint(), 100)[1]
    print(f"{'':42} energy changed by   off by [rad]   verdict")
    for label, method in (
        ("Passivo PassiveMidpoint()", pv.PassiveMidpoint()),
        ("Passivo PassiveMidpoint(order=1), the paper", pv.PassiveMidpoint(order=1)),
        ("Passivo SymplecticEuler()", pv.SymplecticEuler()),
        ("Passivo ImplicitEuler()", pv.ImplicitEuler()),
    ):
        ratio, turn, verdict = ours(method)
        print(f"{label:42} {100 * (ratio - 1):+14.2g} %   {apart(turn, exact):12.2g}   {verdict}")
    try:
        import mujoco  # noqa: F401
    except ImportError:
        print("MuJoCo is not installed")
        return
    for name in INTEGRATORS:
        ratio, turn = mujocos(name)
        print(f"{'MuJoCo ' + name:42} {100 * (ratio - 1):+14.2g} %   {apart(turn, exact):12.2g}   ")


if __name__ == "__main__":
    main()
