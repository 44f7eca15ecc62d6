"""All commands, in the order in which the help lists them."""

from passivo.cli import (  # noqa: F401, I001 - each registers itself
    run,
    touch,
    compare,
    zwidth,
    methods,
    devices,
    replay,
    audit,
    latency,
    reproduce,
    bench,
)
