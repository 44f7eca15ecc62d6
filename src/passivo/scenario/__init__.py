"""Scenarios: a run described in YAML, checked, with the file, the line and the mend in every error."""
