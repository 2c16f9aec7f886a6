"""Demos: each shows an estimator at work on real data, prints figures and draws a picture.

A demo is a function of a console to print on and of a folder for its pictures. To add one, write
it in a module of its own and name it here.
"""

from pathlib import Path

from rich.console import Console

from ._composition import composition
from ._denoising import denoising
from ._forecast import forecast
from ._inpainting import inpainting
from ._language import language
from ._symbols import symbols

DEMOS = {
    "denoising": denoising,
    "inpainting": inpainting,
    "composition": composition,
    "symbols": symbols,
    "forecast": forecast,
    "language": language,
}


def run(name=None, *, list_only=False, folder="."):
    """Run a demo, the first one if no name is given; returns the exit status."""
    console = Console()
    if list_only:
        for known, demo in DEMOS.items():
            console.print(f"{known}: {demo.__doc__.splitlines()[0]}")
        return 0
    name = name or next(iter(DEMOS))
    if name not in DEMOS:
        console.print(f"There is no demo {name!r}: the demos are {', '.join(DEMOS)}.")
        return 2
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    DEMOS[name](console, folder)
    return 0
