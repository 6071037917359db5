"""Shell functions of `apply.sh` and `undo.sh`: they save each setting that they find, change it, and read it back.

Before `apply.sh` sets a value, it writes a command that restores the present value. `undo.sh` runs these commands, the
last first. If a command of `apply.sh` fails, it runs them, too. They are in a file below `/run`, which is empty after a
reboot; a reboot also resets the settings.
"""

SAVED = """\
# Commands that restore the host. They disappear with the settings at a reboot.
saved=${SAVED:-/run/bentpipe-settings}

fail() {
    echo "error: $*" >&2
    exit 1
}
"""

RESTORE = """\
# Runs the commands that restore the host, the last change first. Keeps those that fail.
restore() {
    left=
    while IFS= read -r command; do
        eval "$command" || left="$left$command
"
    done < "$saved"
    if [ -n "$left" ]; then
        printf %s "$left" > "$saved"
        fail "some settings are not restored: their commands are in $saved"
    fi
    rm -f "$saved"
}
"""

CHANGE = r"""
[ ! -e "$saved" ] || fail "$saved exists: run undo.sh first"

# Adds a command that restores the host, in front of the earlier ones.
keep() {
    command=
    for word in "$@"; do
        command="$command '$(printf %s "$word" | sed "s/'/'\\\\''/g")'"
    done
    { printf '%s\n' "$command"; cat "$saved"; } > "$saved.new"
    mv "$saved.new" "$saved"
}

# Ends the script. After an error the host is as before.
finish() {
    code=$?
    trap - EXIT
    [ "$code" = 0 ] || { restore; echo "error: no change stays; the host is as before" >&2; }
    exit "$code"
}

# set_sysctl NAME VALUE
set_sysctl() {
    was=$(sysctl -n "$1")
    keep sysctl -qw "$1=$was"
    sysctl -qw "$1=$2"
    [ "$(sysctl -n "$1" | tr '\t' ' ')" = "$2" ] || fail "$1 is not $2"
}

# set_file FILE VALUE
set_file() {
    was=$(cat "$1")
    keep sh -c 'echo "$1" > "$2"' sh "$was" "$1"
    echo "$2" > "$1"
    [ "$(cat "$1")" = "$2" ] || fail "$1 is not $2"
}

# load CONGESTION_CONTROL
load() {
    if ! sysctl -n net.ipv4.tcp_available_congestion_control | grep -qw "$1"; then
        modprobe "tcp_$1"
        keep modprobe -r "tcp_$1"
    fi
}

# find_route PREFIX: its only route, without the flags that are no arguments. GW and DEV choose one of several.
find_route() {
    found=$(ip -o route show exact "$1" | sed 's/$/ /' | grep -F -- "${GW:+ via $GW}${DEV:+ dev $DEV} " || :)
    [ "$(printf %s "$found" | grep -c '')" = 1 ] || fail "expected one route $1${GW:+ via $GW}${DEV:+ dev $DEV}"
    printf %s "$found" | sed -E 's/ (linkdown|dead|offload|trap|rt_offload|rt_trap) / /g; s/ rto_min lock / rto_min /'
}

# set_route PREFIX ATTRIBUTE VALUE: all other attributes stay.
set_route() {
    was=$(find_route "$1")
    # The words of a route are the arguments of a command.
    keep ip route change $was
    ip route change $(printf %s "$was" | sed -E "s/ $2( lock)? [^ ]+/ /") "$2" "$3"
    find_route "$1" | grep -Eq " $2( lock)? $3( |\$)" || fail "the route $1 has no $2 $3"
}

# show_root DEVICE: its queue as arguments of tc, without packets as a unit.
show_root() {
    tc qdisc show dev "$1" \
        | sed -E 's/^qdisc ([^ ]+) ([^ ]+) root refcnt [0-9]+ ?/root handle \2 \1 /; s/([0-9])p( |$)/\1\2/g'
}

# set_root DEVICE KIND ...: the root queue of a device. A queue that somebody has set must be restorable from its text.
set_root() {
    device=$1
    shift
    was=$(show_root "$device")
    case "$was" in
        *" 0: "*)
            tc qdisc add dev "$device" root "$@"
            keep tc qdisc del dev "$device" root
            return ;;
    esac
    ip link add bentpipe-try type veth peer name bentpipe-end
    # The words of a queue are the arguments of a command.
    tc qdisc add dev bentpipe-try $was 2>/dev/null || :
    is=$(show_root bentpipe-try)
    ip link del bentpipe-try
    [ "$is" = "$was" ] \
        || fail "$device has the queue $was; expected its default, as after: tc qdisc del dev $device root"
    keep tc qdisc add dev "$device" $was
    tc qdisc del dev "$device" root
    tc qdisc add dev "$device" root "$@"
    keep tc qdisc del dev "$device" root
}

# add UNDO COMMAND...: a command with the command that takes it back.
add() {
    undo=$1
    shift
    "$@"
    keep sh -c "$undo"
}
"""

BEGIN = """\
true > "$saved"
trap finish EXIT
trap 'exit 130' INT TERM HUP
"""

UNDO = """\
[ -e "$saved" ] || fail "no $saved: nothing is applied since the last start of this host"
restore
echo "the host is as before"
"""
