"""Containers as hosts of an emulation, where Podman runs them."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.watched import wait_until

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("namespaces")]
PATH = """
duration = "60 s"
[link.path]
from = "server"
to = "terminal"
delay = "100 ms"
rate = "2 Mbit/s"
[flow.real]
from = "server"
to = "terminal"
app = "port"
"""
WAITING = """
readlink /proc/self/ns/net > net
until [ -e over ]
do sleep 0.1
done
"""
RUNTIMES = [name for name in ("runc", "crun") if shutil.which(name)]
RUN = (
    "podman",
    *(f"--runtime={name}" for name in RUNTIMES[:1]),
    "--cgroup-manager",
    "cgroupfs",
    "run",
    "--rm",
    "--ulimit",
    "nofile=1000:1000",
    "--ulimit",
    "nproc=1000:1000",
)
"""Limits that are not above those of the caller, and control groups without systemd."""
IMAGE = "bentpipe-test"
BUSYBOX = Path("/bin/busybox")


@pytest.fixture
def image(tmp_path):
    """An image with BusyBox alone."""
    if os.geteuid() != 0 or shutil.which("podman") is None or not BUSYBOX.exists():
        pytest.skip("no podman and /bin/busybox for root: Debian's podman, runc and busybox-static have them")
    with tarfile.open(tmp_path / "image.tar", "w") as file:
        file.add(BUSYBOX, "busybox")
    subprocess.run(["podman", "import", tmp_path / "image.tar", IMAGE], check=True, capture_output=True)
    tried = subprocess.run(
        [*RUN, "--network", "none", IMAGE, "/busybox", "true"], capture_output=True, text=True, check=False
    )
    if tried.returncode != 0:
        pytest.skip(f"podman runs no container here: {tried.stderr.strip().splitlines()[-1]}")
    yield IMAGE
    subprocess.run(["podman", "rmi", "--force", IMAGE], check=False, capture_output=True)


def test_a_container_is_a_host_of_the_path(image, tmp_path):
    (tmp_path / "path.toml").write_text(PATH)
    command = [sys.executable, "-m", "bentpipe", "emulate", "path.toml", "--", "sh", "-c", WAITING]
    net = tmp_path / "net"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as emulation:
        try:
            wait_until(lambda: net.exists() and net.read_text(), "the network is there")
            number = re.sub(r"\D", "", net.read_text())
            listed = subprocess.run(
                ["lsns", "-n", "-o", "PID", number], capture_output=True, text=True, check=True
            ).stdout
            network = f"ns:/proc/{listed.split()[0]}/ns/net"
            ping = [*RUN, "--network", network, image, "/busybox", "ping", "-c", "3", "10.77.0.1"]
            done = subprocess.run(ping, capture_output=True, text=True, check=False)
        finally:
            (tmp_path / "over").touch()
            emulation.communicate()
    assert done.returncode == 0, done.stderr
    least_ms = float(re.search(r"min/avg/max = ([\d.]+)", done.stdout)[1])
    # Other networks answer within a millisecond.
    assert 200 <= least_ms < 400, done.stdout
