"""Fixed hypothesis profile: the same examples everywhere, no deadlines (machines are shared)."""

import os
import signal

# read when NumPy is loaded: on small matrices the threads of BLAS wait for each other, and for those of other workers
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis

hypothesis.settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("fixed")

# a shell that starts the tests in the background has Ctrl-C ignored in them, and in all they start
signal.signal(signal.SIGINT, signal.default_int_handler)
