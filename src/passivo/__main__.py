"""`python -m passivo` is the command line."""

from passivo.cli.app import main

main()
