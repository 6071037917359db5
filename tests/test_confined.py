"""Limits of programs at emulated hosts: ways out are tried from inside, as two users."""

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import bentpipe as bp
from bentpipe.emulation.emulate import carry_out
from bentpipe.errors import EmulationError

pytestmark = pytest.mark.usefixtures("namespaces")

PATH = {"from": "a", "to": "b", "rate": "20 Mbit/s", "delay": "1 ms"}
SCENARIO = {"duration": "60 s", "link": {"path": PATH}, "flow": {"real": {"from": "a", "to": "b", "app": "port"}}}
NOBODY = 65534

TRIES = r"""
import ctypes, errno, fcntl, json, mmap, os, pty, signal, socket, struct, subprocess, sys, termios, time
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

def in_a_child(attempt):
    # A way that changes the process, or may end it.
    def tried():
        child = os.fork()
        if not child:
            try:
                attempt()
                os._exit(0)
            except OSError as error:
                os._exit(error.errno)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status:
            # A signal ends a call that the kernel does not have.
            raise OSError(errno.ENOSYS if status < 0 else status, "refused")
    return tried

def in_a_user_namespace(attempt):
    # A program may make one, and has all capabilities in it: new namespaces of users, mounts, groups and processes.
    def tried():
        call("unshare", 0x10000000 | 0x20000 | 0x02000000 | 0x20000000)
        in_a_child(attempt)()
    return in_a_child(tried)

def mounted(source, kind, flags=0, place=b"/mnt"):
    return lambda: call("mount", source, place, kind, flags, None)

def unattached(*arguments):
    # A mount that needs no place: its files can be opened beneath its descriptor.
    return in_a_user_namespace(lambda: number(*arguments))

def by_i386(nr):
    # int 0x80 with the number in eax: the calls of 32-bit programs.
    def attempt():
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\xb8" + struct.pack("<i", nr) + b"\x31\xdb\x31\xc9\xcd\x80\xc3")
        place = ctypes.addressof(ctypes.c_char.from_buffer(code))
        answer = ctypes.CFUNCTYPE(ctypes.c_int)(place)()
        if answer < 0:
            raise OSError(-answer, str(nr))
    return in_a_child(attempt)

def typed(request):
    def attempt():
        # A terminal of its own; that of the caller is none of its session's.
        os.setsid()
        end, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        call("ioctl", terminal, ctypes.c_ulong(request), b"x")
    return in_a_child(attempt)

def parent():
    if not os.getppid():
        raise OSError(errno.ESRCH, "in another process namespace")
    os.kill(os.getppid(), 0)

def foreign_network():
    if sorted(os.listdir("/sys/class/net")) != ["lo", "sat0"]:
        return
    raise OSError(errno.ENOENT, "only its own")

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

is_x86 = os.uname().machine == "x86_64"
KEY = (248, 249, 250) if is_x86 else (217, 218, 219)
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
    "unmount in a user namespace": in_a_user_namespace(lambda: call("umount2", b"/proc/sys", 2)),
    "remount in a user namespace": in_a_user_namespace(mounted(None, None, 32 | 4096, b"/proc/sys")),
    "another /proc in a user namespace": in_a_user_namespace(mounted(b"proc", b"proc")),
    "setting in a user namespace": in_a_user_namespace(opened("/proc/sys/vm/overcommit_memory")),
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
    "control groups in a user namespace": in_a_user_namespace(mounted(b"none", b"cgroup2")),
    "memory in a user namespace": in_a_user_namespace(mounted(b"none", b"tmpfs")),
    "binfmt in a user namespace": in_a_user_namespace(mounted(b"none", b"binfmt_misc")),
    "place of a mount in a user namespace": in_a_user_namespace(mounted(b"/etc", None, 4096)),
    "root in a user namespace": in_a_user_namespace(lambda: number(155 if is_x86 else 41, b"/", b"/mnt")),
    "fsopen": unattached(430, b"cgroup2", 0),
    "fsconfig": unattached(431, -1, 6, None, None, 0),
    "fsmount": unattached(432, -1, 0, 0),
    "fspick": unattached(433, -100, b"/", 0),
    "open_tree": unattached(428, -100, b"/", 0x8001),
    "open_tree_attr": unattached(467, -100, b"/", 0x8001, None, 0),
    "move_mount": unattached(429, -100, b"/", -100, b"/mnt", 0),
    "mount_setattr": unattached(442, -100, b"/", 0x8000, struct.pack("QQQQ", 0, 1, 0, 0), 32),
    "typing into a terminal": typed(termios.TIOCSTI),
    "typing with a long request": typed(1 << 32 | termios.TIOCSTI),
    "pasting into a terminal": typed(0x541C),
    "key of the session": lambda: number(KEY[0], b"user", b"bentpipe", b"v", ctypes.c_size_t(1), -3),
    "key of the user": lambda: number(KEY[0], b"user", b"bentpipe", b"v", ctypes.c_size_t(1), -4),
    "request of a key": lambda: number(KEY[1], b"user", b"bentpipe", None, -3),
    "keyring": lambda: number(KEY[2], 0, -4, 1),
    "networks of the machine in /sys": foreign_network,
    "signal to the emulator": parent,
    "memory of the first process": opened("/proc/1/mem"),
    "user namespace of the machine": lambda: os.close(os.open(f"/proc/{PID}/ns/user", os.O_RDONLY)),
    "set-user-ID": lambda: None if "NoNewPrivs:\t0" in open("/proc/self/status").read() else device_down(),
    **({"mount of i386": by_i386(21), "umount of i386": by_i386(22), "keyctl of i386": by_i386(288)} if is_x86 else {}),
    **({"mount of x32": in_a_child(lambda: number(1 << 30 | 165, None, None, None, 0, None))} if is_x86 else {}),
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


RUN = """
import shlex, sys
from bentpipe.emulation.emulate import carry_out
from bentpipe.errors import EmulationError
scenario, without, serve, *command = sys.argv[1:]
found = carry_out(scenario, command, without=without.split(), serve=shlex.split(serve))
assert found.trust.missing_walls == tuple(without.split()), found.trust.missing_walls
raise SystemExit(found.status if found.status >= 0 else 128 - found.status)
"""
"""Runs a program at a host, on a system without some walls."""


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

    def emulate(code, *arguments, without="", serve="", status=0):
        command = [code] if isinstance(code, str) else code
        command = [sys.executable, "-c", *command] if isinstance(code, str) else command
        line = [sys.executable, "-c", RUN, str(scenario), without, serve, *command, *map(str, arguments)]
        # In a separate session: a signal to its group must not reach the tests.
        quiet = {"capture_output": True, "text": True, "start_new_session": True}
        done = subprocess.run(line, check=False, cwd=tmp_path, timeout=100, **quiet, **user)
        assert done.returncode == status, done.stderr + done.stdout
        emulate.printed = done.stdout
        return user.get("user", os.getuid())

    return emulate


@pytest.mark.parametrize("without", ["", "landlock"])
def test_no_way_leads_out_of_a_host(without, tmp_path, emulate):
    before, name = settings(), f"bentpipe-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as unnamed:
        unnamed.bind(f"\0{name}")
        unnamed.listen()
        out = tmp_path / "out"
        emulate(TRIES, out, name, os.getpid(), server.getsockname()[1], without=without)
    ways = json.loads(out.read_text())
    assert len(ways) >= 60
    assert [way for way, refused in ways.items() if refused is None] == []
    assert {ways[way] for way in POWER} <= {errno.EPERM, errno.ENOSYS}
    assert settings() == before


MOUNTS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
# In new namespaces of users, mounts and groups.
assert libc.unshare(0x10000000 | 0x20000 | 0x02000000) == 0
raise SystemExit(ctypes.get_errno() if libc.mount(b"none", b"/mnt", b"cgroup2", 0, None) else 0)
"""


