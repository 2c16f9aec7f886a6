"""What networks share that explain a target at the top."""

from numbers import Real

import numpy as np
from scipy.linalg import lstsq
from scipy.sparse import csr_array
from sklearn.utils._param_validation import Interval

from .._validation import real_array
from ..basis import Constraint
from ..basis._alternation import Stream
from ..basis._statistics import gather
from ._base import BaseNetwork
from ._library import part_of, union_of
from ._settings import centred, check_known


class SupervisedNetwork(BaseNetwork):
    """A network with outputs.

    While it learns, targets are clamped to the top and codes explain them too. Codes of new samples
    know nothing of targets, so outputs to predict with are fitted to codes from samples alone, by
    least squares: that is what those codes allow.
    """

    _parameter_constraints = {
        **BaseNetwork._parameter_constraints,
        "target_weight": [Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_atoms: int | tuple[int, ...] = (128,),
        alpha: float | tuple[float, ...] = 0.1,
        *,
        target_weight: float = 1.0,
        ridge: float = 1e-4,
        widths: int | tuple[int, ...] | None = None,
        top_down: float | tuple[float, ...] = 0.1,
        top_k: int | None = None,
        positive: bool = False,
        constraint: str | Constraint = "unit_norm",
        feature_shape: tuple[int, ...] | None = None,
        learning_rule: str = "hebb",
        batch_size: int | None = None,
        max_iter: int = 20,
        tol: float = 1e-3,
        forgetting: float = 5.0,
        output_layers: str = "top",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        super().__init__(
            n_atoms,
            alpha,
            widths=widths,
            top_down=top_down,
            top_k=top_k,
            positive=positive,
            constraint=constraint,
            feature_shape=feature_shape,
            learning_rule=learning_rule,
            batch_size=batch_size,
            max_iter=max_iter,
            tol=tol,
            forgetting=forgetting,
            output_layers=output_layers,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.target_weight = target_weight
        self.ridge = ridge

    def _fit_targets(self, X, y, features, targets, once, more):
        """Learn with targets clamped; more : attributes that go with them."""
        check_known(X)
        anew = self._starts_anew(once)
        targets = real_array("y", targets).astype(X.dtype)
        if anew:
            wanted, centre = centred(targets)
        elif targets.shape[1] != self._outputs[0]:
            raise ValueError(
                f"y has {targets.shape[1]} outputs, but {self._outputs[0]} were learned before."
            )
        else:
            centre = self._centre
            wanted = (targets - centre).astype(X.dtype)
        before = () if anew or not once else (self._known, self.n_samples_seen_)

        def outputs_for(network):
            """Outputs fitted to the codes that the network finds for the samples alone."""
            newest, first = None, 0
            for _, codes in network._coded(X):
                part = codes_and_targets(codes, targets[first : first + len(codes)])
                newest, first = part if newest is None else newest + part, first + len(codes)
            known = Stream(self.forgetting, *before).advance(newest)
            coefficients = least_squares(known, self.ridge)
            found = {"coef_": coefficients[:-1].T.copy(), "intercept_": coefficients[-1]}
            return {**found, "_known": known, "_centre": centre, **more}

        self._learn(X, features, wanted, once=once, y=y, more=outputs_for)

    def _outputs_of(self, X):
        X = self._check_new(X)
        coef, intercept = self.coef_.T.astype(X.dtype), self.intercept_.astype(X.dtype)
        return np.concatenate([codes @ coef + intercept for _, codes in self._coded(X)])

    def _select_outputs(self, mask):
        self.coef_ = self.coef_[:, mask]
        self._known = part_of(self._known, np.append(mask, True))

    def _merge_outputs(self, ours, theirs, rows):
        n_outputs, n_atoms = ours.coef_.shape[0], sum(len(some) for some in rows)
        self.coef_ = np.empty((n_outputs, n_atoms))
        self.coef_[:, rows[0]], self.coef_[:, rows[1]] = ours.coef_, theirs.coef_
        self.intercept_ = ours.intercept_ + theirs.intercept_
        self._centre = ours._centre + theirs._centre
        with_one = [np.append(some, n_atoms) for some in rows]
        columns = 2 * [np.arange(n_outputs)]
        known = [ours._known, theirs._known]
        self._known = union_of(known, with_one, columns, (n_atoms + 1, n_outputs))


def codes_and_targets(codes, targets):
    """Statistics of codes, with a one at the end for the intercept, and targets."""
    with_one = csr_array(np.column_stack([codes, np.ones(len(codes), codes.dtype)]))
    return gather(with_one, targets, np.ones(len(codes)), 0.0, None)


def least_squares(statistics, ridge):
    """Coefficients of codes and, in the last row, the intercept.

    ridge : weight of squared coefficients, relative to the mean squared code, not of the intercept.
    """
    gram = statistics.codes_codes.copy()
    diagonal = np.arange(len(gram) - 1)
    gram[diagonal, diagonal] += ridge * gram[diagonal, diagonal].mean()
    return lstsq(gram, statistics.codes_data)[0]
