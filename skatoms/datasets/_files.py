"""Files that the user has to provide."""

from pathlib import Path


def find_files(folder, names, source):
    """Paths of the files in the folder; if one is missing, the error says where to get it."""
    paths = [Path(folder) / name for name in names]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"folder={str(folder)!r} must hold the files {' and '.join(names)}, but "
            f"{' and '.join(missing)} can not be found there: get them from {source}."
        )
    return paths
