"""Measure what the methods claim, on reference problems: `make verify`, or `python -m verify`.

    problems.py   what is stepped: a reference problem per ready-made system, and some beside
    methods.py    what steps it: every method of the catalogue in all its variants, and where each applies
    measure.py    order, energy balance, long-time drift, symplecticity
    claims.py     which claims the measurements bear out
    work.py       all measurements, in several processes
    page.py       the tables, in the terminal and as docs/verification.md

A new method is covered as soon as it stands in the catalogue; a new system needs an entry in `problems.py`.
"""
