"""Whether parameters and data agree with each other."""


def check_together(estimator, trajectories):
    """Raise a ValueError if parameters or data contradict each other."""
    if estimator.center == "last" and estimator.n_delays < 2:
        raise ValueError(
            "center='last' compares the newest state with those before it: take n_delays of at "
            f"least 2, not {estimator.n_delays}."
        )
    if estimator.gamma is not None and (
        estimator.n_delays > 1 or trajectories.controls.shape[1] > 0
    ):
        raise ValueError(
            f"gamma={estimator.gamma} estimates single states: take n_delays=1 and no inputs u, or "
            "gamma=None."
        )
    if estimator.select is not None and (
        estimator.operator == "varpro" or estimator.gamma is not None
    ):
        raise ValueError(
            f"select={estimator.select!r} compares what second moments give: take another operator "
            f"than {estimator.operator!r} and gamma=None, or select=None."
        )
    if estimator.operator != "varpro":
        if not trajectories.regular:
            raise ValueError(
                "t has steps that are not whole numbers of dt, but "
                f"operator={estimator.operator!r} needs equal steps: take operator='varpro', or "
                "interpolate first."
            )
        return
    for name, value, needed in (
        ("lift", estimator.lift, "identity"),
        ("gamma", estimator.gamma, None),
        ("center", "last" if estimator.center == "last" else "mean", "mean"),
        ("u", "inputs" if trajectories.controls.shape[1] else None, None),
    ):
        if not (isinstance(value, type(needed)) and value == needed):
            raise ValueError(
                f"operator='varpro' fits exponentials to the states themselves: it needs "
                f"{name}={needed!r}, not {value!r}."
            )


def check_goes_on(estimator, before, trajectories):
    """Moments only add up if windows are made in the same way."""
    n_controls = trajectories.controls.shape[1]
    if n_controls != before.moments.layout.n_controls:
        raise ValueError(
            f"u has {n_controls} inputs, but had {before.moments.layout.n_controls} before."
        )
    if estimator.n_delays != before.lift.n_delays or (
        (estimator.center == "last") != before.lift.relative
    ):
        raise ValueError(
            f"n_delays={estimator.n_delays} and center={estimator.center!r} are not those of the "
            "calls before: use fit to begin anew."
        )
