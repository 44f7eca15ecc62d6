"""The clamp in front of MuJoCo: a hand presses a device into a stiff box that MuJoCo simulates.

The device is a mass of 0.15 kg with an encoder of 1 µm, pressed with 5 N by a hand that damps a little; MuJoCo gets its
position every millisecond and answers with a contact force. No real box at rest gives energy to a device for long;
sampled and held, MuJoCo's does, and not so behind the clamp (its credit is 0.1 mJ). Needs `pip install passivo[world]`.
"""

import mujoco

import passivo as pv

PERIOD, MASS, ENCODER, PUSH, DAMPING = 1e-3, 0.15, 1e-6, 5.0, 2.0
SCENE = """
<mujoco>
  <option timestep="0.001"/>
  <default> <geom solref="-20000 -2" solimp="0.98 0.99 0.0001"/> </default>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body pos="0 0 0.05"> <joint type="slide" axis="0 0 1"/> <geom type="box" size="0.05 0.05 0.05" mass="2"/> </body>
    <body pos="0 0 0.111"> <joint type="slide" axis="0 0 1"/> <geom type="sphere" size="0.01" mass="1"/> </body>
  </worldbody>
</mujoco>
"""


def touch(guard: pv.Clamp | None) -> tuple[float, float]:
    """Two seconds of pressing: the least energy of the port at any instant, and the mean of the last 1000 forces."""
    model = mujoco.MjModel.from_xml_string(SCENE)
    data = mujoco.MjData(model)
    x = v = last = energy = least = total = 0.0
    for k in range(2000):
        position = round(x / ENCODER) * ENCODER
        data.qpos[1], data.qvel[1], last = position, (position - last) / PERIOD, position
        mujoco.mj_step(model, data)
        wanted = -data.qfrc_constraint[1]  # forces oppose the motion: the device feels -force
        force = wanted if guard is None else guard.tick(position, wanted)
        total += abs(force) if k >= 1000 else 0.0
        a = (-PUSH - DAMPING * v - force) / MASS  # the hand, too, feels once a millisecond: parabolas between
        turn = -v / a if a else 0.0
        for t in (turn, PERIOD) if 0.0 < turn < PERIOD else (PERIOD,):  # where the energy is least within the hold
            least = min(least, energy + force * (v * t + a * t * t / 2))
        moved = v * PERIOD + a * PERIOD**2 / 2
        x, v, energy = x + moved, v + a * PERIOD, energy + force * moved
    return least, total / 1000


guard = pv.LedgerClamp(mass=MASS, encoder=ENCODER).alone(period=PERIOD)
for name, given in (("without the clamp", None), ("with the clamp", guard)):
    least, force = touch(given)
    print(f"{name:18s} least port energy {1e3 * least:10.4f} mJ, mean force {force:8.3f} N")
print(guard.report())
