# ---- texts -------------------------------------------------------------------------------------------------

usage() {
    printf 'Usage: dftracerctl COMMAND [OPTION]...\n\nCommands; most are also installed as dftracer_COMMAND:\n'
    for line in $commands; do
        printf '  %s\n' "$line"
    done
    cat <<'TEXT'

`dftracerctl COMMAND --help` lists the options of a command.

The commands send requests to a daemon, dftracerd: the one at --url, --unix-socket or $DFTRACERD_URL; else your own
daemon that serves the directory; else a new one. The client starts it in the background; it indexes the selected files
only, and exits after $DFTRACERD_IDLE_EXIT (10m) without a request.

Environment: $DFTRACERD is the daemon program to start (default: the dftracerd next to this program or in $PATH).
$DFTRACERD_TOKEN is sent as bearer token. For https, $DFTRACERD_CERT and $DFTRACERD_KEY are the client certificate and
its key, and $CURL_CA_BUNDLE is a file with the trusted authorities.

Exit status: 0 success, 1 failure, 2 wrong usage, 3 regression found by comparator --fail-on.
TEXT
}

# rows: the command's lines of the table, without the commands.
rows() {
    for row in $options; do
        case ",${row%% *}," in
        *",$command,"*) printf '%s\n' "${row#* }" ;;
        esac
    done
}

help() {
    case $command in
    reader | tar) printf 'Usage: dftracer_%s [OPTION]... FILE\n' "$command" ;;
    get) printf 'Usage: dftracerctl get [OPTION]... PATH [NAME=VALUE]...\n' ;;
    processes | requests | doctor) printf 'Usage: dftracerctl %s [OPTION]...\n' "$command" ;;
    replay) printf 'Usage: dftracer_replay [OPTION]... INPUT...\n' ;;
    call_tree) printf 'Usage: dftracer_call_tree [OPTION]... INPUT...\n' ;;
    *) printf 'Usage: dftracer_%s [OPTION]...\n' "$command" ;;
    esac
    rows | {
        ignored=
        while IFS=' ' read -r short long argument action text; do
            if [ "$action" = none ]; then
                [ "$short" = - ] || ignored="$ignored $short"
                ignored="$ignored $long"
                continue
            fi
            [ "$short" != - ] && names="$short, $long" || names="    $long"
            [ "$argument" = - ] || names="$names $argument"
            [ ${#names} -le 28 ] || names="$names$newline$(printf '%30s' '')"
            printf '  %-28s %s\n' "$names" "$text"
        done
        [ -z "$ignored" ] || printf 'Accepted, but without effect:%s\n' "$ignored" | fold -s -w 110
    }
    exit 0
}

version() {
    printf 'dftracerctl @VERSION@\n'
    exit 0
}

# For completion and the manual: the commands, or the table of one.
words() {
    if [ -n "$command" ]; then
        rows
    else
        printf '%s\n' "$commands" | sed 's/ .*//'
    fi
}

die() {
    printf 'dftracerctl: %s\n' "$1" >&2
    exit 1
}

wrong() {
    printf 'dftracerctl: %s\nTry: dftracerctl %s --help\n' "$1" "$command" >&2
    exit 2
}

