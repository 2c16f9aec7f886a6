"""
Sparse codes against principal components on handwritten digits
===============================================================

Are sparse codes better features for a linear classifier than principal components, and how long
does it take to learn them? Three kinds of features of equal number meet the same classifier, each
with its parameters chosen in the same way.
"""

# %%
# The data
# --------
#
# The environment variable ``SKATOMS_DATA`` may name a folder with the two files of MNIST's test
# images (:func:`~skatoms.datasets.load_mnist_test` says where they can be had). Without it, the
# example takes the small digits that come with scikit-learn. Some of the images are for training,
# the others are not touched before the end.

import os
import warnings
from time import perf_counter

import numpy as np
from matplotlib import pyplot as plt
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, MiniBatchDictionaryLearning
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from skatoms import VariationalBasisLearner
from skatoms.datasets import load_mnist_test
from skatoms.inspection import AtomsDisplay

if "SKATOMS_DATA" in os.environ:
    digits = load_mnist_test(os.environ["SKATOMS_DATA"])
    X, y, source = digits.data.astype(float), digits.target, "MNIST's test images"
    batch_size = 256
else:
    digits = load_digits()
    X, y, source = digits.data / 16, digits.target, "scikit-learn's small digits"
    batch_size = 64
shape = digits.images.shape[1:]
n_train = min(4000, len(X) // 2)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, train_size=n_train, stratify=y, random_state=0
)
print(f"{source}: {len(X_train)} images of {shape[0]} x {shape[1]} to train, {len(X_test)} to test")

# %%
# Three kinds of features
# -----------------------
#
# A hundred of each: our atoms, the atoms of scikit-learn's
# :class:`~sklearn.decomposition.MiniBatchDictionaryLearning`, which minimises the same objective,
# and principal components, of which there can not be more than pixels. Codes are not negative, so
# that an image is made only by laying on ink; our atoms are tried with signed codes too.
#
# Of scikit-learn's settings these are the fastest that were as accurate as any in trials on the
# training images: coordinate descent (for non-negative codes the only one), at most ten passes,
# data in float64, for each data set its own size of batches, and one thread. Ours are the same for
# both data sets.

N_ATOMS = 100


def ours(alpha, positive):
    return VariationalBasisLearner(
        N_ATOMS, alpha, positive=positive, max_iter=40, tol=3e-3, random_state=0
    )


def dictionary(alpha):
    return MiniBatchDictionaryLearning(
        N_ATOMS,
        alpha=alpha,
        positive_code=True,
        fit_algorithm="cd",
        transform_algorithm="lasso_cd",
        max_iter=10,
        batch_size=batch_size,
        random_state=0,
    )


# Many of its codes do not get to the tolerance. It says so for each; the features are good enough.
warnings.filterwarnings("ignore", module=r"sklearn\.linear_model")

# The unit of alpha is that of the images, so a typical norm of theirs is its scale.
alphas = np.round(
    [part * np.median(np.linalg.norm(X_train, axis=1)) for part in (0.01, 0.02, 0.05, 0.1)], 2
)
candidates = {
    "atoms": [ours(alpha, positive=True) for alpha in alphas],
    "atoms, signed codes": [ours(alpha, positive=False) for alpha in alphas],
    "dictionary": [dictionary(alpha) for alpha in alphas],
    "PCA": [PCA(min(N_ATOMS, X.shape[1]), random_state=0)],
}

# %%
# A fair choice of parameters
# ---------------------------
#
# Each kind may choose ``alpha`` and the regularisation of the classifier by the accuracy on a
# quarter of the training images, having learned from the rest. Then it learns anew from all
# training images, which is what the clock is for.


def seconds(function, *arguments):
    start = perf_counter()
    result = function(*arguments)
    return result, perf_counter() - start


def classifier(C):
    return LinearSVC(C=C, dual=False)


