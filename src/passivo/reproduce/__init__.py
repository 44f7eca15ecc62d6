"""Figures of the papers, one file each: a picture, its data, and which statements of the paper hold, with numbers."""
