"""Runs the command line with a clock that jumps by hours and years in both directions, at each look.

python jumping.py SEED sweep FILE ...
"""

import random
import sys
import time

TRUE = time.time
JUMPS_S = (-1e9, -3600, 0, 3600, 1e9)


def jump(seed: int) -> None:
    """Replace the clock."""
    draw = random.Random(seed)
    time.time = lambda: TRUE() + draw.choice(JUMPS_S)
    time.time_ns = lambda: int(time.time() * 1e9)


if __name__ == "__main__":
    jump(int(sys.argv[1]))
    sys.argv = ["bentpipe", *sys.argv[2:]]
    from bentpipe.__main__ import main

    main()
