"""Limits of programs at emulated hosts: ways out are tried from inside, as two users."""

import errno
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe as bp

pytestmark = pytest.mark.usefixtures("namespaces")

PATH = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "1 ms"}
SCENARIO = {"duration": "60 s", "link": {"path": PATH}, "flow": {"real": {"from": "a", "to": "b", "app": "port"}}}
NOBODY = 65534

TRIES = r"""
import ctypes, fcntl, json, os, signal, socket, struct, subprocess, sys, time
OUT, MACHINE, PID, PORT = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
found = {}

def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)

def number(nr, *arguments):
    libc.syscall.restype = ctypes.c_long
    if libc.syscall(ctypes.c_long(nr), *arguments) < 0:
        raise OSError(ctypes.get_errno(), str(nr))

def opened(place, how=os.O_WRONLY):
    # That is where it is decided who may write.
    return lambda: os.close(os.open(place, how))

def in_a_user_namespace(code):
    # A program may make one, and is root in it.
    new = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", code]

    def attempt():
        done = subprocess.run(new, capture_output=True)
        if done.returncode:
            raise OSError(done.returncode, done.stderr.decode())
    return attempt

def device_down():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        # SIOCSIFFLAGS: the device down.
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"sat0", 0))

def connected(family, place):
    def attempt():
        with socket.socket(family) as s:
            s.settimeout(2)
            s.connect(place)
    return attempt

def regained():
    text = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
    caps = {line.split()[0]: int(line.split()[1], 16) for line in text.splitlines() if line.startswith("Cap")}
    # CAP_NET_RAW is number 13.
    if all(value in (0, 1 << 13) for value in caps.values()):
        raise PermissionError(1, "none but CAP_NET_RAW")

def foreign_user():
    os.setuid(12345)

disks = ["/dev/" + name for name in (os.listdir("/sys/class/block") if os.path.exists("/sys/class/block") else [])]
ways = {
    "sethostname": lambda: call("sethostname", b"changed", 7),
    "host name in /proc": opened("/proc/sys/kernel/hostname"),
    "setting of the kernel": opened("/proc/sys/vm/overcommit_memory"),
    "setting of the network": opened("/proc/sys/net/ipv4/ip_forward"),
    "core pattern": opened("/proc/sys/kernel/core_pattern"),
    "sysrq": opened("/proc/sysrq-trigger"),
    "interrupts": opened("/proc/irq/default_smp_affinity"),
    "settings in /sys": opened("/sys/kernel/mm/transparent_hugepage/enabled"),
    "group of processes": lambda: os.mkdir("/sys/fs/cgroup/way-out"),
    "mount": lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None),
    "unmount": lambda: call("umount2", b"/proc/sys", 2),
    "remount": lambda: call("mount", None, b"/proc/sys", None, 32 | 4096, None),
    "unmount in a user namespace": in_a_user_namespace("umount -l /proc/sys"),
    "remount in a user namespace": in_a_user_namespace("mount -o remount,bind,rw /proc/sys"),
    "another /proc in a user namespace": in_a_user_namespace("mount -t proc proc /mnt"),
    "setting in a user namespace": in_a_user_namespace("exec 3>> /proc/sys/vm/overcommit_memory"),
    "namespaces of the emulator": lambda: os.close(os.open("/proc/1/ns/mnt", os.O_RDONLY)),
    "files of the emulator": lambda: os.readlink("/proc/1/fd/1"),
    "root of the emulator": lambda: os.listdir("/proc/1/root"),
    "memory of the emulator": opened("/proc/1/mem", os.O_RDONLY),
    "trace the emulator": lambda: call("ptrace", 16, 1, None, None),
    "signal to the machine": lambda: os.kill(int(PID), 0),
    "clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "make a device": lambda: os.mknod(OUT + ".device", 0o600 | 0o060000, os.makedev(7, 0)),
    "memory of the machine": opened("/dev/mem"),
    "log of the kernel": opened("/dev/kmsg"),
    "real-time priority": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "reboot": lambda: call("reboot", 0),
    "unload a module": lambda: number(176 if os.uname().machine == "x86_64" else 106, b"no-such-module", 0),
    "swap": lambda: call("swapoff", OUT.encode()),
    "accounting": lambda: call("acct", None),
    "chroot": lambda: os.chroot("/tmp"),
    "another user": foreign_user,
    "device of the host": device_down,
    "capabilities after exec": regained,
    "the machine's own network": connected(socket.AF_INET, ("127.0.0.1", int(PORT))),
    "the Internet": connected(socket.AF_INET, ("192.0.2.1", 80)),
    "a name without a file": connected(socket.AF_UNIX, "\0" + MACHINE),
    **{f"disk {disk}": opened(disk) for disk in disks},
}
for name, attempt in ways.items():
    try:
        attempt()
        found[name] = None
    except OSError as error:
        found[name] = error.errno
json.dump(found, open(OUT, "w"))
"""


