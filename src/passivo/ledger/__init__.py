"""Accounts of energy and the verdict on them (design section 4)."""
