"""Where energy-consistent stepping ends: a mass m with a damper b, from gentle to stiff, and the exact hold beside it.

From bT/m = 1/2 the Euler quadrature of the loss takes more energy than there is (a leap, in every step), from 2 on the
momentum grows. The exact hold has the exact loss of the step, and no such limit.
"""

import passivo as pv

STEP, MASS = 1e-3, 0.2
for b in (10.0, 90.0, 110.0, 410.0):
    damped = pv.library.oscillator(k=0.0, m=MASS, b=b)
    print(f"bT/m = {b * STEP / MASS:.2f}")
    for method in (pv.EnergyConsistent(), pv.ExactHold()):
        run = pv.simulate(damped, method, STEP, until=0.1, start={"p": 1.0})
        faults = sum(run.faults.values())
        print(f"  {type(method).__name__:17s} {faults:3d} faults in {run.steps} steps; {run.verdict}")
