"""Baselines of `benchmarks.compositional` that need torch: convolutions and a transformer.

They see the value of each point, zero where it is hidden, and the mask as a second channel, and
give all values. Samples are hidden in new ways at each epoch; training ends at the least validation
error, as for the perceptrons.
"""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ._compositional_methods import PATIENCE, THREADS, hidden_anew

BATCH, STEP = 64, 1e-3


@dataclass
class Filler:
    """A torch module that learns to give complete samples.

    shape : the grid of the points; epochs : the most passes over the samples.
    """

    shape: tuple
    width: int = 32
    epochs: int = 30

    def module(self):
        """The module, from (n, 2, *shape) to (n, 1, *shape)."""
        raise NotImplementedError

    def fit(self, train, valid, seed):
        """Adam, in float32 on the CPU."""
        torch.set_num_threads(THREADS)
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        self.unit, self.net = float(train.targets.std()), self.module()
        optimiser = torch.optim.Adam(self.net.parameters(), lr=STEP)
        kept, least, since = None, np.inf, 0
        for _ in range(self.epochs):
            part = train if train.mask is None else hidden_anew(train, rng)
            for rows in np.array_split(
                rng.permutation(len(part.targets)), -(-len(part.targets) // BATCH)
            ):
                wanted = torch.from_numpy((part.targets[rows] / self.unit).astype(np.float32))
                optimiser.zero_grad()
                loss = ((self._outputs(part[rows]) - wanted) ** 2).mean()
                loss.backward()
                optimiser.step()
            error, since = valid.error(self.predict(valid)), since + 1
            if error < least:
                kept, least, since = deepcopy(self.net.state_dict()), error, 0
            if since == PATIENCE:
                break
        self.net.load_state_dict(kept)
        return self

    def predict(self, part):
        """Complete samples."""
        with torch.no_grad():
            rows = np.array_split(np.arange(len(part.inputs)), -(-len(part.inputs) // 256))
            return self.unit * np.concatenate([self._outputs(part[some]).numpy() for some in rows])

    def _outputs(self, part):
        mask = np.zeros(part.inputs.shape) if part.mask is None else part.mask
        channels = np.stack([np.nan_to_num(part.inputs) / self.unit, mask], axis=1)
        channels = channels.astype(np.float32).reshape(len(channels), 2, *self.shape)
        return self.net(torch.from_numpy(channels)).flatten(1)


@dataclass
class Convolutions(Filler):
    """An autoencoder of convolutions, over pictures or along signals, halved twice in between.

    bottleneck : numbers that describe a sample, or None to keep the halved maps.
    """

    bottleneck: int | None = None

    def module(self):
        """Three layers down, three up."""
        flat = len(self.shape) == 1
        conv, up = (nn.Conv1d, nn.ConvTranspose1d) if flat else (nn.Conv2d, nn.ConvTranspose2d)
        c, small = self.width, [n // 4 for n in self.shape]
        down = [conv(2, c, 3, padding=1), nn.ReLU()]
        for k in (1, 2):
            down += [conv(c * k, c * 2 * k, 3, stride=2, padding=1), nn.ReLU()]
        between = []
        if self.bottleneck is not None:
            size = 4 * c * int(np.prod(small))
            between = [nn.Flatten(), nn.Linear(size, self.bottleneck)]
            between += [
                nn.Linear(self.bottleneck, size),
                nn.ReLU(),
                nn.Unflatten(1, (4 * c, *small)),
            ]
        upward = []
        for k in (2, 1):
            upward += [up(2 * c * k, c * k, 4, stride=2, padding=1), nn.ReLU()]
        return nn.Sequential(*down, *between, *upward, conv(c, 1, 3, padding=1))

    def active(self, part):
        """The numbers in the narrowest place."""
        if self.bottleneck is not None:
            return float(self.bottleneck)
        return 4.0 * self.width * np.prod([n // 4 for n in self.shape])


@dataclass
class Transformer(Filler):
    """Two layers of attention over the points of a signal, with learned places."""

    def module(self):
        """Four heads."""
        return Attention(self.shape[0], self.width)

    def active(self, part):
        """Nothing that could be compared."""
        return np.nan


class Attention(nn.Module):
    """The module of `Transformer`."""

    def __init__(self, n_points, width):
        super().__init__()
        self.enter, self.leave = nn.Linear(2, width), nn.Linear(width, 1)
        self.places = nn.Parameter(0.02 * torch.randn(n_points, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)

    def forward(self, channels):
        """(n, 2, n_points) to (n, n_points)."""
        return self.leave(self.layers(self.enter(channels.transpose(1, 2)) + self.places))[..., 0]
