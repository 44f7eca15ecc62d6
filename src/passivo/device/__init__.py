"""Devices: one interface, one file per driver."""
