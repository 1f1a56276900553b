"""The search for a proof: the checker itself, which here cuts boxes where that helps most.

The checker cuts a box that it cannot prove until it can; what it cut is the proof. So what can be
checked and what can be written down are one thing. Any cut is right, but some need fewer boxes.
"""

from __future__ import annotations

from itertools import pairwise
from math import log, prod

import numpy as np

from ensemble_simplify.evidence import checker
from ensemble_simplify.grid import walk

# What a half counts of which a cut lifts nothing, and what all lifts count beside what matters.
_EITHER, _OTHERS = 0.1, 1e-6


class Search(checker.Evidence):
    """Evidence that looks for a proof of its claim, whatever is given as one."""

    def grid(self):
        """A grid that shows how small a tree can be: its numbers by coordinate, and what it shows.

        A number of every cell, so that no tree for the grid is smaller than one for all inputs;
        fewer where that are too many.
        """
        at = [self._numbers(j) for j in range(self.space.n)]
        while prod(map(len, at)) > checker.MOST_POINTS:
            longest = max(range(len(at)), key=lambda j: len(at[j]))
            at[longest] = at[longest][::2]
        with np.errstate(all="ignore"):
            labels = self.labels([own.tolist() for own in at])
        used = [j for j, own in enumerate(at) if len(own) > 1]
        turns = self.claim.claim["within"] or 1
        most_boxes = min(checker.MOST_REGIONS, checker.MOST_JOINED // turns)
        kept = _telling(labels, most_boxes, self.models.pause)
        for j, places in zip(used, kept, strict=True):
            at[j] = at[j][places]
        found = self.sizes(labels[np.ix_(*kept)].squeeze())
        return [own.tolist() for own in at], dict(zip(("depth", "leaves"), found, strict=True))

    def _numbers(self, j):
        """A number of each cell of a coordinate, if the region has one."""
        space, models = self.space, self.models
        ends = models.end[(models.on == j) & (models.left >= 0)]
        ends = np.append(ends, [v for clause in space.clauses for k, v in clause if k == j])
        low, high = space.low[j], space.high[j]
        if space.integer[j]:
            ends, low, high = np.floor(ends), np.ceil(low), np.floor(high)
            after = ends + 1.0
        else:
            ends = space.floor(ends)
            after = np.nextafter(ends.astype(space.type), space.type(np.inf)).astype(np.float64)
        # the last cell, too
        near = np.append(ends, after[ends == ends.max(initial=-np.inf)])
        return np.unique(np.clip(near if len(ends) else [low], low, high))

    def tree(self):
        """The tree that cuts the space, in pre-order: coordinates, -1 in leaves, and ends."""
        with np.errstate(all="ignore"):
            self.follow()
        made = list(zip(*self.made, strict=True))
        nodes, on, ends, left = map(np.concatenate, made) if made else np.zeros((4, 0), dtype=int)
        n_nodes = 1 + 2 * len(nodes)
        column, end, children = np.full(n_nodes, -1), np.zeros(n_nodes), np.full((2, n_nodes), -1)
        column[nodes], end[nodes], children[:, nodes] = on, ends, (left, left + 1)
        order = walk(*children, 0)
        return column[order], end[order]

    def choose(self, nodes, is_open, boxes):
        """Of the splits at which trees are undecided, the one that lifts most, on both its sides,
        what has to be above 0 for something wrong to be excluded.
        """
        models, at = self.models, np.arange(len(boxes))
        if models.same:
            # what says the same in both uses, wherever it ends, cancels
            other = np.zeros((len(models.begins), models.n_boxes), dtype=bool)
            box, joint = models.together()
            differ = models.differ[joint]
            other[models.group[joint[differ]], box[differ]] = True
            other = is_open & other[models.group_of][:, boxes]
            is_open = np.where(other.any(axis=0), other, is_open)
        lifts, total = np.zeros((3, *nodes.shape)), np.full(len(at), 1e-9)
        lifts[2] = 1e-12
        for leaf, own, less in self._goals(boxes):
            total[own] += less
            for sign in (1.0, -1.0):
                left, right = self._lifted(sign * leaf, nodes[:, own], boxes[own])
                parts = np.where(is_open[:, own], (left, right, left + right), 0.0)
                lifts[:, :, own] += parts if sign > 0 else parts * [[[0.0]], [[0.0]], [[1.0]]]
        # trees that can be cut at the same end are cut together
        ends = np.stack([models.on[nodes[is_open]], models.end[nodes[is_open]]])
        _, which = np.unique(ends, axis=1, return_inverse=True)
        place = which.ravel() * len(at) + np.nonzero(is_open)[1]
        sums = [np.bincount(place, lift[is_open], place.max(initial=-1) + 1) for lift in lifts]
        a, b, more = (own[place] for own in sums)
        total = total[np.nonzero(is_open)[1]]
        score = np.full(nodes.shape, -1.0)
        a, b = (np.minimum(own / total, 1.0) + _EITHER for own in (a, b))
        score[is_open] = a * b + _OTHERS * more
        return score.argmax(axis=0)

    def _lifted(self, leaf, nodes, boxes):
        """By how much the least of what a tree adds is larger on each side of some of its nodes."""
        models = self.models
        n_nodes, shown = len(models.nodes), models.found[:-1, boxes]
        is_leaf = models.left[models.nodes] < 0
        least = np.full((n_nodes + 1, len(boxes)), np.inf)
        least[:-1] = np.where(shown & is_leaf[:, None], leaf[models.nodes, None], np.inf)
        for level in models.levels[::-1]:
            level = level[models.place[level] < n_nodes]
            left, right = models.place[models.left[level]], models.place[models.right[level]]
            least[models.place[level]] = np.minimum(least[left], least[right])
        own, left, right = (
            np.take_along_axis(least, models.place[side], 0)
            for side in (nodes, models.left[nodes], models.right[nodes])
        )
        return left - own, right - own

    def _goals(self, boxes):
        """What has to be lifted above 0 in some boxes: terms, places among these, and how far."""
        models = self.models
        for is_left, every in self._wrongs():
            at, every = np.flatnonzero(is_left[boxes]), [own for own in every if own is not None]
            if not len(at) or not every:
                continue
            # the one that is closest
            bounds = np.array([models.least(own, boxes[at]) / own.size for own in every])
            best = bounds.argmax(axis=0)
            for k in {*best.tolist()}:
                own = best == k
                yield every[k].leaf / every[k].size, at[own], np.maximum(-bounds[k, own], 0.0)

    def _wrongs(self):
        """What may go wrong: where it may, and terms of which one has to be above 0."""
        claim, models = self.claim, self.models
        kind, (one, *two) = claim.claim["kind"], models.uses
        if kind in ("class_is", "class_is_not"):
            possible, k = models.ranges[one.result], claim.claim["class"]
            for other in range(len(possible)):
                pair = (k, other) if kind == "class_is" else (other, k)
                if other != k:
                    yield possible[pair[1]], [models.lead(one.result, *pair)]
        elif claim.is_of_classes:
            for i, j, both in claim.left:
                forms = [(models.mixed(i, j) or (None,))[0]]
                for use, k in ((one, i), (two[0], j)):
                    others = (other for other in range(len(use.labels)) if other != k)
                    forms += [models.lead(use.result, other, k) for other in others]
                yield both, forms
        else:
            for i, j in claim.pairs:
                own = [[(None, None)] if k is None else models.parts(k)[1] for k in (i, j)]
                if len(own[0]) != len(own[1]):
                    own = [own[0], [(None, None)] * len(own[0])]
                for parts in zip(*own, strict=True):
                    for form in models.apart(*parts) or ():
                        yield np.ones(len(models.alike), dtype=bool), [form]


def _telling(labels, most_boxes, pause):
    """The places on each axis of a grid of classes, without those that a neighbour stands for.

    Where that leaves too many boxes, those go that tell least beside it. Class 0 is none.
    """
    kept = [np.arange(n) for n in labels.shape]
    while True:
        pause()
        own, losses = labels[np.ix_(*kept)], []
        for a, n in enumerate(own.shape):
            slabs = np.moveaxis(own, a, 0).reshape(n, -1)
            for i, j in [*pairwise(range(n)), *pairwise(range(n - 1, -1, -1))]:
                lost = np.mean((slabs[i] != slabs[j]) & (slabs[i] > 0))
                losses.append((lost / log((n + 1) / (n - 1)), a, i))
        least = min(losses, default=None)
        n_boxes = prod(n * (n + 1) // 2 for n in own.shape)
        if least is None or (least[0] > 0.0 and n_boxes <= most_boxes):
            return kept
        kept[least[1]] = np.delete(kept[least[1]], least[2])
