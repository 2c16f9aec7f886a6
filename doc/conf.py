"""Settings of Sphinx."""

import skatoms

project = "skatoms"
author = "the skatoms developers"
copyright = "2026, the skatoms developers"
version = release = skatoms.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "code"
autosummary_generate = True
autodoc_typehints = "none"  # types are in the text

numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_validation_checks = {"GL03", "GL06", "GL07", "PR01", "PR02", "PR03", "PR04", "RT01"}
numpydoc_validation_exclude = {
    # Attributes of these are their parameters.
    r"\.(CodingReport|AtomRecovery|RecoveryGuarantee|CategoryRecovery|DCIScores)$",
    # The user guide says what methods a penalty has, and CONTRIBUTING those of the others.
    r"\.(Penalty|L1|ElasticNet|Ridge|GroupL1|L0|TopK)\.",
    r"\.(Coupling|Temporal|GraphLaplacian|Regularizer|Energy|Smoothness|TotalVariation)\.",
    r"\.(AbsoluteValues|Orthogonality|Coherence|Constraint|UnitNorm|UnitBall|NonNegative)\.",
    r"\.(LinearAdmissible|Separable|MaxCoherence)\.",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("skatoms",),
    "reference_url": {"skatoms": None},
    "show_memory": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skatoms {release}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
html_show_sourcelink = False


def skip_plumbing(app, what, name, obj, skip, options):
    """Leave out scikit-learn's own metadata routing and output containers."""
    return skip or (getattr(obj, "__module__", None) or "").startswith("sklearn.utils")


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-skip-member", skip_plumbing)
