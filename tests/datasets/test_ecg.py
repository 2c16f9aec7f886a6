"""Heart beats in WFDB files."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skatoms.datasets import load_ecg, load_ecg_beats
from skatoms.datasets._ecg import _read_first_lead, _read_head

HEAD = "# made for a test\n7 2 100 3000\n7.dat 212 200 11 1024 0 0 0 MLII\n\n7.dat 212 100 11 9\n"


def packed(steps):
    """Pairs of 12-bit numbers as format 212 has them, by integer arithmetic."""
    content = bytearray()
    for first, second in steps:
        first, second = first % 4096, second % 4096
        content += bytes([first % 256, first // 256 + 16 * (second // 256), second % 256])
    return bytes(content)


def word(code, value):
    return struct.pack("<H", code * 1024 + value)


def skip(distance):
    high, low = divmod(distance % 2**32, 2**16)
    return word(59, 0) + struct.pack("<HH", high, low)


END = word(0, 0)


@pytest.fixture
def steps():
    steps = np.random.default_rng(0).integers(-2048, 2048, (3000, 2))
    steps[:4, 0] = [-2048, 2047, -1, 0]
    return steps


@pytest.fixture
def write(tmp_path, steps):
    """Write a record of 3000 samples, 100 a second, with these annotations."""

    def write(annotations, head=HEAD):
        (tmp_path / "7.hea").write_text(head)
        (tmp_path / "7.dat").write_bytes(packed(steps.tolist()))
        (tmp_path / "7.atr").write_bytes(annotations)
        return tmp_path

    return write


def test_beats_are_cut_from_the_first_lead_in_millivolt(write, steps):
    folder = write(word(1, 100) + word(1, 150) + word(8, 70) + END)
    beats = load_ecg_beats(folder, "7", before=0.2, after=0.3)
    expected = [steps[230:280, 0], steps[300:350, 0]]
    assert_allclose(beats.data, (np.array(expected) - 1024) / 200, rtol=1e-15)
    assert_array_equal(beats.target, [0, 1])
    assert_allclose(beats.time, [2.5, 3.2])
    assert_allclose(beats.rr_before, [1.5, 0.7])
    assert beats.sampling_rate == 100


def test_the_whole_lead_is_a_series_with_marks_of_all_beats(write, steps):
    series = load_ecg(write(word(1, 100) + word(28, 60) + word(5, 90) + END), "7")
    assert_allclose(series.data, (steps[:, :1] - 1024) / 200, rtol=1e-15)
    assert series.dt == 0.01
    assert_allclose(series.beats, [1.0, 2.5])
    assert_array_equal(series.normal, [True, False])


def test_other_beats_are_left_out_but_end_an_interval(write):
    folder = write(word(1, 100) + word(5, 60) + word(1, 100) + END)
    beats = load_ecg_beats(folder, "7")
    assert_allclose(beats.time, [2.6])
    assert_allclose(beats.rr_before, [1.0])


def test_marks_that_are_no_beats_do_not_end_an_interval(write):
    folder = write(word(1, 100) + word(28, 60) + word(14, 10) + word(1, 100) + END)
    assert_allclose(load_ecg_beats(folder, "7").rr_before, [1.7])


def test_long_distances_texts_and_other_fields_are_read_over(write):
    text = word(63, 3) + b"(N\0" + b"\0"  # padded to an even number of bytes
    fields = word(60, 900) + word(61, 901) + word(62, 902)
    folder = write(
        word(28, 18) + text + word(1, 100) + skip(2000) + word(1, 0) + fields + word(8, 50) + END
    )
    beats = load_ecg_beats(folder, "7")
    assert_allclose(beats.time, [21.18, 21.68])
    assert_allclose(beats.rr_before, [20, 0.5])


def test_distances_may_go_back_and_be_longer_than_a_word(write):
    folder = write(word(1, 100) + skip(70000) + skip(-69900) + word(8, 10) + END)
    assert_allclose(load_ecg_beats(folder, "7").time, [2.1])


def test_beats_too_near_to_an_end_or_without_one_before_are_left_out(write):
    marks = word(1, 19) + word(1, 0) + word(1, 1) + skip(2950) + word(1, 0) + word(1, 1) + END
    beats = load_ecg_beats(write(marks), "7", before=0.2, after=0.3)
    assert_allclose(beats.time, [0.2, 29.7])


def test_a_record_without_beats_has_no_rows(write):
    beats = load_ecg_beats(write(word(28, 5) + END), "7", before=0.2, after=0.3)
    assert beats.data.shape == (0, 50)
    assert len(beats.target) == len(beats.time) == len(beats.rr_before) == 0


def test_a_baseline_in_the_header_is_zero_millivolt(write, steps):
    head = HEAD.replace("200 11", "50(-3)/mV 11").replace("100 3000", "100/250(0) 3000")
    folder = write(word(1, 100) + word(1, 150) + END, head)
    beats = load_ecg_beats(folder, "7", before=0, after=0.01)
    assert_allclose(beats.data, [[(steps[250, 0] + 3) / 50]], rtol=1e-15)


def test_missing_files_are_named_with_where_to_get_them(write):
    folder = write(END)
    (folder / "7.atr").unlink()
    with pytest.raises(FileNotFoundError, match=r"but 7\.atr can not .* https://physionet\.org"):
        load_ecg_beats(folder, "7")


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("", "7.hea is not a WFDB header"),
        ("7 2 100 3000\n7.dat 212\n", "7.hea is not a WFDB header"),
        (HEAD.replace("212", "16"), r"leads in format \['16'\], only 212 is read"),
        (HEAD.replace("200 11", "0 11"), r"gain 0.0, both must be above 0"),
    ],
)
def test_headers_of_other_kinds_are_refused(write, head, message):
    with pytest.raises(ValueError, match=message):
        load_ecg_beats(write(END, head), "7")


@pytest.mark.parametrize("annotations", [b"", word(1, 100), word(59, 0) + b"\0\0", word(63, 40)])
def test_annotations_that_are_cut_off_are_refused(write, annotations):
    with pytest.raises(ValueError, match=r"7\.atr is cut off"):
        load_ecg_beats(write(annotations), "7")


def test_windows_that_are_none_are_refused(write):
    with pytest.raises(ValueError, match="before must be between 0 and 60, got -1"):
        load_ecg_beats(write(END), "7", before=-1)
    with pytest.raises(ValueError, match="after must be between 0 and 60, got nan"):
        load_ecg_beats(write(END), "7", after=np.nan)
    with pytest.raises(ValueError, match=r"after=0.001 must be at least one sample"):
        load_ecg_beats(write(END), "7", after=0.001)


needs_record = pytest.mark.skipif(
    "SKATOMS_DATA" not in os.environ, reason="SKATOMS_DATA names no folder of data"
)


@needs_record
def test_record_100_has_its_known_beats():
    beats = load_ecg_beats(Path(os.environ["SKATOMS_DATA"]) / "ecg")
    # The database counts 2239 normal and 33 premature; the first and the last have no window.
    assert np.bincount(beats.target).tolist() == [2237, 33]
    assert beats.sampling_rate == 360
    assert beats.data.shape == (2270, 234)
    # A mark is on the peak of its beat; what makes a beat premature is that it comes early.
    assert np.abs(beats.data.argmax(axis=1) - 90).max() <= 5
    early = beats.rr_before[beats.target == 1]
    assert np.median(early) < 0.8 * np.median(beats.rr_before)


@needs_record
def test_record_100_has_the_checksum_of_its_header():
    folder = Path(os.environ["SKATOMS_DATA"]) / "ecg"
    head = _read_head(folder / "100.hea")
    lead = _read_first_lead(folder / "100.dat", head)
    steps = np.rint(lead * head.gain + head.baseline).astype(int)
    assert (steps[0], len(steps)) == (995, 650000)
    assert (steps.sum() + 2**15) % 2**16 - 2**15 == -22131
