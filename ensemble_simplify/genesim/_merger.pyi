from ensemble_simplify.genesim._rows import Rows, Splitter

class Merger:
    def __init__(self, rows: Rows, splitter: Splitter) -> None: ...
