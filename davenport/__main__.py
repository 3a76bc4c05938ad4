"""`python -m davenport`."""

from davenport.cli import main

main()
