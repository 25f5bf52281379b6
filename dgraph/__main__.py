"""Run the command line as ``python -m dgraph``."""

from dgraph.cli import main

if __name__ == "__main__":
    main()
