"""How fast Passivo is, beside the fastest rival we can write: `python -m bench [names] [--json FILE]`."""
