# ---- finding the daemon ------------------------------------------------------------------------------------

# find_program NAME: $program, beside this script or in $PATH.
find_program() {
    self=$(readlink -f -- "$0" 2>/dev/null) || self=$0
    for program in "${self%/*}/$1" "$(command -v "$1")"; do
        [ -f "$program" ] && [ -x "$program" ] && return
    done
    false
}

# Nobody else can have put a socket there.
is_ours() {
    [ -n "$(find "$1" -prune -type d -user "$uid" ! -perm -020 ! -perm -002 2>/dev/null)" ]
}

# Whether the daemon with this list of roots serves all of $needs; $fit: the longer the roots, the better.
fits() {
    fit=0
    for need in $needs; do
        length=
        while IFS= read -r root; do
            case $need/ in
            "${root%/}"/*) length=${#root} ;;
            esac
        done 2>/dev/null <"$1" || return
        [ -n "$length" ] || return
        fit=$((fit + length))
    done
}

# $socket of the best daemon that answers. A list may have been left by one that was killed, or that ends just now.
find_socket() {
    best=-1
    for place in $places; do
        is_ours "$place" || continue
        set +f
        for list in "$place"/*.roots; do
            case $dead in *"$list"*) continue ;; esac
            fits "$list" && [ -r "$list" ] && [ "$fit" -gt "$best" ] && best=$fit socket=${list%.roots}.sock
        done
        set -f
    done
    [ "$best" -ge 0 ] || return
    curl -qs -m 10 -o /dev/null --unix-socket "$socket" http://localhost/healthz && return
    dead=$dead${socket%.sock}.roots$newline
    find_socket
}

# Starts one for $needs, or has a running one serve them, too (--join): 0, 75 when another one has the index, 1; $said: why. Its roots must not lie in each other, and several
# have labels.
start_daemon() {
    [ "$command" != requests ] || die "no daemon of yours serves this directory"
    [ -z "$missing" ] || die "no such file: $missing"
    program=${DFTRACERD:-}
    [ -n "$program" ] || find_program dftracerd ||
        die "no daemon of yours serves this directory, and no dftracerd program was found to start one: see dftracerctl --help"
    roots=
    for need in $needs; do
        for other in $needs; do
            case $need in "${other%/}"/?*) continue 2 ;; esac
        done
        roots=$roots$need$newline
    done
    set -- --config /dev/null --no-tcp --on-demand --background --join --log-level error
    for root in ${roots:-"$(empty_directory)"}; do
        unescape "$root"
        label=
        [ "${roots#*"$newline"}" = '' ] || label=$(printf '%s' "${unescaped#/}" | tr '/=' '__')=
        set -- "$@" --directory "$label$unescaped"
    done
    [ -z "$index_dir" ] || set -- "$@" --index-base "$index_dir"
    [ -z "$threads" ] || set -- "$@" --executor-threads "$threads"
    said=$(unset DFTRACERD_UNIX && "$program" "$@" --idle-exit "${DFTRACERD_IDLE_EXIT:-10m}" 2>&1 >/dev/null </dev/null) && started=yes
}

# Says so where --index-dir comes too late. (The index is below it: another command has started that daemon.)
check_index_dir() {
    place=$(call info '' -G -m 10 | sed -n 's/.*"index":{"path":"\([^"]*\)".*/\1/p')
    base=$(cd -- "$index_dir" 2>/dev/null && pwd -P)
    case $place in
    "${base:-/ }"/*) ;;
    *) printf 'dftracerctl: --index-dir %s is ignored: a daemon already serves this directory; its index is in %s\n' "$index_dir" "${place:-another place}" >&2 ;;
    esac
}

# For what needs a daemon, but no traces.
empty_directory() {
    for place in $places; do
        mkdir -m 700 -- "$place" 2>/dev/null
        is_ours "$place" || continue
        mkdir -m 700 -- "$place/none" 2>/dev/null
        printf '%s\n' "$place/none"
        return
    done
}

# $socket of a daemon for $needs. Of two clients that start one at once, the other one's serves for both.
reach() {
    uid=$(id -u)
    places=${DFTRACERD_RUNTIME_DIR:-${XDG_RUNTIME_DIR:-/run/user/$uid}/dftracerd$newline/tmp/dftracerd-$uid}
    dead=
    tries=0
    until find_socket; do
        start_daemon
        case $? in
        0) tries=$((tries + 5)) said="it exited before the first request, or its socket cannot be reached (DFTRACERD_IDLE_EXIT=${DFTRACERD_IDLE_EXIT:-10m})" ;;
        75) sleep 1 ;;
        *) tries=99 ;;
        esac
        [ "$tries" -lt 15 ] || die "cannot start a daemon: ${said#dftracerd: }"
        tries=$((tries + 1))
        dead=
    done
    reached=yes
}

