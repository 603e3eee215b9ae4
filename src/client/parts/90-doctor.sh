
# ---- doctor ------------------------------------------------------------------------------------------------

# well TEXT, odd TEXT REMEDY, ill TEXT REMEDY: a line each; what is ill makes the exit status 1.
odds=0 ills=0
well() { printf 'ok    %s\n' "$1"; }
odd() {
    printf 'warn  %s\n      -> %s\n' "$1" "$2"
    odds=$((odds + 1))
}
ill() {
    printf 'FAIL  %s\n      -> %s\n' "$1" "$2"
    ills=$((ills + 1))
}

# The type of the file system that a path is on, where stat(1) prints it.
system_of() {
    stat -f -c %T -- "$1" 2>/dev/null || printf 'a file system of unknown type'
}

examine_versions() {
    found=$(curl -q --version | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    if [ "$((${found% *} * 1000 + ${found#* }))" -ge 7061 ]; then
        well "curl ${found% *}.${found#* }"
    else
        ill "curl ${found:-of unknown version}: this program requires 7.61 or later" "install a newer curl and put it first in \$PATH"
    fi
    for tool in tar gzip; do
        command -v "$tool" >/dev/null || ill "$tool not found" "install $tool: commands that write several files require it"
    done
    program=${DFTRACERD:-}
    if [ -z "$program" ] && ! find_program dftracerd; then
        program=
        odd "no dftracerd next to this program or in \$PATH" "install it, or set \$DFTRACERD to its path: without it, the client can only use a running daemon"
    elif [ "$("$program" --version 2>/dev/null | sed -n 1p)" = 'dftracerd @VERSION@' ]; then
        well "dftracerd @VERSION@ at $program"
    else
        ill "$program is not dftracerd @VERSION@, the version of this program" "install both from the same package"
    fi
}

examine_limits() {
    # shellcheck disable=SC3045 # where a shell has no -H or -v, it is as if there were no limit
    files=$(ulimit -Hn 2>/dev/null || ulimit -n) space=$(ulimit -v 2>/dev/null) size=$(ulimit -f)
    case $files in
    unlimited | [0-9][0-9][0-9][0-9]*) well "open files: at most $files" ;;
    *) ill "open files: at most $files" "raise the limit (ulimit -Hn, limits.conf, LimitNOFILE= of the unit): further connections are refused" ;;
    esac
    case ${space:-unlimited} in
    unlimited) well "address space: no limit" ;;
    *) odd "address space: at most $((space / 1024)) MiB" "ulimit -v unlimited: the index is mapped into memory and cannot grow beyond this limit" ;;
    esac
    [ "$size" = unlimited ] || odd "file size: at most $size blocks of 512 bytes" "ulimit -f unlimited: the index is one large file"
}

# find_traces [ACTION...]: with what is below $path, and is or may contain a trace.
find_traces() {
    find "$path" \( -type d -o -type f \( -name '*.pfw' -o -name '*.pfw.gz' \) \) "$@" 2>/dev/null
}

examine_directory() {
    user=$(id -un 2>/dev/null || id -u)
    if ! [ -d "$1/" ]; then
        ill "$1: no such directory, or a directory above it cannot be entered" "select the directory of your traces with -d"
        return
    elif ! [ -x "$1/" ]; then
        ill "$1: cannot be entered by $user" "change its permissions (chmod, setfacl), or run as a user of its group"
        return
    fi
    add_directory "$1"
    needed=$needed$path$newline
    # shellcheck disable=SC2016 # it is for another shell
    lost=$(find_traces -exec sh -c 'for f; do [ -r "$f" ] && { [ -x "$f" ] || [ -f "$f" ]; } || printf "%s\n" "$f"; done' - {} +)
    count=$(find_traces -type f | wc -l)
    if [ -n "$lost" ]; then
        ill "$1: $(($(printf '%s\n' "$lost" | wc -l))) files or directories cannot be read by $user: ${lost%%"$newline"*}" \
            "change their permissions (chmod, setfacl), or run as a user of their group"
    elif [ "$count" -eq 0 ]; then
        odd "$1: no trace files (.pfw, .pfw.gz)" "check that the tracer was enabled and wrote to this directory"
    else
        well "$1: $((count)) trace files, all readable"
    fi
    kind=$(system_of "$path")
    case $kind in nfs* | lustre* | gpfs | cifs | smb* | fuse* | ceph | beegfs | panfs | afs | 9p | v9fs)
        well "$1 is on $kind: changes made on other hosts are found by directory scans (interval: --rescan)" ;;
    esac
    # Watches are for speed only: walks of the directories find everything.
    below=$(find_traces -type d | wc -l)
    if read -r most 2>/dev/null </proc/sys/fs/inotify/max_user_watches && [ "$below" -gt "$((most / 2))" ]; then
        odd "$((below)) directories, but all your programs together can watch at most $most" "sysctl fs.inotify.max_user_watches=$((below * 4)); else changes are found by directory scans only"
    fi
}

