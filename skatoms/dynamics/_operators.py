"""Linear operators from second moments."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import block_diag, eigh, pinv, schur

NEGLIGIBLE = 1e-13  # relative: eigenvalues of moments below this part of the largest are rounding
STILL = 1e-26  # in units of the frame: variance of what does not move


@dataclass(frozen=True)
class LatentModel:
    """Latents z of a lifted window psi, how they move, and what they say of the state.

    All in the frame of the lift: ``z = project (psi - offset)``, ``z next = operator z + inputs u +
    shift``, ``x next = ahead z + ahead_inputs u + ahead_shift``, ``psi = back z + offset``.

    Attributes
    ----------
    project : ndarray of shape (rank, n_lifted)
    offset : ndarray of shape (n_lifted,)
    back : ndarray of shape (n_lifted, rank)
    operator : ndarray of shape (rank, rank)
    inputs : ndarray of shape (rank, n_controls)
    shift : ndarray of shape (rank,)
    ahead : ndarray of shape (n_features, rank)
    ahead_inputs : ndarray of shape (n_features, n_controls)
    ahead_shift : ndarray of shape (n_features,)
    noise : ndarray of shape (rank + n_features, rank + n_features)
        Covariance of what the next latents and the next state differ by from that.
    now, cross, later : ndarray of shape (rank, rank)
        Mean products of latents with themselves, of the next ones with them, of the next ones.
    """

    project: np.ndarray
    offset: np.ndarray
    back: np.ndarray
    operator: np.ndarray
    inputs: np.ndarray
    shift: np.ndarray
    ahead: np.ndarray
    ahead_inputs: np.ndarray
    ahead_shift: np.ndarray
    noise: np.ndarray
    now: np.ndarray
    cross: np.ndarray
    later: np.ndarray

    @property
    def rank(self):
        """Number of latents."""
        return len(self.project)

    def latents(self, lifted):
        """Latents of lifted windows, (n, rank)."""
        return (lifted - self.offset) @ self.project.T

    def step(self, latents, controls):
        """Latents one step later."""
        return latents @ self.operator.T + controls @ self.inputs.T + self.shift

    def next_state(self, latents, controls):
        """The state one step later, in the frame of the lift."""
        return latents @ self.ahead.T + controls @ self.ahead_inputs.T + self.ahead_shift


def solve(gram, n, layout, *, operator, rank, alpha, stability, fit_intercept):
    """The LatentModel for these moments.

    Parameters
    ----------
    gram : ndarray of shape (width, width)
        Sums of products of the columns of `layout`.
    n : int
        Number of records in them.
    layout : Layout
    operator : {"ls", "ridge", "tls"}
    rank : int or None
    alpha : float
        Ridge, relative to the mean eigenvalue of the moments.
    stability : {"stable", "conservative"} or None
    fit_intercept : bool
    """
    moments = layout.reduce(gram) / n
    k, m = 1 + layout.n_controls, layout.n_free
    known = np.arange(0 if fit_intercept else 1, k)
    rest, effect = _without(moments, known, k)
    now, later, ahead = slice(0, m), slice(m, 2 * m), slice(2 * m, None)
    find = _total_projection if operator == "tls" else _principal_projection
    project, back = find(rest[: 2 * m, : 2 * m], m, rank)
    z_now = project @ rest[now, now] @ project.T
    targets = np.vstack([project @ rest[later, now], rest[ahead, now]]) @ project.T
    if np.trace(rest[now, now]) <= max(STILL, 1e-15 * np.trace(moments[k:, k:])):
        maps = np.zeros(targets.shape)
    elif operator == "tls":
        maps = _total_maps(rest, m, project, back)
    else:
        ridge = alpha * np.trace(z_now) / len(z_now) if operator == "ridge" else 0.0
        maps = np.linalg.solve(z_now + ridge * np.eye(len(z_now)), targets.T).T
    r = len(project)
    cross = project @ rest[later, now] @ project.T
    later_z = project @ rest[later, later] @ project.T
    noise = _residual(maps, z_now, targets, rest, project, m) * n / max(n - r - len(known), 1)
    if stability is not None:
        maps = np.vstack([stabilised(maps[:r], stability), maps[r:]])
    offset = effect[0, now] if fit_intercept else np.zeros(m)
    constants = _constants(maps, effect, offset, project, m, r)
    model = LatentModel(
        project=project,
        offset=offset,
        back=back,
        operator=maps[:r],
        inputs=constants[1:, :r].T,
        shift=constants[0, :r],
        ahead=maps[r:],
        ahead_inputs=constants[1:, r:].T,
        ahead_shift=constants[0, r:],
        noise=noise,
        now=z_now,
        cross=cross,
        later=later_z,
    )
    return integrating(model, layout.n_features) if layout.relative else model


def _without(moments, known, k):
    """Moments of what columns after the first k have beside the known ones, and their effect.

    The effect, (k, width - k), is what a unit of 1 and of each control adds to each column.
    """
    effect = np.zeros((k, len(moments) - k))
    rest = moments[k:, k:]
    if len(known) > 0:
        some = pinv(moments[np.ix_(known, known)]) @ moments[known, k:]
        effect[known] = some
        rest = rest - moments[k:, known] @ some
    return (rest + rest.T) / 2, effect


def _principal_projection(rest, m, rank):
    """Directions in which lifted windows vary most."""
    values, vectors = eigh(rest[:m, :m])
    vectors = _leading(values, vectors, rank, m)
    return vectors.T, vectors


def _total_projection(rest, m, rank):
    """Those in which windows and next windows together lie, in total least squares."""
    values, vectors = eigh(rest)
    first = _leading(values, vectors, rank, m)[:m]
    return pinv(first), first


def _leading(values, vectors, rank, most):
    """The leading eigenvectors, as columns, with signs that do not depend on the solver."""
    order = np.argsort(values)[::-1]
    held = int((values > NEGLIGIBLE * max(values[order[0]], 1e-300)).sum())
    held = max(min(held, most), 1)
    if rank is not None and rank > held:
        raise ValueError(
            f"rank={rank} is more than the data hold: windows of n_delays states, lifted, vary in "
            f"{held} directions. Set rank to at most {held}, or to None."
        )
    vectors = vectors[:, order[: rank or held]]
    largest = vectors[np.argmax(abs(vectors), axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def _total_maps(rest, m, project, first):
    """[operator; ahead] in total least squares: errors of windows count like those of the next."""
    values, vectors = eigh(rest[: 2 * m, : 2 * m])
    r = first.shape[1]
    lead = vectors[:, np.argsort(values)[::-1][:r]]
    turn = project @ lead[:m]  # to the coordinates of `first`
    scores = lead.T @ rest[: 2 * m, : 2 * m] @ lead
    ahead = np.linalg.solve(scores, lead.T @ rest[: 2 * m, 2 * m :]).T
    return np.linalg.solve(turn.T, np.vstack([project @ lead[m:], ahead]).T).T


def _residual(maps, z_now, targets, rest, project, m):
    """Covariance of [next latents; next state] around what the maps say."""
    both = block_diag(project, np.eye(len(rest) - 2 * m)) if len(rest) > 2 * m else project
    total = both @ rest[m:, m:] @ both.T
    explained = maps @ targets.T
    return total - explained - explained.T + maps @ z_now @ maps.T


def _constants(maps, effect, offset, project, m, r):
    """What a unit of 1 and of each control adds to [next latents; next state]."""
    z_now, z_later = effect[:, :m].copy(), effect[:, m : 2 * m].copy()
    z_now[0] -= offset
    z_later[0] -= offset
    targets = np.hstack([z_later @ project.T, effect[:, 2 * m :]])
    return targets - z_now @ project.T @ maps.T


def integrating(model, p):
    """The model of changes as one of states: the level of a window is a latent that sums them."""
    r = model.rank
    zeros = np.zeros
    operator = np.block([[model.operator, zeros((r, p))], [model.ahead, np.eye(p)]])
    keep = np.r_[0:r, r : r + p, r : r + p]  # the change of the level is that of the state
    wide = {
        name: block_diag(getattr(model, name), zeros((p, p))) for name in ("now", "cross", "later")
    }
    return replace(
        model,
        project=block_diag(model.project, np.eye(p)),
        offset=np.append(model.offset, zeros(p)),
        back=block_diag(model.back, np.eye(p)),
        operator=operator,
        inputs=np.vstack([model.inputs, model.ahead_inputs]),
        shift=np.append(model.shift, model.ahead_shift),
        ahead=np.hstack([model.ahead, np.eye(p)]),
        noise=model.noise[np.ix_(keep, keep)],
        **wide,
    )


def stabilised(operator, stability):
    """The operator with eigenvalues outside the unit circle moved to it along their ray.

    "conservative" moves all of them. Blocks of the real Schur form are scaled, so the rest of the
    operator stays as it is and no eigenvectors are inverted.
    """
    form, basis = schur(operator, output="real")
    k, r = 0, len(form)
    while k < r:
        pair = k + 1 < r and form[k + 1, k] != 0
        block = slice(k, k + 2 if pair else k + 1)
        modulus = np.sqrt(abs(np.linalg.det(form[block, block]))) if pair else abs(form[k, k])
        if stability == "conservative" and modulus == 0:
            raise ValueError(
                "stability='conservative' needs an operator without eigenvalue zero: lower rank."
            )
        if modulus > 1 or stability == "conservative":
            form[block, block] /= modulus * (1 + 4 * np.finfo(float).eps)
        k = block.stop
    return basis @ form @ basis.T
