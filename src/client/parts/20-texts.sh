# ---- texts -------------------------------------------------------------------------------------------------

usage() {
    printf 'Usage: dftracerctl COMMAND [OPTION]...\n\nCommands, also installed as dftracer_COMMAND:\n'
    for line in $commands; do
        printf '  %s\n' "$line"
    done
    cat <<'TEXT'

The daemon is the one at --url, --unix-socket or $DFTRACERD_URL; else the one of yours that serves the directory; else
one is started for it, which indexes what it is asked for and ends when nobody asked for $DFTRACERD_IDLE_EXIT (10m).
It is $DFTRACERD, or the dftracerd beside this program or in $PATH. $DFTRACERD_TOKEN is sent as the token.
To https it shows the certificate in $DFTRACERD_CERT ($DFTRACERD_KEY); $CURL_CA_BUNDLE has the authorities that it knows.
Exit codes: 0 success, 1 failure, 2 wrong usage. `dftracerctl COMMAND --help` lists the options of a command.
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
        [ -z "$ignored" ] || printf 'Accepted without effect:%s\n' "$ignored" | fold -s -w 110
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

