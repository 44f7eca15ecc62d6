"""Recordings: rows from a loop to disk, and back."""
