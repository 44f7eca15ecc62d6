"""How much energy a sample and hold lends: a spring at 1 kHz and a mass at slower rates, over stiffness and rate."""

import numpy as np

import passivo as pv

net = pv.Network()
spring = net.add("spring", pv.library.spring(k=400.0), pv.AVF(), step=1e-3)
mass = net.add("mass", pv.library.mass(m=0.2), pv.AVF(), step=2e-3)
net.connect(spring["end"], mass["force"], through=pv.PassiveSampleHold(), name="link")

over = {"spring.k": np.geomspace(10.0, 1000.0, 5), "mass.step": [2e-3, 4e-3, 8e-3]}
lent = pv.Reduce("link.error", "mean", since=30.0, name="lent")
result = pv.sweep(net, until=60.0, over=over, keep=[lent, "bias"], start={"spring.q": 0.2})
print((abs(result["lent"]) / (result["spring.k"] * 0.2**2 / 2)).round(5).to_pandas())
