"""Datagrams to all hosts of an emulation: host `a` listens, host `b` sends.

    python multicast.py listen FILE
    python multicast.py cast

The listener writes each datagram into FILE.
"""

import socket
import sys
import time
from pathlib import Path

GROUP, GROUP_6, EVERYBODY, ELSEWHERE = "224.1.1.1", "ff05::7", "10.77.0.255", "10.77.0.77"
COUNT = 5


def bind(family, port):
    """Make a socket that receives at a port."""
    found = socket.socket(family, socket.SOCK_DGRAM)
    found.bind(("", port))
    found.settimeout(10)
    return found


def listen(file):
    """Join two groups, and write what arrives."""
    group, wide, six = bind(socket.AF_INET, 5000), bind(socket.AF_INET, 5001), bind(socket.AF_INET6, 5002)
    here = socket.inet_aton(socket.gethostbyname("a"))
    group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(GROUP) + here)
    index = socket.if_nametoindex("sat0").to_bytes(4, sys.byteorder)
    six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, GROUP_6) + index)
    with file.open("w") as out:
        for source, count in ((group, COUNT), (wide, 2 * COUNT), (six, COUNT)):
            for _ in range(count):
                print(source.recv(100).decode(), file=out, flush=True)
    # The kernel would answer later datagrams to a closed port.
    time.sleep(20)


def cast():
    """Send to the group over IPv4 and IPv6, to all, to the listener, and to an address without a host."""
    four, six = (socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6))
    four.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(socket.gethostbyname("b")))
    four.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("sat0"))
    # The listener binds its last port before it joins.
    time.sleep(0.5)
    for _ in range(COUNT):
        four.sendto(b"multi", (GROUP, 5000))
        four.sendto(b"broad", (EVERYBODY, 5001))
        four.sendto(b"uni", ("a", 5001))
        six.sendto(b"six", (GROUP_6, 5002))
        four.sendto(b"away", (ELSEWHERE, 5001))
    time.sleep(1)


if __name__ == "__main__":
    cast() if sys.argv[1] == "cast" else listen(Path(sys.argv[2]))
