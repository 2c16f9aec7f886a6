"""
A basis of digits as features for a classifier
==============================================

Atoms learned from small pictures of digits are typical shapes: whole digits in one handwriting or
another, or parts of them. How much of which shape a digit has makes features on which a *linear*
classifier does better than on principal components, and each feature can be looked at.
"""

# %%
# Two pipelines, one grid search each
# -----------------------------------
#
# :class:`~skatoms.VariationalBasisLearner` is an ordinary scikit-learn transformer: it goes before
# a logistic regression just as :class:`~sklearn.decomposition.PCA` does, and a grid search chooses
# its parameters by the accuracy of the classifier. Half of the digits are kept for the end.

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from skatoms import VariationalBasisLearner
from skatoms.inspection import AtomsDisplay

X, y = load_digits(return_X_y=True)
X /= 16  # grey levels from 0 to 1
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)

learner = VariationalBasisLearner(positive=True, max_iter=30, tol=3e-3, random_state=0)
transformers = {
    "atoms": (learner, {"features__n_components": [64, 256], "features__alpha": [0.1, 0.4]}),
    "PCA": (PCA(random_state=0), {"features__n_components": [16, 32, 64]}),
}
searches = {}
for name, (transformer, grid) in transformers.items():
    pipe = Pipeline([("features", transformer), ("classifier", LogisticRegression(max_iter=2000))])
    searches[name] = GridSearchCV(pipe, grid | {"classifier__C": [1, 10]}, n_jobs=2)
    searches[name].fit(X_train, y_train)
    best = searches[name].best_params_
    print(f"{name}: test accuracy {searches[name].score(X_test, y_test):.3f} with {best}")

# %%
# As a yardstick, a support vector machine with a Gaussian kernel, on the pixels. The linear model
# on the atoms keeps up with it: there are more atoms than pixels, most of them silent for any one
# digit, so codes are a non-linear function of the picture.

svm = SVC(C=10).fit(X_train, y_train)
print(f"SVM on pixels: test accuracy {svm.score(X_test, y_test):.3f}")

# %%
# What the classifier looks at
# ----------------------------
#
# Of each digit, the ten atoms that the classifier counts most in its favour: the weight that it
# gives to the atom, times how much the training digits use it.

best = searches["atoms"].best_estimator_
codes = best["features"].transform(X_train)
evidence = best["classifier"].coef_ * codes.mean(axis=0)
favourites = np.argsort(-evidence, axis=1)[:, :10]

figure = plt.figure(figsize=(5.5, 5.5))
atoms = best["features"].components_[favourites.ravel()]
display = AtomsDisplay(atoms, feature_shape=(8, 8)).plot(figure=figure)
for digit, axes in enumerate(display.axes_[::10]):
    axes.set_title(str(digit), x=-0.6, y=0.2)
figure.suptitle("the atoms that speak most for each digit")

# %%
# And one digit taken apart. Its code has few non-zeros, so the whole explanation fits on a line.

codes = best["features"].transform(X_test)
n_used = np.count_nonzero(codes, axis=1)
print(f"a test digit uses {n_used.mean():.1f} of {codes.shape[1]} atoms on average")

digit = np.argmin(np.abs(n_used - 8))
used = np.argsort(-codes[digit])[: n_used[digit]]
explained = best["features"].inverse_transform(codes[[digit]])[0]
parts = {"digit": X_test[digit], "sum of parts": explained}
parts |= {f"{codes[digit, k]:.2f} x": best["features"].components_[k] for k in used}
figure, grid = plt.subplots(1, len(parts), figsize=(11, 1.5), layout="constrained")
for axes, (name, part) in zip(grid, parts.items(), strict=True):
    limit = np.abs(part).max()
    axes.imshow(part.reshape(8, 8), cmap="gray", vmin=-limit, vmax=limit)
    axes.set_title(name, fontsize="medium")
    axes.set_axis_off()
plt.show()
