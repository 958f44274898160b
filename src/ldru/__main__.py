"""`python -m ldru` is the command `ldru`."""

from ldru.cli import main

if __name__ == "__main__":
    main()
