#!/bin/sh
# dftracerctl - the dftracer_* commands, as requests to a dftracerd. POSIX sh around curl (7.61 or later) and tar.
# Also installed under the names of those commands: dftracer_info is `dftracerctl info`.
set -uf
export LC_ALL=C
unset CDPATH
newline='
'
IFS=$newline # and no globbing: a list is a text of lines

# $commands: a line each. load_rows: $rows are the options of $command: short, long, argument, action, help.
@OPTIONS@

usage() {
    printf 'Usage: dftracerctl COMMAND [OPTION]...\n\nCommands; most are also installed as dftracer_COMMAND:\n'
    # shellcheck disable=SC2086 # a line each
    printf '  %s\n' $commands
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

help() {
    printf 'Usage: dftracerctl %s [OPTION]...%s\n' "$command" "${operands:+ $operands}"
    printf '%s' "$rows" | awk '
        $4 == "none" { ignored = ignored ($1 == "-" ? "" : " " $1) " " $2; next }
        {
            names = ($1 == "-" ? "    " : $1 ", ") $2 ($3 == "-" ? "" : " " $3)
            if (length(names) > 28) names = names sprintf("\n%30s", "")
            printf "  %-28s %s\n", names, substr($0, length($1 $2 $3 $4) + 5)
        }
        END {
            fflush()
            if (ignored) print "Accepted, but without effect:" ignored | "fold -s -w 110"
        }'
    exit 0
}

version() {
    printf 'dftracerctl @VERSION@\n'
    exit 0
}

die() {
    printf 'dftracerctl: %s\n' "$1" >&2
    exit 1
}

usage_error() {
    printf 'dftracerctl: %s\nTry: dftracerctl %s--help\n' "$1" "${command:+$command }" >&2
    exit 2
}
