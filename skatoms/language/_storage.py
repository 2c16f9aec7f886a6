"""Models in one file: arrays, and what is not an array as text."""

import json
import zipfile
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from ._cache import Cache
from ._contexts import Contexts
from ._evolution import Structured
from ._kneser_ney import of_counts
from ._members import NgramMember, StateMember
from ._mixture import Mixture
from ._reader import Reader
from ._readout import Readout
from ._token_basis import TokenBasis
from ._vocabulary import Vocabulary

FORMAT = 1


def save_model(model, path):
    """Write a fitted model."""
    parameters = model.get_params()
    try:
        parameters = json.dumps(parameters, default=_plain)
        tokens = json.dumps(model._vocabulary.tokens, default=_plain)
    except TypeError as error:
        raise ValueError(f"The model cannot be written as text, use pickle: {error}.") from error
    reader = model._reader
    description = {
        "format": FORMAT,
        "parameters": parameters,
        "tokens": tokens,
        "end": model._vocabulary.end,
        "members": list(reader.members),
        "losses": [float(loss) for loss in model.losses_],
        "n_tokens_seen": int(model.n_tokens_seen_),
    }
    arrays = {
        "mixture": reader.mixture.evidence.astype(np.float32),
        "adaptive": model._adaptive.evidence.astype(np.float32),
    }
    if "state" in reader.members:
        state = reader.members["state"]
        codes = state.evolution.codes
        arrays |= {"codes": codes.data, "atoms": codes.indices, "starts": codes.indptr}
        arrays |= {"delays": state.evolution.delays, "decays": state.evolution.decays}
        arrays |= dict(zip(("inputs", "outputs", "bias"), state.readout.weights, strict=True))
        arrays |= {"edges": state.readout.edges, "components": model._basis.components}
    if "ngram" in reader.members:
        for order, (keys, counts) in enumerate(reader.members["ngram"].model.counted()):
            n = len(model._vocabulary)
            arrays[f"before{order}"] = np.bincount(keys // n).astype(np.int32)
            arrays[f"last{order}"] = (keys % n).astype(np.int32)
            arrays[f"seen{order}"] = counts
    if "cache" in reader.members:
        cache = reader.members["cache"]
        arrays |= {"cache_decays": cache.decays, "prior": cache.prior}
    if "contexts" in reader.members:
        tree = reader.members["contexts"]
        names = ("tokens", "first", "next", "weights", "squares")
        arrays |= {f"tree_{k}": v for k, v in zip(names, tree.arrays[:-1], strict=True)}
        arrays["tree_weights"] = tree.weights.astype(np.float16)
        arrays["tree_squares"] = tree.squares.astype(np.float16)
        arrays["tree_settings"] = np.array([tree.n_tokens, tree.length, tree.rate])
    arrays["description"] = np.array(json.dumps(description))
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def load_model(cls, path):
    """The model in a file."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(str(arrays["description"]))
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not a file of BasisStateLM.save: {error}.") from error
    if about["format"] != FORMAT:
        raise ValueError(f"{path} has format {about['format']}, this version reads {FORMAT}.")
    model = cls(**json.loads(about["parameters"]))
    vocabulary = Vocabulary(json.loads(about["tokens"]), about["end"])
    members = {name: _member(name, arrays, len(vocabulary)) for name in about["members"]}
    first = [] if vocabulary.end is None else [vocabulary.end]
    model._vocabulary = vocabulary
    model._reader = Reader(members, Mixture(arrays["mixture"].astype(float)), first)
    model._adaptive = Mixture(arrays["adaptive"].astype(float))
    model._basis = (
        TokenBasis(members["state"].evolution.codes, arrays["components"])
        if ("state" in members)
        else None
    )
    model.vocabulary_ = vocabulary.number
    model.losses_, model.n_tokens_seen_ = about["losses"], about["n_tokens_seen"]
    return model


def _member(name, arrays, n_tokens):
    if name == "state":
        shape = (n_tokens, len(arrays["components"]))
        codes = csr_array((arrays["codes"], arrays["atoms"], arrays["starts"]), shape)
        evolution = Structured(codes, int(arrays["delays"]), arrays["decays"])
        weights = (arrays[key] for key in ("inputs", "outputs", "bias", "edges"))
        return StateMember(evolution, Readout(*weights))
    if name == "ngram":
        orders = range(sum(key.startswith("last") for key in arrays))
        keys = [
            np.repeat(np.arange(len(arrays[f"before{o}"])), arrays[f"before{o}"]) * n_tokens
            + arrays[f"last{o}"]
            for o in orders
        ]
        counts = [arrays[f"seen{o}"].astype(np.int64) for o in orders]
        return NgramMember(of_counts(keys, counts, n_tokens))
    if name == "cache":
        return Cache(arrays["cache_decays"], arrays["prior"])
    n_tokens, length, rate = arrays["tree_settings"]
    tree = Contexts.empty(int(n_tokens), int(length), float(rate))
    names = ("tokens", "first", "next", "weights", "squares")
    changes = {key: arrays[f"tree_{key}"].astype(getattr(tree, key).dtype) for key in names}
    return replace(tree, **changes, size=np.array([len(arrays["tree_tokens"])]))


def _plain(value):
    """Numbers and arrays of numpy, as JSON has them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"{value!r} is not plain")
