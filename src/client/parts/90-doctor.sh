
# ---- doctor ------------------------------------------------------------------------------------------------

# note ok|warn|FAIL TEXT [REMEDY]: as dftracerd --doctor and /checks print it. A FAIL makes the exit status 1.
note() {
    printf '%-5s %s\n' "$1" "$2"
    [ -z "${3-}" ] || printf '      -> %s\n' "$3"
}

# $program is the daemon's, if there is one of this version.
examine_programs() {
    found=$(curl -q --version | sed -n '1s/^curl \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    if [ "$((${found% *} * 1000 + ${found#* }))" -ge 7061 ]; then
        note ok "curl ${found% *}.${found#* }"
    else
        note FAIL "curl ${found:-of unknown version}: this program requires 7.61 or later" \
            "install a newer curl and put it first in \$PATH"
    fi
    for tool in tar gzip; do
        command -v "$tool" >/dev/null ||
            note FAIL "$tool not found" "install $tool: commands that write several files require it"
    done
    if ! find_daemon; then
        note warn "no dftracerd next to this program or in \$PATH" \
            "install it, or set \$DFTRACERD to its path: without it, the client can only use a running daemon"
    elif [ "$("$program" --version 2>/dev/null | sed -n 1p)" = 'dftracerd @VERSION@' ]; then
        note ok "dftracerd @VERSION@ at $program"
        return
    else
        note FAIL "$program is not dftracerd @VERSION@, the version of this program" \
            "install both from the same package"
    fi
    program=
}

examine_daemon() {
    at=${socket:-$url}
    facts=$(run_curl checks '' -m 10 -H 'Accept: text/plain' -w '\n%{http_code}')
    failure=$?
    case $failure,${facts##*"$newline"},$facts in
    0,200,"dftracerd @VERSION@$newline"*) note ok "$at answers: dftracerd @VERSION@" ;;
    0,200,* | 0,404,*)
        note warn "$at answers, but is not dftracerd @VERSION@, the version of this program" \
            "restart the daemon after an upgrade" ;;
    0,*)
        note FAIL "$at does not serve you (${facts##*"$newline"})" \
            "set \$DFTRACERD_TOKEN, or have the administrator add an allow-user line to its configuration" ;;
    [567],*)
        note FAIL "$(failure_text "$failure")" \
            "systemctl status dftracerd; or leave out the address: the client then starts a daemon" ;;
    *) note FAIL "$(failure_text "$failure")" "check the address, and the log of the daemon there" ;;
    esac
    case $facts in *"${newline}200") printf '%s\n' "$facts" | sed -e 1d -e '/^$/,$d' ;; esac
}

# The daemon's program examines what a daemon would need here, and a running daemon examines itself.
examine() {
    examine_programs
    [ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
    [ -n "$directories$url$socket" ] || directories=$PWD$newline
    set -- --doctor --log-level off
    [ -z "$config_file" ] || set -- "$@" --config "$config_file"
    [ -z "$index_dir" ] || set -- "$@" --index-base "$index_dir"
    for name in $directories; do
        label_root "$name" "$directories"
        set -- "$@" --directory "$root"
        ! [ -x "$name/" ] || add_directory "$name"
    done
    [ -z "$directories" ] || [ -z "$program" ] || DFTRACERD_URL=$url$socket "$program" "$@"
    if [ -z "$url$socket" ]; then
        find_runtime_dirs
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

examine | awk '{ print } /^FAIL / { ills++ } /^warn / { odds++ }
    END { printf "%d errors, %d warnings\n", ills, odds; exit (ills > 0) }'