def chosen(transformers):
    """The transformer and the C that do best on the part of the training images kept back."""
    X_fit, X_check, y_fit, y_check = train_test_split(
        X_train, y_train, test_size=0.25, stratify=y_train, random_state=0
    )
    best = (-1,)
    for transformer in transformers:
        transformer.fit(X_fit)
        codes_fit, codes_check = transformer.transform(X_fit), transformer.transform(X_check)
        for C in (0.01, 0.1, 1, 10, 100):
            accuracy = classifier(C).fit(codes_fit, y_fit).score(codes_check, y_check)
            if accuracy > best[0]:
                best = accuracy, clone(transformer), C
    return best[1:]


seconds(ours(alphas[0], positive=True).fit, X_train[:200])  # compiles, where that is still to do
fitted, accuracies = {}, {}
print(f"{'':20} accuracy  alpha     C  non-zeros  fit (s)  transform (s)")
with threadpool_limits(1):
    for name, transformers in candidates.items():
        transformer, C = chosen(transformers)
        fitted[name], fit_time = seconds(transformer.fit, X_train)
        codes, transform_time = seconds(transformer.transform, X_test)
        model = classifier(C).fit(transformer.transform(X_train), y_train)
        accuracies[name] = model.score(codes, y_test)
        alpha = f"{transformer.alpha:.2f}" if hasattr(transformer, "alpha") else "-"
        n_used = np.count_nonzero(codes) / len(codes)
        print(
            f"{name:20} {accuracies[name]:8.3f} {alpha:>6} {C:5} {n_used:10.1f} {fit_time:8.2f} "
            f"{transform_time:14.2f}"
        )

# %%
# With MNIST, 4,000 images to train and 6,000 to test, we measured this on two busy cores:
#
# ====================  ========  =====  =========  =======  =============
# features              accuracy  alpha  non-zeros  fit (s)  transform (s)
# ====================  ========  =====  =========  =======  =============
# atoms                    0.933   0.46       16.1     0.75           0.09
# atoms, signed codes      0.925   0.93        9.2     0.57           0.08
# dictionary               0.930   0.19       29.5     3.23           0.94
# PCA                      0.903      -      100.0     0.33           0.04
# ====================  ========  =====  =========  =======  =============
#
# So non-negative sparse codes, of either kind, leave some 30 % fewer errors than as many principal
# components. That ours are as accurate as scikit-learn's is no wonder, since the model is the same:
# with both at ``alpha=0.46`` and three seeds, ours are at 0.932 to 0.933 and scikit-learn's at
# 0.919 to 0.935. What differs is the time: there, learning takes 0.9 s against 3.6 s, and coding
# 0.12 s against 0.93 s. PCA is faster still. Signed codes gain nothing.
#
# A hundred atoms are not enough to keep up with a support vector machine with a Gaussian kernel on
# the pixels (``SVC(C=10)``), which reaches 0.962.

# %%
# The line at the end of each bar is the 95 % confidence interval of the accuracy, for so many test
# images.

figure, axes = plt.subplots(figsize=(6, 2.2), layout="constrained")
scores = np.array(list(accuracies.values()))
margins = 1.96 * np.sqrt(scores * (1 - scores) / len(y_test))
axes.barh(list(accuracies), scores, xerr=margins, color=["C0", "C0", "C1", "C2"], alpha=0.7)
axes.set_xlim(0.8, 1)
axes.invert_yaxis()
axes.set_xlabel(f"test accuracy of a linear classifier, {source}")

# %%
# What the features look like
# ---------------------------
#
# Grey is zero, white ink, black less ink than none. Atoms are strokes and whole digits. Principal
# components after the first few are waves over the whole image that mean nothing by themselves.

figure = plt.figure(figsize=(10, 3.8))
for part, name in zip(figure.subfigures(1, 3), ("atoms", "dictionary", "PCA"), strict=True):
    AtomsDisplay(fitted[name].components_[:49], feature_shape=shape).plot(figure=part)
    part.suptitle(name)
plt.show()
