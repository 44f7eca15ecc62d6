"""A local model: a stiff spring beside the device at 1 kHz, and behind it an object that steps every 10 ms.

With a well damped device holding directly works, and creates a little energy. With a stiffer spring and less damping it
creates without bound; a passive sampler at the device and a passive sample and hold at the object book and repay what
holding creates: the energy stays bounded, the rendering gets worse, and the ledger says both.
"""

import passivo as pv


def touch(near, far, stiffness, damping):
    """A device of 0.15 kg, a spring beside it, and a damped mass of 10 kg on a spring of 100 N/m."""
    net = pv.Network()
    device = net.add("device", pv.library.device(m=0.15, b=damping), pv.ExactHold(port="true"), step=1e-3)
    local = net.add("local", pv.library.spring(k=stiffness, ports=("near", "far")), pv.EnergyConsistent(), step=1e-3)
    thing = net.add("object", pv.library.oscillator(k=100.0, m=10.0, b=20.0), pv.EnergyConsistent(), step=1e-2)
    net.connect(device["handle"], local["near"], through=near, name="touch")
    net.connect(thing["force"], local["far"], through=far, name="model")
    return pv.simulate(net, until=10.0, inputs={"device.hand": 5.0})


for stiffness, damping in ((2e3, 5.0), (5e3, 2.0)):
    print(f"{stiffness:g} N/m, device damping {damping:g} N s/m; 5 N on 100 N/m should move the object 5 cm")
    for near, far in ((pv.Direct(), pv.Direct()), (pv.PassiveSampler(), pv.PassiveSampleHold())):
        run = touch(near, far, stiffness, damping)
        moved = 100 * float(run["object.q"][-1])
        print(f"  {type(near).__name__} and {type(far).__name__}: moved {moved:.3g} cm; {run.verdict}")
