"""Fixed hypothesis profile: the same examples everywhere, no deadlines (machines are shared)."""

import hypothesis

hypothesis.settings.register_profile(
    "fixed",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large],
)
hypothesis.settings.load_profile("fixed")