# The daemon itself judges its options, the token file and the place of the index.
examine_configuration() {
    set -- --print-config
    [ -z "$config_file" ] || set -- "$@" --config "$config_file"
    [ -z "$index_dir" ] || set -- "$@" --index-base "$index_dir"
    for name in $needed; do
        labelled "$name" "$needed"
        set -- "$@" --directory "$root"
    done
    if said=$("$program" "$@" 2>&1); then
        place=$(printf '%s\n' "$said" | sed -n 's/^# index: //p')
        well "configuration, directories and index directory are valid"
        [ -n "$url$socket" ] || examine_place # else that daemon says where its index is
        return
    fi
    said=$(printf '%s\n' "$said" | sed -n 's/^dftracerd: //p' | sed -n 1p)
    case $said in
    *'beyond loopback'*) remedy="use --token-file with --tls-cert and --tls-key; or no --bind, and an ssh tunnel" ;;
    *'readable by other users'* | *'chown it'*) remedy="make the daemon's user its owner, and chmod 600: it is a secret" ;;
    *'contains no token'* | *'a token must'*) remedy="delete it: the daemon creates a new one" ;;
    *'cannot create the'*token*) remedy="choose a file in an existing directory that the daemon's user can write to" ;;
    *'index requires a local'* | *'for the index'*) remedy="use --index-dir (or \$DFTRACERD_INDEX_DIR): a directory on a local disk that only you can write to" ;;
    *belongs\ to* | *'by other users'*) remedy="delete it, or chmod 700; or choose another directory with --index-dir" ;;
    *) remedy="see dftracerd.conf(5); dftracerd --check repeats this check" ;;
    esac
    ill "${said:-dftracerd --check fails}" "$remedy"
}

