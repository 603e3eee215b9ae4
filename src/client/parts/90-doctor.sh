
# ---- doctor ------------------------------------------------------------------------------------------------

# note ok|warn|FAIL TEXT [REMEDY]: what is not ok has a remedy. A FAIL makes the exit status 1.
note() {
    printf '%-5s %s\n' "$1" "$2"
    [ -z "${3-}" ] || printf '      -> %s\n' "$3"
}

# The type of the file system that a path is on, where stat(1) prints it.
system_of() {
    stat -f -c %T -- "$1" 2>/dev/null || printf 'a file system of unknown type'
}

examine_versions() {
    found=$(curl -q --version | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    if [ "$((${found% *} * 1000 + ${found#* }))" -ge 7061 ]; then
        note ok "curl ${found% *}.${found#* }"
    else
        note FAIL "curl ${found:-of unknown version}: this program requires 7.61 or later" "install a newer curl and put it first in \$PATH"
    fi
    for tool in tar gzip; do
        command -v "$tool" >/dev/null || note FAIL "$tool not found" "install $tool: commands that write several files require it"
    done
    program=${DFTRACERD:-}
    if [ -z "$program" ] && ! find_program dftracerd; then
        program=
        note warn "no dftracerd next to this program or in \$PATH" "install it, or set \$DFTRACERD to its path: without it, the client can only use a running daemon"
    elif [ "$("$program" --version 2>/dev/null | sed -n 1p)" = 'dftracerd @VERSION@' ]; then
        note ok "dftracerd @VERSION@ at $program"
    else
        note FAIL "$program is not dftracerd @VERSION@, the version of this program" "install both from the same package"
    fi
}

examine_limits() {
    # shellcheck disable=SC3045 # where a shell has no -H or -v, it is as if there were no limit
    files=$(ulimit -Hn 2>/dev/null || ulimit -n) space=$(ulimit -v 2>/dev/null) size=$(ulimit -f)
    case $files in
    unlimited | [0-9][0-9][0-9][0-9]*) note ok "open files: at most $files" ;;
    *) note FAIL "open files: at most $files" "raise the limit (ulimit -Hn, limits.conf, LimitNOFILE= of the unit): further connections are refused" ;;
    esac
    case ${space:-unlimited} in
    unlimited) note ok "address space: no limit" ;;
    *) note warn "address space: at most $((space / 1024)) MiB" "ulimit -v unlimited: the index is mapped into memory and cannot grow beyond this limit" ;;
    esac
    [ "$size" = unlimited ] || note warn "file size: at most $size blocks of 512 bytes" "ulimit -f unlimited: the index is one large file"
}

# find_traces [ACTION...]: with what is below $path, and is or may contain a trace.
find_traces() {
    find "$path" \( -type d -o -type f \( -name '*.pfw' -o -name '*.pfw.gz' \) \) "$@" 2>/dev/null
}

examine_directory() {
    user=$(id -un 2>/dev/null || id -u)
    if ! [ -d "$1/" ]; then
        note FAIL "$1: no such directory, or a directory above it cannot be entered" "select the directory of your traces with -d"
        return
    elif ! [ -x "$1/" ]; then
        note FAIL "$1: cannot be entered by $user" "change its permissions (chmod, setfacl), or run as a user of its group"
        return
    fi
    add_directory "$1"
    needed=$needed$path$newline
    # shellcheck disable=SC2016 # it is for another shell
    lost=$(find_traces -exec sh -c 'for f; do [ -r "$f" ] && { [ -x "$f" ] || [ -f "$f" ]; } || printf "%s\n" "$f"; done' - {} +)
    count=$(find_traces -type f | wc -l)
    if [ -n "$lost" ]; then
        note FAIL "$1: $(($(printf '%s\n' "$lost" | wc -l))) files or directories cannot be read by $user: ${lost%%"$newline"*}" \
            "change their permissions (chmod, setfacl), or run as a user of their group"
    elif [ "$count" -eq 0 ]; then
        note warn "$1: no trace files (.pfw, .pfw.gz)" "check that the tracer was enabled and wrote to this directory"
    else
        note ok "$1: $((count)) trace files, all readable"
    fi
    kind=$(system_of "$path")
    case $kind in nfs* | lustre* | gpfs | cifs | smb* | fuse* | ceph | beegfs | panfs | afs | 9p | v9fs)
        note ok "$1 is on $kind: changes made on other hosts are found by directory scans (interval: --rescan)" ;;
    esac
    # Watches are for speed only: walks of the directories find everything.
    below=$(find_traces -type d | wc -l)
    if read -r most 2>/dev/null </proc/sys/fs/inotify/max_user_watches && [ "$below" -gt "$((most / 2))" ]; then
        note warn "$((below)) directories, but all your programs together can watch at most $most" "sysctl fs.inotify.max_user_watches=$((below * 4)); else changes are found by directory scans only"
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
        note ok "configuration, directories and index directory are valid"
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
    note FAIL "${said:-dftracerd --check fails}" "$remedy"
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
        note ok "index: $place on $(system_of "$disk/"), $free MiB free"
    else
        note warn "index: $place has $free MiB free, the traces are $size MiB" "use --index-dir on a larger local disk, or --max-index-size: indexing stops when the disk is full"
    fi
}

