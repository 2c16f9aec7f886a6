"""Symbols: categorical codes that many tasks have in common."""

from ._encoder import WTASymbolEncoder

__all__ = ["WTASymbolEncoder"]
