"""Pictures of what was learned."""

from ._atoms import AtomsDisplay
from ._dynamics import ForecastDisplay, ModesDisplay, SpectrumDisplay

__all__ = ["AtomsDisplay", "ForecastDisplay", "ModesDisplay", "SpectrumDisplay"]
