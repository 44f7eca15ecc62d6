"""`python -m passivo` is the command line."""

from passivo.cli import main

main()
