"""The command line."""

import re
import subprocess
import sys

import numpy as np
import pytest

import skatoms
from skatoms.__main__ import main


def test_versions_say_what_a_bug_report_needs(capsys):
    assert main(["versions"]) == 0
    text = capsys.readouterr().out
    for line in (
        f"skatoms {skatoms.__version__}",
        f"numpy {np.__version__}",
        "scikit-learn 1",
        "blas: ",
    ):
        assert line in text


def test_the_module_runs():
    done = subprocess.run([sys.executable, "-m", "skatoms", "demo", "--list"], capture_output=True)
    assert done.returncode == 0
    assert b"denoising: Denoise half of" in done.stdout


def test_an_unknown_demo_is_refused_with_the_names_of_those_there_are(capsys):
    assert main(["demo", "nonsense"]) == 2
    assert "denoising" in capsys.readouterr().out


def test_a_demo_gets_a_console_and_a_folder_which_is_made(monkeypatch, tmp_path):
    import skatoms.demo

    def tiny(console, folder):
        (folder / "picture").write_text("drawn")

    monkeypatch.setitem(skatoms.demo.DEMOS, "tiny", tiny)
    assert main(["demo", "tiny", "--output", str(tmp_path / "new")]) == 0
    assert (tmp_path / "new" / "picture").read_text() == "drawn"


def test_without_the_extra_the_demo_says_what_to_install(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "skatoms.demo", raising=False)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(["demo"]) == 1
    assert 'pip install "skatoms[demo]"' in capsys.readouterr().err


def printed_psnr(text):
    """The second column of a table, by the first."""
    rows = [line.split("│") for line in text.splitlines() if "│" in line]
    return {row[1].strip(): float(row[2]) for row in rows}


@pytest.mark.slow
def test_inpainting_beats_interpolation_and_is_drawn(tmp_path, capsys):
    assert main(["demo", "inpainting", "--output", str(tmp_path)]) == 0
    psnr = printed_psnr(capsys.readouterr().out)
    assert psnr["skatoms"] > max(psnr["linear interpolation"], psnr["cubic interpolation"]) + 1
    assert (tmp_path / "skatoms-inpainting.png").stat().st_size > 10_000


@pytest.mark.slow
def test_composition_finds_bumps_at_new_places_and_draws_them(tmp_path, capsys):
    assert main(["demo", "composition", "--output", str(tmp_path)]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    errors = {row[1].strip(): float(row[3]) for row in rows}
    assert errors["recombined"] < 0.2 * min(errors["skatoms"], errors["dense network"])
    assert (tmp_path / "skatoms-composition.png").stat().st_size > 10_000


@pytest.mark.slow
def test_denoising_improves_the_picture_and_draws_it(tmp_path, capsys):
    assert main(["demo", "denoising", "--output", str(tmp_path)]) == 0
    psnr = printed_psnr(capsys.readouterr().out)
    assert psnr["skatoms"] > psnr["noisy"] + 3.5
    assert psnr["skatoms"] > psnr["scikit-learn"] - 0.1
    assert (tmp_path / "skatoms-denoising.png").stat().st_size > 10_000


@pytest.mark.slow
def test_symbols_finds_the_factors_of_pictures_and_draws_them(tmp_path, capsys):
    assert main(["demo", "symbols", "--output", str(tmp_path)]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    last = {row[1].strip(): float(row[-2]) for row in rows}
    assert last["skatoms"] > 0.95 > 0.6 > last["PCA + k-means"]
    assert last["perceptron on symbols"] > last["perceptron on pixels"] + 0.05
    assert (tmp_path / "skatoms-symbols.png").stat().st_size > 10_000


@pytest.mark.slow
def test_forecast_beats_naive_ones_and_is_drawn(tmp_path, capsys):
    assert main(["demo", "forecast", "--output", str(tmp_path)]) == 0
    rows = [line.split("│") for line in capsys.readouterr().out.splitlines() if "│" in line]
    errors = {row[1].strip(): np.array(row[2:5], float) for row in rows}
    assert (errors["skatoms"] < 0.8 * errors["last value"]).all()
    assert (errors["skatoms"] < 0.8 * errors["last year and its rise"]).all()
    assert (tmp_path / "skatoms-forecast.png").stat().st_size > 10_000


@pytest.mark.slow
def test_language_finds_planted_paragraphs_and_draws_a_reason(tmp_path, capsys):
    assert main(["demo", "language", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    rows = [line.split("│") for line in said.splitlines() if "│" in line]
    perplexity = {row[1].strip(): float(row[2]) for row in rows}
    assert perplexity["state + ngram"] < min(perplexity["state"], perplexity["ngram"])
    assert float(re.search(r"area under the curve ([\d.]+)", said)[1]) > 0.95
    assert (tmp_path / "skatoms-language.png").stat().st_size > 10_000