POWER = (
    "sethostname",
    "mount",
    "unmount",
    "remount",
    "trace the emulator",
    "clock",
    "make a device",
    "real-time priority",
)
POWER = (*POWER, "reboot", "unload a module", "swap", "chroot", "device of the host")
"""Ways that end at a missing capability: another error would not show that."""


def settings():
    """Settings and mounts that programs might have changed."""
    names = ("kernel/hostname", "vm/overcommit_memory", "net/ipv4/ip_forward", "kernel/core_pattern")
    return {name: Path("/proc/sys", name).read_text() for name in names}, Path("/proc/mounts").read_text()


@pytest.fixture(params=["the user of the tests", "nobody"])
def emulate(request, tmp_path):
    """Run Python code at a host, as a user; returns its exit status."""
    user = {}
    if request.param == "nobody":
        if os.getuid():
            pytest.skip("only root can be another user")
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}
        tmp_path.chmod(0o777)
        for folder in tmp_path.parents:
            if folder.name.startswith(("popen-", "pytest-")):
                folder.chmod(0o755)
        line = [sys.executable, "-c", "import bentpipe"]
        try:
            status = subprocess.run(line, check=False, stderr=subprocess.DEVNULL, **user).returncode
        except PermissionError as error:
            status = error
        if status:
            pytest.skip("another user cannot read bentpipe here")
    scenario = tmp_path / "path.toml"
    scenario.write_text(bp.Scenario(SCENARIO).resolve())

    def emulate(code, *arguments):
        line = [sys.executable, "-m", "bentpipe", "emulate", str(scenario), "-q", "--"]
        command = [sys.executable, "-c", code, *map(str, arguments)]
        done = subprocess.run([*line, *command], check=False, capture_output=True, text=True, cwd=tmp_path, **user)
        assert done.returncode == 0, done.stderr
        return user.get("user", os.getuid())

    return emulate


def test_no_way_leads_out_of_a_host(tmp_path, emulate):
    before, name = settings(), f"bentpipe-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unnamed:
        unnamed.bind(f"\0{name}")
        unnamed.listen()
        out = tmp_path / "out"
        emulate(TRIES, out, name, os.getpid(), server.getsockname()[1])
    ways = json.loads(out.read_text())
    assert len(ways) >= 38
    assert [way for way, refused in ways.items() if refused is None] == []
    assert {ways[way] for way in POWER} <= {errno.EPERM, errno.ENOSYS}
    assert settings() == before


WITHIN = """
import json, os, pathlib, pty, sys, tempfile
pathlib.Path(sys.argv[1]).write_text(json.dumps([os.getuid(), os.uname().nodename]))
for name in "null zero full random urandom tty ptmx shm pts stdin stdout stderr fd".split():
    assert os.path.lexists("/dev/" + name), name
open("/dev/null", "w").write("x")
assert len(open("/dev/urandom", "rb").read(8)) == 8
master, slave = pty.openpty()
assert os.ttyname(slave).startswith("/dev/pts/")
with tempfile.TemporaryFile(dir="/dev/shm") as file:
    file.write(b"x")
pathlib.Path("/proc/self/oom_score_adj").write_text("500")
"""


def test_programs_have_files_terminals_and_their_user(tmp_path, emulate):
    out = tmp_path / "about"
    user = emulate(WITHIN, out)
    assert json.loads(out.read_text()) == [user, os.uname().nodename]
    assert out.stat().st_uid == user


RAW = """
import json, os, socket, struct, sys
def total(data):
    data += b"\\0" * (len(data) % 2)
    whole = sum(struct.unpack(f">{len(data) // 2}H", data))
    return ~((whole & 0xFFFF) + (whole >> 16)) & 0xFFFF
watch = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3))
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
raw.settimeout(5)
echo = struct.pack(">BBHHH", 8, 0, 0, 7, 1) + b"hello"
echo = echo[:2] + struct.pack(">H", total(echo)) + echo[4:]
raw.sendto(echo, ("a", 0))
answer = raw.recv(100)
seen = [watch.recvfrom(2000)[1][0] for _ in range(2)]
json.dump([answer[20], answer[28:].decode(), seen], open(sys.argv[1], "w"))
"""


def test_programs_may_use_raw_sockets_in_the_network_of_their_host(tmp_path, emulate):
    out = tmp_path / "out"
    emulate(RAW, out)
    assert json.loads(out.read_text()) == [0, "hello", ["sat0", "sat0"]]
