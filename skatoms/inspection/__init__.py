"""Pictures of what was learned."""

from ._atoms import AtomsDisplay

__all__ = ["AtomsDisplay"]