# An index takes about as much as compressed traces. Its directory is perhaps not there yet.
examine_place() {
    disk=$place
    until [ -e "$disk/" ]; do
        disk=${disk%/*}
    done
    free=$(df -Pk -- "$disk/" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
    size=0
    for name in $needed; do
        kib=$(kib_of "$name")
        size=$((size + ${kib:-0} / 1024))
    done
    if [ "${free:-0}" -gt "$size" ]; then
        well "index: $place on $(system_of "$disk/"), $free MiB free"
    else
        odd "index: $place has $free MiB free, the traces are $size MiB" "use --index-dir on a larger local disk, or --max-index-size: indexing stops when the disk is full"
    fi
}

examine_runtime_directories() {
    for place in $places; do
        if [ -n "$(ours "$place")" ]; then
            well "runtime directory: $place"
        elif [ -e "$place" ] || [ -L "$place" ]; then
            ill "$place is not a directory that only you can write to: the client ignores it" "delete it, chmod 700 it, or set \$DFTRACERD_RUNTIME_DIR"
        fi
    done
}

# measure NAME: $measure, a number of the daemon's /metrics; false if it is 0 or not there.
measure() {
    measure=$(printf '%s\n' "$facts" | sed -n "s/^$1 \\([0-9]*\\).*/\\1/p")
    [ "${measure:-0}" -ne 0 ]
}

# The hosts of a daemon that is a job of several processes, and which of its ranks each has: node1 (0-3), node2 (4-7).
list_ranks() {
    printf '%s\n' "$facts" | sed -n 's/^dftracerd_rank_files{rank="\([0-9]*\)",host="\(.*\)"} [0-9]*$/\1 \2/p' | awk '
        function range(host) { return begin[host] == last[host] ? last[host] : begin[host] "-" last[host] }
        { rank = $1; host = substr($0, length(rank) + 2) }
        !(host in last) { order[++hosts] = host; begin[host] = rank; last[host] = rank - 1 }
        rank != last[host] + 1 { list[host] = list[host] range(host) ","; begin[host] = rank }
        { last[host] = rank }
        END {
            if (NR) printf "%d ranks", NR
            for (i = 1; i <= hosts; i++)
                printf "%s%s (%s)", (i > 1 ? ", " : ": "), order[i], list[order[i]] range(order[i])
        }'
}

examine_daemon() {
    facts=$(call metrics '' -m 10 -w '%{http_code}')
    code=${facts##*"$newline"} refused="set \$DFTRACERD_TOKEN, or have the administrator add an allow-user line to its configuration"
    case $code in
    200) ;;
    403) # --enforce-file-permissions keeps /metrics for admins
        [ "$(call info '' -m 10 -o /dev/null -w '%{http_code}')" != 200 ] || { well "${socket:-$url} answers" && return; }
        ill "${socket:-$url} does not serve you ($code)" "$refused" && return ;;
    401 | 421) ill "${socket:-$url} does not serve you ($code)" "$refused" && return ;;
    *) call healthz '' -m 10 -o /dev/null
        code=$? remedy="check the address, and the log of the daemon there"
        case $code in 5 | 6 | 7) remedy="systemctl status dftracerd; or leave out the address: the client then starts a daemon" ;; esac
        ill "$(no_answer "$code")" "$remedy" && return ;;
    esac
    case $facts in
    *'version="@VERSION@"'*) well "${socket:-$url} answers: dftracerd @VERSION@" ;;
    *) odd "${socket:-$url} answers, but is not dftracerd @VERSION@, the version of this program" "restart the daemon after an upgrade" ;;
    esac
    place=$(call info '' -m 10 | index_path) # who sees only some files is not told
    measure dftracerd_index_store_bytes
    [ -z "$place" ] || well "its index: $place, $((${measure:-0} / 1048576)) MiB"
    all=$(printf '%s\n' "$facts" | sed -n 's/^dftracerd_directory_info{directory="\(.*\)",index=".*"} 1$/\1/p')
    case $all in *"$newline"*) well "it serves $(printf '%s\n' "$all" | awk '{ list = list (NR > 1 ? ", " : "") $0 } END { print NR " directories: " list }')" ;; esac
    ranks=$(list_ranks)
    [ -z "$ranks" ] || well "it has $ranks"
    if measure dftracerd_index_stopped; then
        why=$(call readyz '' -m 10 | sed -n 's/.*"error":"\([^"]*\)".*/\1/p')
        ill "it has stopped indexing${why:+: $why}" "free disk space for its index, or see its log; it resumes by itself when there is space"
    elif measure dftracerd_index_ready; then
        well "all files found are indexed"
    else
        measure dftracerd_index_pending_files
        odd "it is indexing: $measure files are pending" "dftracerctl index waits until they are indexed"
    fi
    ! measure dftracerd_index_unreadable_directories ||
        odd "it cannot read $measure directories: answers may lack their files" "its log names them (directory_unreadable); change their permissions, or check the file server"
    ! measure 'dftracerd_index_files{state="failed"}' || ill "$measure files could not be indexed" "dftracerctl info -v lists them with the reasons"
    ! measure 'dftracerd_index_bad_input{kind="damaged_files"}' ||
        odd "$measure files are corrupt; their readable parts are indexed" "dftracerctl info -v lists them with the positions"
    measure process_max_fds
    most=${measure:-0}
    if measure process_open_fds && [ $((measure * 5)) -gt $((most * 4)) ]; then
        odd "$measure of $most files are open" "raise LimitNOFILE= of its unit, or use fewer connections"
    fi
}

doctor() {
    needed=''
    name_places
    [ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
    examine_versions
    examine_limits
    [ -n "$directories$url$socket" ] || directories=$PWD
    for name in $directories; do
        examine_directory "$name"
    done
    [ -z "$needed" ] || [ -z "$program" ] || examine_configuration
    if [ -z "$url$socket" ]; then
        examine_runtime_directories
        while find_socket && ! curl -qs -m 10 -o /dev/null --unix-socket "$socket" http://localhost/healthz; do
            dead=$dead${socket%.sock}.roots$newline
        done
    fi
    if [ -n "$url$socket" ]; then
        [ -z "$socket" ] || url=http://localhost
        url=${url%/}
        examine_daemon
    else
        well "no daemon of yours serves this directory; the first command starts one"
    fi
    printf '%s errors, %s warnings\n' "$ills" "$odds"
    [ "$ills" = 0 ]
}

doctor
