"""`python -m penstock` is the `penstock` command."""

from penstock.cli.app import main

if __name__ == "__main__":
    main()