def test_either_of_landlock_and_seccomp_denies_mounts_and_without_both_there_is_one(emulate):
    emulate(MOUNTS, without="landlock", status=errno.EPERM)
    emulate(MOUNTS, without="seccomp", status=errno.EPERM)
    # So the two are what refuses it, where the machine has such groups.
    if "cgroup2" in Path("/proc/filesystems").read_text():
        emulate(MOUNTS, without="landlock seccomp")


KILLS = """
import os, resource, signal
for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):
    resource.prlimit(1, limit, (0, 0))
os.setpriority(os.PRIO_USER, os.getuid(), 10)
for group in (0, -1):
    if not os.fork():
        if group:
            os.setsid()
        os.kill(group, signal.SIGKILL)
        os._exit(0)
    signal.pause()
"""


@pytest.mark.parametrize("without", ["", "landlock"])
def test_a_program_ends_only_itself_and_does_not_limit_the_emulator(without, emulate):
    priority = os.getpriority(os.PRIO_USER, os.getuid())
    # The emulator reports it.
    emulate(KILLS, without=without, status=128 + 9)
    assert os.getpriority(os.PRIO_USER, os.getuid()) == priority


LEAVES = r"""
import ctypes, os, sys
libc, queues = ctypes.CDLL(None, use_errno=True), ctypes.CDLL(None, use_errno=True)
assert libc.shmget(0x4242, 4096, 0o1600) >= 0
assert libc.msgget(0x4243, 0o1600) >= 0
assert libc.semget(0x4244, 1, 0o1600) >= 0
open("/dev/shm/bentpipe-left", "w").write("x")
assert queues.mq_open(b"/bentpipe-left", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0
"""


