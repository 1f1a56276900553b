"""ONNX: a graph with one ensemble of trees."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from ensemble_simplify.reading.families.treelite import ExchangeModel, largest_left
from ensemble_simplify.reading.program import Above, Link, boosted
from ensemble_simplify.reading.table import Table
from ensemble_simplify.reading.trees import Reading, Tree, asked_by_sets, name_of, set_of

_TREES = ("TreeEnsembleClassifier", "TreeEnsembleRegressor")
_TYPES = {1: "float32", 11: "float64"}
_MODES = (b"BRANCH_LEQ", b"BRANCH_LT", b"BRANCH_GT", b"BRANCH_GTE")


class OnnxModel(ExchangeModel):
    """An ONNX graph with one ensemble of trees, to be compared by `verify` and `agreement`.

    Use it to prove that a converted model answers as its original does, or to see a row on which
    the two differ.

    ``predict`` calls onnxruntime on one thread, since with several it adds up the trees in another
    order. For the proof, rows are compared, and leaves added up one tree after the other, in the
    type of the graph's input: float32 or float64.

    Parameters
    ----------
    model : onnx.ModelProto, bytes, str or path
        A graph with one node ``TreeEnsembleClassifier`` or ``TreeEnsembleRegressor`` of the domain
        ai.onnx.ml. The node takes the rows themselves, perhaps cast to another type, and its label
        or value is an output. Probabilities are not looked at.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    classes_ : ndarray of shape (n_classes,)
        Class labels, for a classifier.

    Notes
    -----
    Converters of tree ensembles round. A float64 threshold that becomes the nearest float32 number
    can move past a number that float32 represents. A tie in float64 can be none in float32.
    `verify` finds both.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ensemble_simplify import OnnxModel, verify
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    >>> from skl2onnx import to_onnx  # doctest: +SKIP
    >>> verify(tree, OnnxModel(to_onnx(tree, X[:1].astype("float32"))))  # doctest: +SKIP
    Verification(equal=True: proven for every finite input; ...)
    """

    def __init__(self, model: Any):
        try:
            import onnx
        except ImportError as error:
            raise ImportError("OnnxModel needs onnx. Install it with pip install onnx.") from error
        if isinstance(model, (str, os.PathLike)):
            model = onnx.load(model)
        elif isinstance(model, (bytes, bytearray)):
            model = onnx.load_from_string(bytes(model))
        self.model = model
        self._get = onnx.helper.get_attribute_value
        self._to_array = onnx.numpy_helper.to_array
        self._session = None
        self._graph()
        if self._node.op_type == "TreeEnsembleClassifier":
            labels = self._attributes.get("classlabels_strings")
            labels = labels or self._attributes.get("classlabels_int64s") or []
            labels = [label.decode() if isinstance(label, bytes) else label for label in labels]
            if len(labels) < 2:
                raise self._refused(f"it has {len(labels)} classes, fewer than two")
            self.classes_ = np.array(labels)

    def _graph(self):
        """Find the node of the trees, the type of rows, and the output that predict answers."""
        graph = self.model.graph
        found = [node for node in graph.node if node.op_type in _TREES]
        if len(found) != 1:
            raise self._refused(
                f"its graph has {len(found)} nodes {' or '.join(_TREES)}, where one is needed"
            )
        node = self._node = found[0]
        self._attributes = {a.name: self._get(a) for a in node.attribute}
        stored = {array.name for array in graph.initializer}
        inputs = [value for value in graph.input if value.name not in stored]
        if len(inputs) != 1 or inputs[0].type.tensor_type.elem_type not in _TYPES:
            raise self._refused("it does not have one input, a matrix of float or double")
        self._input = inputs[0].name
        self._in_type = _TYPES[inputs[0].type.tensor_type.elem_type]
        # the type of the rows that reach the trees
        makers = {name: maker for maker in graph.node for name in maker.output}
        name = node.input[0]
        self._dtype: Any = None
        while name != self._input:
            maker = makers.get(name)
            if maker is None or maker.op_type not in ("Cast", "Identity"):
                kind = "a stored array" if maker is None else maker.op_type
                raise self._refused(f"its trees see what {kind} answers, not the rows themselves")
            if maker.op_type == "Cast" and self._dtype is None:
                to = self._get(next(a for a in maker.attribute if a.name == "to"))
                self._dtype = _TYPES.get(to)
                if self._dtype is None:
                    raise self._refused("it casts its rows to another type than float or double")
            name = maker.input[0]
        self._dtype = self._dtype or self._in_type
        # the output that is the first output of the node
        for output in graph.output:
            name = output.name
            while name in makers and makers[name].op_type in ("Cast", "Identity", "Reshape"):
                name = makers[name].input[0]
            if name == node.output[0]:
                self._answer = output.name
                break
        else:
            raise self._refused(
                "no output of its graph is what its trees answer, as it is. Convert the ensemble "
                "alone, without other steps"
            )
        size = inputs[0].type.tensor_type.shape.dim
        known = int(size[1].dim_value) if len(size) == 2 else 0
        features = self._array("nodes_featureids")
        self.n_features_in_ = known or int(features.max(initial=0)) + 1

    def _predicted(self, X):
        answer = self._run(X, self._answer)
        return np.asarray(answer).ravel()

    def _probabilities(self, X):
        name = [out.name for out in self.model.graph.output if out.name != self._answer]
        if len(name) != 1:
            raise self._refused("it does not have one output beside the labels")
        answer = self._run(X, name[0])
        if len(answer) and isinstance(answer[0], dict):
            return np.array([[row[label] for label in self.classes_.tolist()] for row in answer])
        return np.asarray(answer)

    def _run(self, X, name):
        if self._session is None:
            try:
                import onnxruntime
            except ImportError as error:
                raise ImportError(
                    "OnnxModel predicts with onnxruntime. Install it with pip install onnxruntime."
                ) from error
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            try:
                self._session = onnxruntime.InferenceSession(
                    self.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
                )
            except Exception as error:  # a class of its own for every kind of failure
                raise ValueError(
                    f"onnxruntime does not take this model ({str(error).splitlines()[0]}). Convert "
                    "it again, perhaps for rows of float32."
                ) from error
        return self._session.run([name], {self._input: self._rows(X, self._in_type)})[0]

    def __getstate__(self):
        # opened again when it is needed
        return {**super().__getstate__(), "_session": None}

    def _array(self, name, dtype=np.int64):
        """An attribute as an array; for float64, a tensor of the same name goes first."""
        if dtype == np.int64:
            return np.array(self._attributes.get(name, []), dtype=dtype)
        tensor = self._attributes.get(f"{name}_as_tensor")
        if tensor is not None:
            return self._to_array(tensor).astype(np.float64)
        return np.array(self._attributes.get(name, []), dtype=np.float32).astype(np.float64)

    def _read(self):
        regression = self._node.op_type == "TreeEnsembleRegressor"
        kind = "target" if regression else "class"
        ids = self._array(f"{kind}_ids")
        weights = self._array(f"{kind}_weights", np.float64)
        base = self._array("base_values", np.float64)
        if regression:
            vote, columns = self._vote_of_regressor(base)
        else:
            vote, columns = self._vote_of_classifier(ids, weights, base)
        trees, numbers = [], self._array("nodes_treeids")
        begins = np.flatnonzero(np.diff(numbers, prepend=-1) != 0)
        if len(np.unique(numbers)) != len(begins):
            raise self._refused("nodes of its trees do not stand together")
        places = self._places(ids, kind)
        filled = np.zeros(vote.n_scores, dtype=bool)
        for begin, end in zip(begins, [*begins[1:], len(numbers)], strict=True):
            tree = self._tree(slice(begin, end))
            own = np.flatnonzero((begin <= places) & (places < end))
            value = np.zeros((end - begin, vote.n_scores))
            written = np.zeros(value.shape, dtype=np.intp)
            value[places[own] - begin, columns[ids[own]]] = weights[own]
            np.add.at(written, (places[own] - begin, columns[ids[own]]), 1)
            leaf = tree.left == -1
            if (written[leaf] > 1).any() or not written[leaf].any(axis=1).all():
                raise self._refused("a leaf has several weights, or none, for a class")
            filled |= (written[leaf] == 1).all(axis=0)
            tree.value = value
            trees.append(tree)
        if not trees:
            raise self._refused("it has no trees")
        if vote.offset is None and not filled.all():
            # onnxruntime leaves classes without any weight out of the vote
            raise self._refused(
                f"no tree has a weight for class {(~filled).argmax()} in all leaves"
            )
        numbers = replace(vote.numbers, stop=len(trees))
        if regression and self._attributes.get("aggregate_function", b"SUM") == b"AVERAGE":
            numbers = replace(numbers, divisor=len(trees))
        vote = replace(vote, numbers=numbers)
        classes = None if regression else self.classes_
        table = Table.of_codes(asked_by_sets(trees, self.n_features_in_))
        return Reading(trees, vote, classes, table)

    def _vote_of_regressor(self, base):
        """The vote, whose trees are not counted yet, and the score of each target."""
        attributes = self._attributes
        how = attributes.get("aggregate_function", b"SUM")
        transform = attributes.get("post_transform", b"NONE")
        if how not in (b"SUM", b"AVERAGE") or transform != b"NONE":
            raise self._refused(f"it takes {how.decode()} and {transform.decode()} of its trees")
        if attributes.get("n_targets", 1) != 1 or self._dtype != "float32":
            raise self._refused("regression of several targets, or in float64, is not read")
        offset = base if len(base) == 1 else None
        vote = boosted(0, 1, init=np.zeros(1), dtype=self._dtype, offset=offset)
        return vote, np.zeros(1, dtype=np.intp)

    def _vote_of_classifier(self, ids, weights, base):
        """The vote, whose trees are not counted yet, and the score of each class."""
        n_classes = len(self.classes_)
        if ids.size and not 0 <= ids.min() <= ids.max() < n_classes:
            raise self._refused("it has weights for a class that it does not name")
        link = self._link()
        common: dict[str, Any] = dict(dtype=self._dtype, link=None if link is None else Link(link))
        if n_classes > 2:
            if len(base) not in (0, n_classes):
                raise self._refused(f"it has {len(base)} base values for {n_classes} classes")
            offset = base if len(base) else None
            vote = boosted(0, n_classes, init=np.zeros(n_classes), offset=offset, **common)
            return vote, np.arange(n_classes)
        # With two classes, onnxruntime looks at one score, and from where it decides depends on
        # whether there are others, and on the signs of all weights.
        own = np.unique(ids)
        if len(own) != 1:
            raise self._refused(
                "it has two classes and weights for both; the result of onnxruntime does not "
                "depend on the first. Convert it with weights for one class"
            )
        if own[0] == 1 and len(base):
            raise self._refused("its base values are for another class than its weights")
        above = 0.0 if (weights < 0).any() else 0.5
        offset = base[:1] if len(base) else None
        vote = boosted(0, 1, init=np.zeros(1), offset=offset, choice=Above(above), **common)
        return vote, np.zeros(2, dtype=np.intp)

    def _link(self):
        """What turns scores into the probabilities that the graph answers."""
        transform = self._attributes.get("post_transform", b"NONE")
        if transform != b"NONE":
            return {b"LOGISTIC": "sigmoid", b"SOFTMAX": "softmax"}.get(transform, "unknown")
        made_of = {out: node for node in self.model.graph.node for out in node.output}
        for output in self.model.graph.output:
            name = output.name
            while name in made_of and made_of[name].op_type in ("Cast", "Identity", "ZipMap"):
                name = made_of[name].input[0]
            if name == self._node.output[1]:
                return None
        return "unknown"

    def _places(self, ids, kind):
        """The node of each weight, among those of all trees."""
        trees, nodes = self._array("nodes_treeids"), self._array("nodes_nodeids")
        of_tree, of_node = self._array(f"{kind}_treeids"), self._array(f"{kind}_nodeids")
        if len(of_tree) != len(ids) or len(of_node) != len(ids) or len(nodes) != len(trees):
            raise self._refused("its weights do not name a leaf each")
        place = {pair: i for i, pair in enumerate(zip(trees.tolist(), nodes.tolist(), strict=True))}
        try:
            pairs = zip(of_tree.tolist(), of_node.tolist(), strict=True)
            return np.array([place[pair] for pair in pairs], dtype=np.intp)
        except KeyError as error:
            raise self._refused(f"a weight is for a node that is not there: {error}") from error

    def _tree(self, part):
        """One tree."""
        modes = np.array(self._attributes["nodes_modes"])[part]
        unknown = sorted(set(modes.tolist()) - {*_MODES, b"LEAF", b"BRANCH_EQ"})
        if unknown:
            raise self._refused(f"it has tests of the kind {unknown[0].decode()}")
        leaf = modes == b"LEAF"
        nodes = self._array("nodes_nodeids")[part]
        place = {node: i for i, node in enumerate(nodes.tolist())}
        yes, no = (
            np.array([place.get(child, -2) for child in self._array(name)[part].tolist()])
            for name in ("nodes_truenodeids", "nodes_falsenodeids")
        )
        above = np.isin(modes, (b"BRANCH_GT", b"BRANCH_GTE"))
        strict = np.isin(modes, (b"BRANCH_LT", b"BRANCH_GTE"))
        threshold = self._array("nodes_values", np.float64)[part]
        tracks = self._array("nodes_missing_value_tracks_true")
        tracks = tracks[part] == 1 if len(tracks) else np.zeros(len(modes), dtype=bool)
        tree = Tree(
            name=f"a tree of {name_of(self)}",
            left=np.where(leaf, -1, np.where(above, no, yes)),
            right=np.where(leaf, -1, np.where(above, yes, no)),
            feature=self._array("nodes_featureids")[part],
            threshold=largest_left(threshold, strict, self._dtype),
            value=np.zeros((len(modes), 1)),
            n_features=self.n_features_in_,
            dtype=self._dtype,
            missing_left=tracks != above,
        )
        for node in np.flatnonzero(modes == b"BRANCH_EQ").tolist():
            if threshold[node] != np.floor(threshold[node]):
                raise self._refused(f"it tests whether a column equals {threshold[node]}")
            tree.sets[node] = set_of([int(threshold[node])], True, self)
        return tree
