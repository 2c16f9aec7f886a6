"""
A tree that can be read
=======================

Trees on pixels are large and hard to read. :class:`~skatoms.WTASymbolEncoder` turns handwritten
digits into a few symbols that many questions have in common, and a tree asks for those.
"""

# %%
# Many questions
# --------------
# The encoder is not told the digits, but the answers to eight questions about them.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, export_text

from skatoms import WTASymbolEncoder

questions = {
    "even": "02468",
    "above 4": "56789",
    "prime": "2357",
    "a closed loop": "0689",
    "only strokes": "147",
    "a curve at the bottom": "035689",
    "a bar at the top": "57",
    "divisible by 3": "0369",
}
answers = np.array([[str(digit) in yes for yes in questions.values()] for digit in range(10)])
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
encoder = WTASymbolEncoder((2,) * 7, random_state=0)
encoder.fit(X_train, answers[y_train].astype(int))
right = (encoder.predict(X_test) == answers[y_test]).mean()
print(f"answers that are right: {right:.3f}; lost by symbols: {encoder.lost_:.1%}")

# %%
# What the symbols say
# --------------------
# In how many of the pictures of a digit the second symbol of a head wins, and what it adds to the
# log-odds of each answer. Which head says what is up to the start, and that there are seven heads
# of two symbols was our choice: ten digits with eight answers do not determine factors.
symbols = encoder.symbols(X_test)
shares = np.array([symbols[y_test == digit].mean(axis=0) for digit in range(10)])
differences = encoder.task_weights_[1::2] - encoder.task_weights_[::2]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
heads = [f"symbol{head}=1" for head in range(7)]
image = left.imshow(shares.T, cmap="Greys", vmin=0, vmax=1)
left.set(xticks=range(10), xlabel="digit", title="share of pictures")
left.set_yticks(range(7), heads)
figure.colorbar(image, ax=left)
most = np.abs(differences).max()
image = right.imshow(differences, cmap="RdBu", vmin=-most, vmax=most)
right.set(title="added to log-odds", yticks=[])
right.set_xticks(range(len(questions)), list(questions), rotation=40, ha="right")
figure.colorbar(image, ax=right)

# %%
# The tree
# --------
# Ten leaves on symbols are better than any number of leaves on pixels.
codes, test_codes = encoder.transform(X_train), encoder.transform(X_test)
for n_leaves in (10, 20, 40, None):
    trees = [DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0) for _ in range(2)]
    on_symbols, on_pixels = trees
    on_symbols.fit(codes, y_train)
    on_pixels.fit(X_train, y_train)
    print(
        f"symbols: {on_symbols.get_n_leaves():3} leaves, {on_symbols.score(test_codes, y_test):.3f}"
        f"   pixels: {on_pixels.get_n_leaves():3} leaves, {on_pixels.score(X_test, y_test):.3f}"
    )

# %%
# A question such as ``symbol1=1 <= 0.5`` asks whether the other symbol has won.
tree = DecisionTreeClassifier(max_leaf_nodes=10, random_state=0).fit(codes, y_train)
print(export_text(tree, feature_names=list(encoder.get_feature_names_out()), decimals=1))

# %%
# In a pipeline
# -------------
# Where there is only a class to learn, each class is a question of its own. The tree then sees
# nothing but symbols, which may lose something; the encoder says so in a warning.
pipe = make_pipeline(
    WTASymbolEncoder((2,) * 7, max_restarts=2, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=12, random_state=0),
)
pixels = DecisionTreeClassifier(max_leaf_nodes=12, random_state=0)
with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
    for name, model in {"symbols": pipe, "pixels": pixels}.items():
        scores = cross_val_score(model, X, y, cv=3)
        print(f"{name}, 12 leaves, 3-fold: {scores.mean():.3f} ± {scores.std():.3f}")
plt.show()
