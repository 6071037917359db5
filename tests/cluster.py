"""A scheduler of `dask.distributed` with two workers, for all tests of a session.

    python cluster.py PROCESS FILE

Writes the address of the scheduler into FILE, and ends when PROCESS ends.
"""

import logging
import sys
from pathlib import Path

import psutil


def serve(process, file):
    """Run the cluster until the process has ended."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL + 1,
        memory_limit=0,
    ) as cluster:
        # In one step, so that no reader sees half of the text.
        written = file.with_suffix(".new")
        written.write_text(cluster.scheduler_address.removeprefix("tcp://"))
        written.rename(file)
        process.wait()


if __name__ == "__main__":
    serve(psutil.Process(int(sys.argv[1])), Path(sys.argv[2]))
