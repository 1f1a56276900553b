"""``python -m ensemble_simplify report|export|verify``: see ``--help``."""

from ensemble_simplify.front import main

if __name__ == "__main__":
    raise SystemExit(main())
