"""How fast Passivo is, beside the fastest rival we can write ourselves: `python -m bench [names] [--json FILE]`."""
