
# ---- finding the daemon ------------------------------------------------------------------------------------

# find_program NAME: $program, beside this script or in $PATH.
find_program() {
    self=$(readlink -f -- "$0" 2>/dev/null) || self=$0
    for program in "${self%/*}/$1" "$(command -v "$1")"; do
        [ -f "$program" ] && [ -x "$program" ] && return
    done
    false
}

# $program is the daemon's.
find_daemon() {
    program=${DFTRACERD:-}
    [ -n "$program" ] || find_program dftracerd
}

# $uid, and $runtime_dirs, as rendezvous_dirs in src/daemon/rendezvous.c. On Linux no further process is needed for the user.
find_runtime_dirs() {
    uid=
    while IFS=' 	' read -r key _ uid _ && [ "$key" != Uid: ]; do
        uid=
    done 2>/dev/null </proc/self/status
    uid=${uid:-$(id -u)}
    runtime_dirs=${DFTRACERD_RUNTIME_DIR:-${XDG_RUNTIME_DIR:-/run/user/$uid}/dftracerd$newline/tmp/dftracerd-$uid}
    case $runtime_dirs in -*) runtime_dirs=./$runtime_dirs ;; esac # for find
}

# Becomes find, which prints those of the directories that no other user can write to.
own_directories() {
    exec find "$@" -prune -type d -user "$uid" ! -perm -020 ! -perm -002 2>/dev/null
}

# Returns whether the daemon with this list of roots serves all of $needs; $fit: the longer the roots, the better.
serves_needs() {
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

# $socket of the best daemon. A list may have been left by one that was killed: then it is among $dead.
dead='' socket=''
find_socket() {
    best=-1 socket=
    # shellcheck disable=SC2086 # a line each
    for place in $(own_directories $runtime_dirs); do
        set +f
        for list in "$place"/*.roots; do
            case $dead in *"$list"*) continue ;; esac
            serves_needs "$list" && [ -r "$list" ] && [ "$fit" -gt "$best" ] && best=$fit socket=${list%.roots}.sock
        done
        set -f
    done
    [ "$best" -ge 0 ]
}

# label_root DIRECTORY LINES: $root, the directory with a label if there are several.
label_root() {
    root=$1
    [ "${2#*"$newline"}" = '' ] || root=$(printf '%s' "${1#/}" | tr '/=' '__')=$1
}

# Starts one for $needs, or has a running one serve them, too (--join): 0, 75 when another one has the index, 1; $said: why.
# Its roots must not lie in each other.
start_daemon() {
    [ "$command" != requests ] || die "no daemon of yours serves this directory"
    [ -z "$missing" ] || die "no such file: $missing"
    find_daemon ||
        die "no daemon of yours serves this directory, and no dftracerd program was found to start one: see dftracerctl --help"
    roots=
    for need in $needs; do
        for other in $needs; do
            case $need in "${other%/}"/?*) continue 2 ;; esac
        done
        roots=$roots$need$newline
    done
    set -- --config /dev/null --no-tcp --on-demand --background --join --log-level error
    for place in $runtime_dirs; do # an empty directory, for what needs a daemon but no traces
        [ -z "$roots" ] || break
        mkdir -m 700 -- "$place" 2>/dev/null
        [ -n "$(own_directories "$place")" ] || continue
        mkdir -m 700 -- "$place/none" 2>/dev/null
        escape "$place/none"
        roots=$escaped
    done
    for need in $roots; do
        need=$(printf '%b.' "$(printf '%s\n' "$need" | sed 's/\\"/"/g')")
        label_root "${need%.}" "$roots"
        set -- "$@" --directory "$root"
    done
    [ -z "$index_dir" ] || set -- "$@" --index-base "$index_dir"
    [ -z "$threads" ] || set -- "$@" --executor-threads "$threads"
    said=$(unset DFTRACERD_UNIX && "$program" "$@" --idle-exit "${DFTRACERD_IDLE_EXIT:-10m}" 2>&1 >/dev/null </dev/null) && started=yes
}

# $socket of a daemon for $needs. Of two clients that start one at once, the other one's serves for both.
tries=0 reached='' started=''
reach_daemon() {
    until find_socket; do
        start_daemon
        case $? in
        0) tries=$((tries + 5)) said="it exited before the first request, or its socket cannot be reached (DFTRACERD_IDLE_EXIT=${DFTRACERD_IDLE_EXIT:-10m})" ;;
        75) sleep 1 ;;
        *) tries=99 said=${said:-"$program ended with an error and printed no reason"} ;;
        esac
        [ "$tries" -lt 15 ] || die "cannot start a daemon: ${said#dftracerd: }"
        tries=$((tries + 1))
        dead=
    done
    reached=yes
}
