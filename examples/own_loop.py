"""A loop of one's own around a compiled part: a spring is made stiffer while it swings, and the ledger notices."""

import passivo as pv

part = pv.compile(pv.library.oscillator(k=100.0, m=1.0), pv.AVF(), step=1e-3, start={"q": 0.1})
for k in range(5000):
    if k == 2500:
        part.set(k=200.0)  # the energy this adds is booked as edited, not as created
    part.step([0.2 if k < 1000 else 0.0])
print(f"t = {part.time:.3f} s, q = {part.state[0]:.4f} m, stored {part.stored:.4f} J")
print(part.verdict)