examine_runtime_directories() {
    for place in $places; do
        if [ -n "$(ours "$place")" ]; then
            note ok "runtime directory: $place"
        elif [ -e "$place" ] || [ -L "$place" ]; then
            note FAIL "$place is not a directory that only you can write to: the client ignores it" "delete it, chmod 700 it, or set \$DFTRACERD_RUNTIME_DIR"
        fi
    done
}

examine_daemon() {
    facts=$(call metrics '' -m 10 -w '%{http_code}')
    code=${facts##*"$newline"} refused="set \$DFTRACERD_TOKEN, or have the administrator add an allow-user line to its configuration"
    case $code in
    200) ;;
    403) # --enforce-file-permissions keeps /metrics for admins
        [ "$(call info '' -m 10 -o /dev/null -w '%{http_code}')" != 200 ] || { note ok "${socket:-$url} answers" && return; }
        note FAIL "${socket:-$url} does not serve you ($code)" "$refused" && return ;;
    401 | 421) note FAIL "${socket:-$url} does not serve you ($code)" "$refused" && return ;;
    *) call healthz '' -m 10 -o /dev/null
        code=$? remedy="check the address, and the log of the daemon there"
        case $code in 5 | 6 | 7) remedy="systemctl status dftracerd; or leave out the address: the client then starts a daemon" ;; esac
        note FAIL "$(no_answer "$code")" "$remedy" && return ;;
    esac
    case $facts in
    *'version="@VERSION@"'*) note ok "${socket:-$url} answers: dftracerd @VERSION@" ;;
    *) note warn "${socket:-$url} answers, but is not dftracerd @VERSION@, the version of this program" "restart the daemon after an upgrade" ;;
    esac
    # Who sees only some files is not told the directory of the index.
    printf '%s\n' "$facts" | place=$(call info '' -m 10 | index_path) why=$(call readyz '' -m 10 | sed -n 's/.*"error":"\([^"]*\)".*/: \1/p') awk '
        function note(kind, text, remedy) { printf "%-5s %s\n%s", kind, text, remedy ? "      -> " remedy "\n" : "" }
        function range(host) { return begin[host] == last[host] ? last[host] : begin[host] "-" last[host] }
        { value[substr($0, 1, length - length($NF) - 1)] = $NF; split($0, label, /="|",?/) }
        /^dftracerd_directory_info/ { served = served (count++ ? ", " : "") label[2] }
        # The hosts of a daemon that is a job of several processes, and which of its ranks each has: node1 (0-3), node2 (4-7).
        /^dftracerd_rank_files/ {
            rank = label[2]; host = label[4]; ranks++
            if (!(host in last)) { order[++hosts] = host; begin[host] = rank; last[host] = rank - 1 }
            if (rank != last[host] + 1) { list[host] = list[host] range(host) ","; begin[host] = rank }
            last[host] = rank
        }
        END {
            if (ENVIRON["place"]) note("ok", "its index: " ENVIRON["place"] ", " int(value["dftracerd_index_store_bytes"] / 1048576) " MiB")
            if (count > 1) note("ok", "it serves " count " directories: " served)
            for (i = 1; i <= hosts; i++) text = text (i > 1 ? ", " : ": ") order[i] " (" list[order[i]] range(order[i]) ")"
            if (ranks) note("ok", "it has " ranks " ranks" text)
            if (value["dftracerd_index_stopped"] == 1)
                note("FAIL", "it has stopped indexing" ENVIRON["why"], "free disk space for its index, or see its log; it resumes by itself when there is space")
            else if (value["dftracerd_index_ready"] == 1)
                note("ok", "all files found are indexed")
            else
                note("warn", "it is indexing: " value["dftracerd_index_pending_files"] " files are pending", "dftracerctl index waits until they are indexed")
            if (n = value["dftracerd_index_unreadable_directories"] + 0)
                note("warn", "it cannot read " n " directories: answers may lack their files", "its log names them (directory_unreadable); change their permissions, or check the file server")
            if (n = value["dftracerd_index_files{state=\"failed\"}"] + 0)
                note("FAIL", n " files could not be indexed", "dftracerctl info -v lists them with the reasons")
            if (n = value["dftracerd_index_bad_input{kind=\"damaged_files\"}"] + 0)
                note("warn", n " files are corrupt; their readable parts are indexed", "dftracerctl info -v lists them with the positions")
            if (value["process_open_fds"] * 5 > value["process_max_fds"] * 4)
                note("warn", value["process_open_fds"] " of " value["process_max_fds"] " files are open", "raise LimitNOFILE= of its unit, or use fewer connections")
        }'
}

examine() {
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
        note ok "no daemon of yours serves this directory; the first command starts one"
    fi
}

examine | awk '{ print } /^FAIL / { ills++ } /^warn / { odds++ } END { printf "%d errors, %d warnings\n", ills, odds; exit (ills > 0) }'