def shared():
    """Objects of System V, and names of POSIX, that programs might have left."""
    kinds = {kind: len(Path("/proc/sysvipc", kind).read_text().splitlines()) for kind in ("shm", "msg", "sem")}
    return kinds, Path("/dev/shm/bentpipe-left").exists()


def test_a_program_leaves_no_queues_and_no_shared_memory(emulate):
    before = shared()
    emulate(LEAVES)
    assert shared() == before


WITHIN = """
import json, os, pathlib, pty, sys, tempfile, time
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
# Files move and have links between folders.
folder = pathlib.Path(sys.argv[1] + ".folder")
(folder / "a").mkdir(parents=True)
(folder / "b").mkdir()
(folder / "a" / "file").write_text("x")
(folder / "a" / "file").rename(folder / "b" / "file")
(folder / "a" / "file").hardlink_to(folder / "b" / "file")
# A process finds itself, and orphans are reaped.
assert os.path.samefile("/proc/self", f"/proc/{os.getpid()}")
assert pathlib.Path("/sys/class/net/sat0/mtu").read_text() == "1500\\n"
os.system("(sleep 0.1 &)")
for _ in range(200):
    names = [pathlib.Path(f"/proc/{each}/comm") for each in os.listdir("/proc") if each.isdigit()]
    if "sleep\\n" not in [each.read_text() for each in names if each.exists()]:
        break
    time.sleep(0.05)
else:
    raise AssertionError("an orphan is left")
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


SENDS = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('a', 9))"
WORK = {
    "iperf3": ("iperf3 -c a -n 200K", "iperf3 -s -1"),
    "tcpdump": (f'tcpdump -c 1 -i sat0 & sleep 1; {sys.executable} -c "{SENDS}"; wait $!', ""),
    "gcc": ("echo 'int main() { return 0; }' > x.c && gcc -o x.out x.c && ./x.out", ""),
    "chromium": (
        "chromium --headless --disable-gpu {sandbox} --user-data-dir=$PWD/profile --dump-dom http://a:8000/"
        " | grep -q path",
        f"{sys.executable} -m bentpipe.emulation.programs http",
    ),
}


@pytest.mark.parametrize("name", WORK)
def test_programs_of_all_kinds_work_at_a_host(name, tmp_path, emulate, request):
    if shutil.which(name) is None:
        pytest.skip(f"{name} is missing")
    line, serve = WORK[name]
    is_root = "nobody" not in request.node.name and os.getuid() == 0
    if is_root and name == "tcpdump":
        pytest.skip("tcpdump becomes another user if root started it")
    # The browser refuses its own sandbox to root. That of others needs namespaces.
    line = line.replace("{sandbox}", "--no-sandbox" if is_root else "")
    emulate(["sh", "-c", f"HOME=$PWD; export HOME; {line}"], serve=serve)


def test_strict_refuses_to_run_a_program_without_all_walls(tmp_path):
    out = tmp_path / "ran"
    with pytest.raises(EmulationError, match=r"^walls around programs are missing: sysfs, seccomp\n  strict needs"):
        carry_out(SCENARIO, ["touch", str(out)], without=("seccomp", "sysfs"), strict=True)
    assert not out.exists()
    # Shared memory by choice is no missing wall.
    found = carry_out(SCENARIO, ["touch", str(out)], shared_memory=True, strict="landlock" in found_walls())
    assert out.exists()
    assert "ipc" not in found.trust.walls + found.trust.missing_walls


def found_walls():
    found = carry_out(SCENARIO, ["true"])
    return () if found.trust.missing_walls else found.trust.walls


def test_the_table_of_a_run_names_the_walls():
    found = carry_out(SCENARIO, ["true"], without=("landlock",))
    rows = dict(found.trust.rows())
    assert rows["missing walls"].split(", ")[0] == "landlock"
    assert "landlock" not in rows["filters around programs"]
