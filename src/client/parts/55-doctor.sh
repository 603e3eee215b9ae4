# ---- doctor ------------------------------------------------------------------------------------------------

# well TEXT, odd TEXT WHAT_TO_DO, ill TEXT WHAT_TO_DO: a line each; what is ill makes the exit status 1.
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

directories='' config_file=''
add_examined() {
    directories=$directories$1$newline
}

# The type of the file system that a path is on, where stat(1) can tell.
system_of() {
    stat -f -c %T -- "$1" 2>/dev/null || printf 'a file system of unknown type'
}

is_remote() {
    case $1 in
    nfs* | lustre* | gpfs | cifs | smb* | fuse* | ceph | beegfs | panfs | afs | 9p | v9fs) ;;
    *) false ;;
    esac
}

examine_versions() {
    found=$(curl -q --version | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    major=${found% *} minor=${found#* }
    if [ "${major:-0}" -gt 7 ] || { [ "${major:-0}" = 7 ] && [ "${minor:-0}" -ge 61 ]; }; then
        well "curl $major.$minor"
    else
        ill "curl ${found:-of unknown version}: this program needs 7.61" "install a newer curl, and put it first in \$PATH"
    fi
    for tool in tar gzip; do
        command -v "$tool" >/dev/null && continue
        ill "there is no $tool" "install $tool: commands that write several files need it"
    done
    program=${DFTRACERD:-}
    if [ -z "$program" ] && ! find_program dftracerd; then
        program=
        odd "no dftracerd beside this program or in \$PATH" "install it, or name it in \$DFTRACERD: without it only a daemon that runs can be asked"
    elif [ "$("$program" --version 2>/dev/null | sed -n 1p)" = 'dftracerd @VERSION@' ]; then
        well "dftracerd @VERSION@ at $program"
    else
        ill "$program does not say that it is dftracerd @VERSION@, as this program is" "install both from the same package"
    fi
}

examine_limits() {
    # shellcheck disable=SC3045 # where a shell has no -H or -v, it is as if there were no limit
    files=$(ulimit -Hn 2>/dev/null || ulimit -n) space=$(ulimit -v 2>/dev/null) size=$(ulimit -f)
    case $files in
    unlimited | [0-9][0-9][0-9][0-9]*) well "open files: at most $files" ;;
    *) ill "open files: at most $files" "raise it (ulimit -Hn, limits.conf, LimitNOFILE= of the unit): connections beyond it are refused" ;;
    esac
    case ${space:-unlimited} in
    unlimited) well "address space: no limit" ;;
    *) odd "address space: at most $((space / 1024)) MiB" "ulimit -v unlimited: the index is mapped into memory, and grows no further than that" ;;
    esac
    [ "$size" = unlimited ] || odd "files: at most $size blocks of 512 bytes" "ulimit -f unlimited: the index is one file"
}

# Watches are for speed only: walks of the directories find everything.
examine_watches() {
    read -r most 2>/dev/null </proc/sys/fs/inotify/max_user_watches || return 0
    [ "$1" -gt "$((most / 2))" ] || return 0
    odd "$1 directories, and at most $most can be watched by all your programs" "sysctl fs.inotify.max_user_watches=$(($1 * 4)); else changes are noticed by walks only"
}

# What is below a directory and cannot be read, three of them.
unreadable() {
    find "$1" -type d -exec sh -c 'for f; do [ -r "$f" ] && [ -x "$f" ] || printf "%s\n" "$f"; done' - {} + 2>/dev/null
    find "$1" -type f \( -name '*.pfw' -o -name '*.pfw.gz' \) -exec sh -c 'for f; do [ -r "$f" ] || printf "%s\n" "$f"; done' - {} + 2>/dev/null
}

