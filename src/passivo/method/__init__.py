"""How a system advances one step: the `Part` protocol and one file per method family."""
