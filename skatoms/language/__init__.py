"""Language models of explicit bases."""

from ._model import BasisStateLM

__all__ = ["BasisStateLM"]
