"""Categories as zeros and ones."""

import numpy as np


def one_hot(categories, sizes, dtype=np.float64):
    """Codes of shape (n_samples, sum(sizes)) of categories of shape (n_samples, len(sizes)).

    The columns are the categories of the first of them, then those of the second, and so on.
    """
    codes = np.zeros((len(categories), sum(sizes)), dtype)
    columns = categories + (np.cumsum(sizes) - sizes)
    codes[np.arange(len(categories))[:, None], columns] = 1
    return codes
