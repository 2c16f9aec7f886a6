"""Heart beats in the files of PhysioNet's MIT-BIH arrhythmia database."""

from os import PathLike
from typing import NamedTuple

import numpy as np
from sklearn.utils import Bunch

from .._validation import check_number
from ._files import find_files

SOURCE = "https://physionet.org/content/mitdb/"

# Codes of annotations: of the beats that are returned, of all beats, of what is not an annotation.
NORMAL, ATRIAL_PREMATURE = 1, 8
BEATS = (*range(1, 14), 25, 30, 31, 34, 35, 38, 41)
SKIP, NUM, SUB, CHN, AUX = 59, 60, 61, 62, 63


def load_ecg_beats(
    folder: str | PathLike, record: str = "100", *, before: float = 0.25, after: float = 0.40
) -> Bunch:
    """Read an electrocardiogram as one row per beat.

    The first lead is cut around each beat that a cardiologist marked as normal or as atrial
    premature; other beats are left out. So are those whose window reaches over an end of the record
    and those without a beat before. Nothing is downloaded: the files have to be in a folder of
    yours.

    Parameters
    ----------
    folder : str or path
        Where the files of the record are: ``.hea`` (header), ``.dat`` (signal, WFDB format 212) and
        ``.atr`` (beats).

    record : str, default="100"
        Name of the record, the files' names without their ends.

    before : float, default=0.25
        Where the window starts, in seconds before the mark of the beat. Not negative.

    after : float, default=0.40
        Where the window ends, in seconds after the mark, whose sample is the first that counts.
        Above 0.

    Returns
    -------
    beats : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_beats, n_times), the windows in millivolt;
        - `target`: int of shape (n_beats,), 1 for atrial premature and 0 for normal;
        - `time`: float64 of shape (n_beats,), the marks in seconds from the start;
        - `rr_before`: float64 of shape (n_beats,), seconds since the beat before, of whatever kind;
        - `sampling_rate`: float, samples a second.

    Raises
    ------
    FileNotFoundError
        If the folder has not all three files. The message says where they can be had.
    ValueError, TypeError
        If a file is not in the format, or a parameter is out of its range.

    References
    ----------
    Moody and Mark, "The impact of the MIT-BIH arrhythmia database", IEEE Engineering in Medicine
    and Biology 20, 2001.

    Examples
    --------
    >>> from skatoms.datasets import load_ecg_beats
    >>> beats = load_ecg_beats("folder/of/mitdb", "100")  # doctest: +SKIP
    >>> beats.data.shape, beats.target.sum()  # doctest: +SKIP
    ((2270, 234), 33)
    """
    check_number("before", before, least=0, most=60)
    check_number("after", after, least=0, most=60)
    head, lead, samples, codes = _read(folder, record)
    n_before, n_after = round(before * head.sampling_rate), round(after * head.sampling_rate)
    if n_after < 1:
        raise ValueError(f"after={after!r} must be at least one sample, 1 / {head.sampling_rate}.")
    gaps = np.diff(samples, prepend=samples[:1])
    chosen = np.isin(codes, (NORMAL, ATRIAL_PREMATURE)) & (np.arange(len(codes)) > 0)
    chosen &= (samples >= n_before) & (samples + n_after <= len(lead))
    window = np.arange(-n_before, n_after)
    return Bunch(
        data=lead[samples[chosen][:, None] + window],
        target=(codes[chosen] == ATRIAL_PREMATURE).astype(int),
        time=samples[chosen] / head.sampling_rate,
        rr_before=gaps[chosen] / head.sampling_rate,
        sampling_rate=head.sampling_rate,
    )


def load_ecg(folder: str | PathLike, record: str = "100") -> Bunch:
    """Read the first lead of an electrocardiogram as a time series.

    Nothing is downloaded: the files have to be in a folder of yours.

    Parameters
    ----------
    folder : str or path
        Where the files of the record are: ``.hea`` (header), ``.dat`` (signal, WFDB format 212) and
        ``.atr`` (beats).

    record : str, default="100"
        Name of the record, the files' names without their ends.

    Returns
    -------
    series : Bunch
        A dictionary whose entries are attributes too:

        - `data`: float64 of shape (n_samples, 1), in millivolt;
        - `dt`: float, seconds between samples;
        - `beats`: float64 of shape (n_beats,), the marks of beats in seconds from the start;
        - `normal`: bool of shape (n_beats,), whether a beat is a normal one.

    Raises
    ------
    FileNotFoundError
        If the folder has not all three files. The message says where they can be had.
    ValueError
        If a file is not in the format.

    See Also
    --------
    load_ecg_beats : The same as one row per beat.

    Examples
    --------
    >>> from skatoms.datasets import load_ecg
    >>> load_ecg("folder/of/mitdb", "100").data.shape  # doctest: +SKIP
    (650000, 1)
    """
    head, lead, samples, codes = _read(folder, record)
    return Bunch(
        data=lead[:, None],
        dt=1 / head.sampling_rate,
        beats=samples / head.sampling_rate,
        normal=codes == NORMAL,
    )


