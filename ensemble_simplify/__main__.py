"""``python -m ensemble_simplify model.joblib data.csv --target y``: what can a model become?"""

from ensemble_simplify.front import main

if __name__ == "__main__":
    raise SystemExit(main())