examine_directory() {
    if ! [ -d "$1/" ]; then
        ill "$1: no such directory, or below one that cannot be entered" "name the directory of your traces with -d"
        return
    elif ! [ -x "$1/" ]; then
        ill "$1: cannot be entered by $(id -un 2>/dev/null || id -u)" "chmod or setfacl it, or run as a user of its group"
        return
    fi
    add_directory "$1"
    needed=$needed$path$newline
    lost=$(unreadable "$path")
    count=$(find "$path" -type f \( -name '*.pfw' -o -name '*.pfw.gz' \) 2>/dev/null | wc -l | tr -d ' ')
    if [ -n "$lost" ]; then
        ill "$1: $(printf '%s\n' "$lost" | wc -l | tr -d ' ') files or directories cannot be read by $(id -un 2>/dev/null || id -u): $(printf '%s\n' "$lost" | sed -n '1p')" \
            "chmod or setfacl them, or run as a user of their group"
    elif [ "$count" = 0 ]; then
        odd "$1: no trace files (.pfw, .pfw.gz)" "see whether the tracer was on, and wrote there"
    else
        well "$1: $count trace files, all readable"
    fi
    kind=$(system_of "$path")
    ! is_remote "$kind" || well "$1 is on $kind: changes made elsewhere are found by walks, --rescan says how often"
    examine_watches "$(find "$path" -type d 2>/dev/null | wc -l)"
}

# The daemon itself judges its options, the token file and the place of the index.
examine_configuration() {
    [ -n "$program" ] || return 0
    set -- --print-config
    [ -z "$config_file" ] || set -- "$@" --config "$config_file"
    [ -z "$index_dir" ] || set -- "$@" --index-dir "$index_dir"
    for name in $needed; do # labels as start_daemon has them
        label=
        [ "${needed#*"$newline"}" = '' ] || label=$(printf '%s' "${name#/}" | tr '/=' '__')=
        set -- "$@" --directory "$label$name"
    done
    if said=$("$program" "$@" 2>&1); then
        place=$(printf '%s\n' "$said" | sed -n 's/^# index: //p')
        well "configuration, directories and the place of the index are as dftracerd needs them"
        [ -n "$url$socket" ] || examine_place # else that daemon says where its index is
    else
        said=$(printf '%s\n' "$said" | sed -n 's/^dftracerd: //p' | sed -n 1p)
        case $said in
        *'beyond loopback'*) ill "$said" "--token-file with --tls-cert and --tls-key; or no --bind, and an ssh tunnel" ;;
        *'read by others'* | *'chown it'*) ill "$said" "give it to the daemon's user, and chmod 600: it is a secret" ;;
        *'holds no token'* | *'a token has'*) ill "$said" "remove it: the daemon makes one that is good" ;;
        *'cannot make the'*token*) ill "$said" "name a file in a directory that is there, and that the daemon's user can write to" ;;
        *'index needs a local'* | *'for the index'*) ill "$said" "--index-dir (or \$DFTRACERD_INDEX_DIR): a directory on a local disk that is yours alone" ;;
        *belongs\ to* | *'by other users'*) ill "$said" "remove it, or chmod 700; another place: --index-dir" ;;
        *) ill "${said:-dftracerd --check fails}" "dftracerd --check says this, too; see dftracerd.conf(5)" ;;
        esac
    fi
}