def _read(folder, record):
    """Header, first lead in millivolt, sample and code of each beat."""
    names = [f"{record}.{end}" for end in ("hea", "dat", "atr")]
    head_path, data_path, marks_path = find_files(folder, names, SOURCE)
    head = _read_head(head_path)
    samples, codes = _read_annotations(marks_path)
    is_beat = np.isin(codes, BEATS)
    return head, _read_first_lead(data_path, head), samples[is_beat], codes[is_beat]


class Head(NamedTuple):
    """What the header says about a record and its first lead."""

    n_leads: int
    sampling_rate: float
    gain: float  # steps of the converter per millivolt
    baseline: int  # the step that is 0 millivolt


def _read_head(path):
    """Read the header.

    Lines of text: the record (name, number of leads, samples a second), then one for each lead
    (file, format, "gain(baseline)/unit", resolution, zero of the converter). Comments start with #.
    """
    lines = [line.split() for line in path.read_text("ascii", "replace").splitlines()]
    lines = [words for words in lines if words and not words[0].startswith("#")]
    try:
        n_leads, sampling_rate = int(lines[0][1]), float(lines[0][2].split("/")[0])
        leads = lines[1 : n_leads + 1]
        gain, _, baseline = leads[0][2].split("/")[0].rstrip(")").partition("(")
        head = Head(n_leads, sampling_rate, float(gain), int(baseline or leads[0][4]))
        formats = {words[1] for words in leads}
    except (IndexError, ValueError) as error:
        raise ValueError(
            f"{path.name} is not a WFDB header with samples a second, and with a file, format, "
            "gain, resolution and zero for each lead."
        ) from error
    if formats != {"212"}:
        raise ValueError(f"{path.name} has leads in format {sorted(formats)}, only 212 is read.")
    if not (sampling_rate > 0 and head.gain > 0):
        raise ValueError(
            f"{path.name} has {sampling_rate} samples a second and gain {head.gain}, both must be "
            "above 0."
        )
    return head


def _read_first_lead(path, head):
    """The first lead in millivolt.

    Leads take turns. Two samples of 12 bits share three bytes: the lower 8 bits of the first, the
    upper 4 bits of both (the first one's in the lower half of the byte), the lower 8 of the second.
    """
    content = np.fromfile(path, np.uint8)
    triples = content[: len(content) // 3 * 3].reshape(-1, 3).astype(np.int16)
    low, high, other = triples.T
    steps = np.column_stack([low | (high & 15) << 8, other | high >> 4 << 8]).ravel()
    steps = np.where(steps >= 2048, steps - 4096, steps)
    return (steps[:: head.n_leads] - head.baseline) / head.gain


def _read_annotations(path):
    """Sample and code of each annotation.

    Little-endian words of 16 bits: the upper 6 are the code, the lower 10 the samples since the
    annotation before. Code 0 with 0 samples is the end. Some codes are not annotations: SKIP puts a
    long distance in the next two words, upper half first; AUX is followed by so many bytes of text;
    NUM, SUB and CHN describe an annotation.
    """
    words = np.fromfile(path, "<u2").tolist()
    samples, codes, now, place = [], [], 0, 0
    try:
        while words[place]:
            code, value = words[place] >> 10, words[place] & 1023
            place += 1
            if code == SKIP:
                distance = words[place] << 16 | words[place + 1]
                now += distance - (1 << 32 if distance >> 31 else 0)
                place += 2
            elif code == AUX:
                place += (value + 1) // 2
            elif code not in (NUM, SUB, CHN):
                now += value
                samples.append(now)
                codes.append(code)
    except IndexError:
        raise ValueError(
            f"{path.name} is cut off: it has no end mark after {len(codes)} annotations. Get it "
            f"anew from {SOURCE}."
        ) from None
    return np.array(samples, dtype=int), np.array(codes, dtype=int)
