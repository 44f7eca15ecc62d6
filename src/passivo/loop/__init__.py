"""The loop: a network against the clock, with a device, safety and a recorder."""
