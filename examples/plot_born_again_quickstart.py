"""
Born-again tree of a random forest
==================================

A stand-in.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.tree import plot_tree

from ensemble_simplify import BornAgainClassifier

X, y = load_iris(return_X_y=True)
tree = BornAgainClassifier().fit(X, y)
print(tree.score(X, y))

# %%
# And drawn.
plot_tree(tree.decision_tree_, filled=True)
plt.show()
