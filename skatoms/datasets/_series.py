"""Time series that come with the package: small ones in the public domain."""

from importlib.resources import files

import numpy as np
from sklearn.utils import Bunch

DAYS_A_YEAR = 365.2425


def load_sunspots() -> Bunch:
    """Yearly numbers of sunspots, 1700 to 2008.

    A cycle of about eleven years whose height changes a lot.

    Returns
    -------
    series : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (309, 1);
        - `times`: float64 of shape (309,), the year;
        - `dt`: float, 1.

    References
    ----------
    National Geophysical Data Center of the USA, in the public domain.

    Examples
    --------
    >>> from skatoms.datasets import load_sunspots
    >>> load_sunspots().data.shape
    (309, 1)
    """
    years, numbers = _columns("sunspots.csv")
    return Bunch(data=numbers.astype(float)[:, None], times=years.astype(float), dt=1.0)


def load_co2() -> Bunch:
    """Weekly carbon dioxide in the air over Mauna Loa, March 1958 to December 2001.

    A rise with a cycle of a year. 59 weeks are missing.

    Returns
    -------
    series : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (2284, 1), parts per million, NaN where missing;
        - `times`: float64 of shape (2284,), in years, as 1958.24;
        - `dt`: float, a week in years.

    References
    ----------
    Keeling and Whorf, "Atmospheric CO2 concentrations derived from flask air samples at sites in
    the SIO network", Carbon Dioxide Information Analysis Center, 2004, in the public domain.

    Examples
    --------
    >>> from skatoms.datasets import load_co2
    >>> load_co2().data.shape
    (2284, 1)
    """
    dates, numbers = _columns("co2.csv")
    days = dates.astype("datetime64[D]") - np.datetime64("1958-01-01")
    return Bunch(
        data=np.where(numbers == "", "nan", numbers).astype(float)[:, None],
        times=1958 + days.astype(float) / DAYS_A_YEAR,
        dt=7 / DAYS_A_YEAR,
    )


def _columns(name):
    """The columns of a file, as text."""
    lines = files(__package__).joinpath("files", name).read_text("ascii").splitlines()
    return np.array([line.split(",") for line in lines[1:]]).T
