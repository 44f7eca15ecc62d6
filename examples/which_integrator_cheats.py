"""The same oscillator by every method: what each of them does to the energy."""

import passivo as pv
from passivo.method.catalogue import GENERAL

oscillator = pv.library.oscillator(k=5000.0, m=0.2)
for name, method in GENERAL.items():
    run = pv.simulate(oscillator, method(), step=1e-3, until=2.0, start={"q": 0.2})
    print(f"{name:18s} {run.verdict}")
