"""Many runs of one description: a grid of parameters, starts, steps and methods on all cores."""

import sys
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """The room has the name of its function: `pv.sweep(...)` means that one, whichever was loaded first."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        from passivo.sweep.sweep import sweep

        return sweep(*args, **options)


sys.modules[__name__].__class__ = _Room
