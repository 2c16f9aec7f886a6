"""``python -m skatoms demo [NAME]`` and ``python -m skatoms versions``."""

import argparse
import sys

from ._versions import versions


def main(arguments=None):
    """Run a command; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m skatoms", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("versions", help="print what a bug report needs")
    demo = commands.add_parser("demo", help="show an estimator at work on real data")
    demo.add_argument("name", nargs="?", help="which one; the first of the list if not given")
    demo.add_argument("--list", action="store_true", help="list the demos and end")
    demo.add_argument("--output", metavar="DIR", default=".", help="folder for pictures")
    options = parser.parse_args(arguments)
    if options.command == "versions":
        print(versions())
        return 0
    try:
        from .demo import run
    except ImportError as error:
        print(
            f'The demos need {error.name}: python -m pip install "skatoms[demo]"', file=sys.stderr
        )
        return 1
    return run(options.name, list_only=options.list, folder=options.output)


if __name__ == "__main__":
    sys.exit(main())
