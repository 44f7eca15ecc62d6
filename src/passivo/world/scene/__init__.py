"""Readers of scene files, one for each format, and what makes a world of a scene."""
