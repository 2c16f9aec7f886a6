"""Convolutional autoencoders and transformers for `benchmarks.compositional`, with torch.

They learn as `Dense` says, from the same inputs. The step falls from its start to zero along a half
cosine over all epochs.
"""

from copy import deepcopy
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from torch import nn

from ._compositional_methods import CONVOLUTIONAL, NO_CODE, TRANSFORMER, Dense, Standardised

BATCH = 64
KERNEL = 3


def print_version():
    """What figures cannot be compared without."""
    print(f"torch {torch.__version__}, one thread")


class TorchMethod(Dense):
    """A torch module; what derives from it has a `step` and can `_build` the module."""

    def _start(self, train, seed):
        torch.set_num_threads(1)  # as for the perceptron
        torch.manual_seed(seed)
        self.model = self._build(train)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=self.step)
        self.steps = torch.optim.lr_scheduler.CosineAnnealingLR(self.adam, self.epochs)

    def _epoch(self, known, targets):
        known, targets = torch.from_numpy(known), torch.from_numpy(targets)
        for rows in torch.randperm(len(known)).split(BATCH):
            self.adam.zero_grad()
            ((self.model(known[rows]) - targets[rows]) ** 2).mean().backward()
            self.adam.step()
        self.steps.step()

    @torch.no_grad()
    def _outputs(self, known):
        return np.concatenate(
            [self.model(some).numpy() for some in torch.from_numpy(known).split(BATCH)]
        )

    def _weights(self):
        return deepcopy(self.model.state_dict())

    def _restore(self, weights):
        self.model.load_state_dict(weights)


@dataclass
class Convolutional(TorchMethod):
    """An autoencoder of convolutions over signals or pictures.

    shape : of a sample, one or two lengths that 4 divides; channels : at full length, twice and
    four times as many at a half and a quarter of it; code : how many numbers the layer in the
    middle has, or None for convolutions throughout, with sums that bypass the narrow middle.
    """

    shape: tuple
    channels: int = 16
    code: int | None = None
    epochs: int = 60
    step: float = 3e-3

    def active(self, part):
        """The width of the middle: of its code, or of its channels at all places."""
        return float(self.code or 4 * self.channels * prod(n // 4 for n in self.shape))

    def _build(self, train):
        n_given = 1 if train.mask is None else 2
        return ConvolutionalModule(self.shape, n_given, self.channels, self.code)


class ConvolutionalModule(nn.Module):
    """Convolutions to a quarter of the length, in two steps, and back."""

    def __init__(self, shape, n_given, channels, code):
        super().__init__()
        self.given = (n_given, *shape)
        one = len(shape) == 1
        conv, back = (nn.Conv1d, nn.ConvTranspose1d) if one else (nn.Conv2d, nn.ConvTranspose2d)
        half = {"kernel_size": 4, "stride": 2, "padding": 1}
        full = {"kernel_size": KERNEL, "padding": KERNEL // 2}
        c, middle = channels, (4 * channels, *(n // 4 for n in shape))
        self.down = nn.ModuleList(
            [conv(n_given, c, **full), conv(c, 2 * c, **half), conv(2 * c, 4 * c, **half)]
        )
        self.middle = conv(4 * c, 4 * c, **full) if code is None else narrow(middle, code)
        self.up = nn.ModuleList([back(4 * c, 2 * c, **half), back(2 * c, c, **half)])
        self.last = conv(c, 1, **full)
        self.bypassed = code is None

    def forward(self, x):
        """Samples, flat, from samples and masks, flat."""
        x, before = x.unflatten(1, self.given), []
        for layer in self.down:
            x = layer(x).relu()
            before.append(x)
        x = self.middle(x).relu()
        for layer, same_length in zip(self.up, before[1::-1], strict=True):
            x = layer(x).relu()
            x = x + same_length if self.bypassed else x
        return self.last(x).flatten(1)


def narrow(shape, code):
    """Linear maps to a code and back."""
    size = prod(shape)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(size, code), nn.Linear(code, size), nn.Unflatten(1, shape)
    )


@dataclass
class Transformer(TorchMethod):
    """A transformer whose tokens are some points next to each other, with their masks, or features.

    Each token has an embedding of its own. Where points are asked for, each token gives its own;
    other targets are read from the mean of all tokens.
    """

    points: int = 1  # in a token
    width: int = 32
    depth: int = 2
    epochs: int = 40
    step: float = 3e-3

    def active(self, part):
        """Nothing that could be compared."""
        return np.nan

    def _build(self, train):
        n_given = 1 if train.mask is None else 2
        n_tokens = train.inputs.shape[1] // self.points
        n_wanted = self.points if train.mask is not None else train.targets.shape[1]
        sizes = n_given, n_tokens, self.points
        return TransformerModule(sizes, self.width, self.depth, n_wanted, train.mask is None)


class StandardisedTransformer(Standardised, Transformer):
    """The transformer, after its inputs were standardised."""


class TransformerModule(nn.Module):
    """Tokens that attend to each other; given : kinds of inputs, tokens, points in a token."""

    def __init__(self, given, width, depth, n_wanted, averaged):
        super().__init__()
        kinds, n_tokens, points = self.given = given
        spread = 1 / np.sqrt(kinds * points)
        self.embedding = nn.Parameter(spread * torch.randn(n_tokens, kinds, points, width))
        self.places = nn.Parameter(spread * torch.randn(n_tokens, width))
        layer = nn.TransformerEncoderLayer(
            width,
            nhead=4,
            dim_feedforward=2 * width,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        norm = nn.LayerNorm(width)
        self.layers = nn.TransformerEncoder(layer, depth, norm, enable_nested_tensor=False)
        self.last = nn.Linear(width, n_wanted)
        self.averaged = averaged

    def forward(self, x):
        """Targets, flat, from inputs, flat."""
        x = x.unflatten(1, self.given)
        tokens = torch.einsum("bktp,tkpw->btw", x, self.embedding) + self.places
        tokens = self.layers(tokens)
        return self.last(tokens.mean(dim=1) if self.averaged else tokens).flatten(1)


# What to choose from: names and candidates


def for_signals(quick):
    """Convolutions with a code and without, and a transformer of parts of signals."""
    epochs = 2 if quick else 60
    yield CONVOLUTIONAL, [Convolutional((64,), code=n, epochs=epochs) for n in (64, 16)]
    yield NO_CODE, [Convolutional((64,), channels=n, epochs=epochs) for n in (16, 8)]
    yield TRANSFORMER, [Transformer(n, 64, 3, epochs) for n in (4, 8)]


def for_pictures(code, quick):
    """Convolutions over pictures of 28 x 28, with a code of so many numbers and without."""
    epochs = 1 if quick else 20
    for name, size in ((CONVOLUTIONAL, code), (NO_CODE, None)):
        yield name, [Convolutional((28, 28), n, size, epochs) for n in (8, 16)]


def for_features(quick):
    """A transformer whose tokens are features."""
    epochs = 1 if quick else 40
    yield TRANSFORMER, [StandardisedTransformer(epochs=epochs, step=s) for s in (3e-3, 1e-3)]


def for_digits(code, quick):
    """Convolutions over pictures of 8 x 8, with a code of so many numbers."""
    epochs = 2 if quick else 50
    yield CONVOLUTIONAL, [Convolutional((8, 8), n, code, epochs) for n in (16, 32)]
