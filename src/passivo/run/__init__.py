"""Runs: simulate, record, save, audit, plot."""
