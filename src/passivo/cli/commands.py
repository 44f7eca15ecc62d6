"""All commands, in the order in which the help lists them."""

from passivo.cli import run, compare, zwidth, methods, devices, audit, reproduce, bench  # noqa: F401, I001 - each registers itself
