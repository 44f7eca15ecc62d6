"""The loop: a network against the clock, with a device and safety."""
