"""Training of the read-out on a text, whose states are made in blocks, anew each time."""

import numpy as np

from ._readout import Adam

BLOCK = 32  # consecutive tokens; a batch has blocks from all over the text
BATCH = 16  # blocks of a batch


def train(readout, evolution, ids, *, n_epochs, rate, rng, n_jobs, last_rate=0.1, drop=0.0):
    """Move the weights of the read-out in place; returns the mean loss of each epoch.

    The rate falls linearly to `last_rate` of what it was at first.
    """
    starts = checkpoints(evolution, ids)
    n_blocks = len(starts[0])
    adam = Adam(readout.weights)
    n_steps, losses = n_epochs * -(-n_blocks // BATCH), []
    for _ in range(n_epochs):
        total, order = 0.0, rng.permutation(n_blocks)
        for first in range(0, n_blocks, BATCH):
            states, targets = batch_of(evolution, ids, starts, order[first : first + BATCH])
            if drop:
                states *= (rng.random(states.shape, np.float32) >= drop) / np.float32(1 - drop)
            gradients, loss = readout.gradient(states, targets, n_jobs)
            adam.step(gradients, rate * (1 - (1 - last_rate) * adam.n_steps / n_steps))
            total += loss * len(targets)
        losses.append(total / len(ids))
    return losses


def checkpoints(evolution, ids):
    """What is remembered at the start of each block: an array for each part of the memory."""
    memory = evolution.start()
    kept = [[] for _ in memory]
    for first in range(0, len(ids), BLOCK):
        for part, values in zip(kept, memory, strict=True):
            part.append(values.copy())
        evolution.advance(ids[first : first + BLOCK], memory)
    return [np.array(part) for part in kept]


def batch_of(evolution, ids, starts, blocks):
    """States and targets of blocks, one after the other."""
    states, targets = [], []
    for block in blocks:
        part = ids[block * BLOCK : (block + 1) * BLOCK]
        memory = tuple(values[block].copy() for values in starts)
        states.append(evolution.read(part, memory))
        targets.append(part)
    return np.concatenate(states), np.concatenate(targets)