# An index takes about as much as packed traces.
examine_place() {
    where=$place # perhaps not there yet
    until [ -e "$where" ] || [ -z "$where" ]; do
        where=${where%/*}
    done
    where=${where:-/}
    free=$(df -Pk -- "$where" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
    size=0
    for name in $needed; do
        kib=$(kib_of "$name")
        size=$((size + ${kib:-0} / 1024))
    done
    if [ "${free:-0}" -gt "$size" ]; then
        well "index: $place on $(system_of "$where"), $free MiB free"
    else
        odd "index: $place has $free MiB free, the traces are $size MiB" "--index-dir on a larger local disk, or --max-index-size: on a full disk indexing stops"
    fi
}

examine_meeting() {
    for place in $places; do
        [ -e "$place" ] || [ -L "$place" ] || continue
        if is_ours "$place"; then
            well "daemons are met in $place"
        else
            ill "$place is not a directory that only you can write to: daemons are not looked for there" "remove it, chmod 700 it, or set \$DFTRACERD_RUNTIME_DIR"
        fi
    done
}

# measure NAME: a number of the daemon's /metrics.
measure() {
    printf '%s\n' "$facts" | sed -n "s/^$1 \\([0-9]*\\).*/\\1/p"
}

examine_daemon() {
    facts=$(call metrics '' -m 10 -w '%{http_code}')
    code=${facts##*"$newline"}
    case $code in
    200) ;;
    403) facts=$(call info '' -m 10 -o /dev/null -w '%{http_code}') # --enforce-file-permissions keeps /metrics for admins
        [ "$facts" = 200 ] && well "${socket:-$url} answers" && return
        ill "${socket:-$url} does not serve you ($code)" "set \$DFTRACERD_TOKEN, or have an allow-user line put into its configuration" && return ;;
    401 | 421) ill "${socket:-$url} does not serve you ($code)" "set \$DFTRACERD_TOKEN, or have an allow-user line put into its configuration" && return ;;
    *) call healthz '' -m 10 -o /dev/null
        code=$?
        case $code in
        5 | 6 | 7) remedy="systemctl status dftracerd; or leave out the address: one is started for you" ;;
        *) remedy="see the address, and the log of the daemon there" ;;
        esac
        ill "$(no_answer "$code")" "$remedy" && return ;;
    esac
    case $facts in
    *'version="@VERSION@"'*) well "${socket:-$url} answers, it is a dftracerd @VERSION@" ;;
    *) odd "${socket:-$url} answers, but is not a dftracerd @VERSION@, as this program is" "restart it after an upgrade" ;;
    esac
    place=$(call info '' -m 10 | sed -n 's/.*"index":{"path":"\([^"]*\)".*/\1/p') # who sees only some files is not told
    if [ -n "$place" ]; then
        well "its index: $place, $(($(measure dftracerd_index_store_bytes) / 1048576)) MiB"
    fi
    if [ "$(measure dftracerd_index_stopped)" = 1 ]; then
        why=$(call readyz '' -m 10 | sed -n 's/.*"error":"\([^"]*\)".*/\1/p')
        ill "it has stopped indexing${why:+: $why}" "make room for its index, or see its log. It goes on by itself when there is room"
    fi
    failed=$(measure 'dftracerd_index_files{state="failed"}') damaged=$(measure 'dftracerd_index_bad_input{kind="damaged_files"}')
    closed=$(measure dftracerd_index_unreadable_directories)
    if [ "${closed:-0}" != 0 ]; then
        odd "it cannot read $closed directories: answers may lack what is below them" "its log names them (directory_unreadable); chmod or setfacl them, or see the file server"
    fi
    if [ "${failed:-0}" != 0 ]; then
        ill "$failed files could not be indexed" "dftracerctl info -v says which and why"
    fi
    if [ "${damaged:-0}" != 0 ]; then
        odd "$damaged files are damaged, and read as far as that is possible" "dftracerctl info -v says which and where"
    fi
    if [ "$(measure dftracerd_index_ready)" = 1 ]; then
        well "everything that it found is indexed"
    elif [ "$(measure dftracerd_index_stopped)" != 1 ]; then
        odd "it is indexing: $(measure dftracerd_index_pending_files) files wait" "dftracerctl index waits for it"
    fi
    if [ $(($(measure process_open_fds) * 5)) -gt $(($(measure process_max_fds) * 4)) ]; then
        odd "$(measure process_open_fds) of $(measure process_max_fds) files are open" "LimitNOFILE= of its unit, or less connections"
    fi
}

doctor() {
    needed=''
    uid=$(id -u)
    places=${DFTRACERD_RUNTIME_DIR:-${XDG_RUNTIME_DIR:-/run/user/$uid}/dftracerd$newline/tmp/dftracerd-$uid}
    [ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
    examine_versions
    examine_limits
    for name in $directories; do
        examine_directory "$name"
    done
    [ -n "$directories$url$socket" ] || examine_directory "$PWD"
    [ -z "$needed" ] || examine_configuration
    [ -n "$url$socket" ] || examine_meeting
    dead=''
    if [ -n "$url$socket" ] || find_socket; then
        [ -z "$socket" ] || url=http://localhost
        url=${url%/}
        examine_daemon
    else
        well "no daemon of yours serves this; the first command starts one"
    fi
    printf '%s to mend, %s to look at\n' "$ills" "$odds"
    [ "$ills" = 0 ]
}

