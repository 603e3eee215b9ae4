
# ---- the command line --------------------------------------------------------------------------------------

command='' url='' old_name=''
case ${0##*/} in dftracer_*) command=${0##*/dftracer_} old_name=yes ;; esac
# find_command NAME: $command and its $operands. Hyphens may be underscores.
find_command() {
    command=$1
    while [ "${command#*-}" != "$command" ]; do
        command=${command%%-*}_${command#*-}
    done
    case $command in *[!a-z_]*) command=' ' ;; esac # no pattern
    for line in $commands; do
        case $line in
        "$command "*)
            operands=${line#"$command"}
            operands=${operands%%  *}
            operands=${operands# }
            return ;;
        esac
    done
    command=
    usage_error "unknown command $1"
}
while [ -z "$command" ]; do
    case ${1-},$# in --url,1 | --unix-socket,1) usage_error "$1 requires an argument" ;; esac
    case ${1-} in
    --url) url=$2; shift 2 ;;
    --unix-socket) socket=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --version) version ;;
    --words) # for completion and the manual
        [ -n "${2-}" ] || { printf '%s\n' "$commands" | sed 's/ .*//' && exit 0; }
        find_command "$2"
        load_rows
        printf '%s' "$rows"
        exit 0 ;;
    '') usage >&2; exit 2 ;;
    -*) usage_error "unknown option $1; options of a command follow it" ;;
    *) command=$1; shift ;;
    esac
done
find_command "$command"
case $command in
dlio_compare)
    find_program dftracerd-dlio-compare || die "no dftracerd-dlio-compare program found: it is built where libyaml is installed"
    exec "$program" "$@" ;;
gen_fake_trace)
    find_program gen-fake-trace || die "no gen-fake-trace program was found next to this program or in \$PATH"
    exec "$program" "$@" ;;
server)
    [ -z "${DFTRACERD:-}" ] && find_program dftracer_server || find_daemon || die "no dftracerd program found"
    exec "$program" "$@" ;;
esac
load_rows

detail='' metadata='' format='' recursive='' recipe='' save='' output='' check='' verify='' force='' index_dir='' threads='' wait=fresh
compress='' level='' config='' fail_on='' color='' inputs='' pattern='' trace='' text_file='' brief='' directory='' chunk_size=''
gzip_only='' delete='' members='' build='' file='' event_format='' passed='' aside='' facts='' request='' app=app start=-1 end=-1 mode=bytes
directories='' config_file='' # of doctor

parse_operand() {
    case ${following:+more}$operands in
    more*) apply_option "$following" "$1" ;;
    FILE)
        [ -z "$where" ] || usage_error "unexpected argument $1"
        file=$1
        add_file "$1" ;;
    INPUT*) # seen when --pattern and -r are known
        is_path "$1" || die "no such file or directory: $1"
        inputs=$inputs$1$newline ;;
    PATH*) # and then parameters. curl would read a file for a name with an @
        [ -n "$request" ] || { request=/${1#/} && return; }
        name=${1%%=*}
        [ "$name" != "$1" ] || name=
        case $name in '' | *[!A-Za-z0-9_.-]*) usage_error "$1: expected NAME=VALUE" ;; esac
        add "$name" "${1#*=}" ;;
    *) usage_error "unexpected argument $1" ;;
    esac
}

# apply_option ACTION VALUE: what the table says of an option.
apply_option() {
    name=${1#*:}
    case $1 in
    field:*=*) add "${name%%=*}" "${name#*=}" ;;
    field:*) add "$name" "$2" ;;
    list:*) eval "list_$name=\${list_$name:+\$list_$name,}\$2" ;;
    lines:*) eval "$name=\$$name\$2\$newline" ;;
    side:*) add_side "$name" "$2" ;;
    pass:*) passed=$passed--$name$([ "$argument" = - ] || printf '=%s' "$2")$newline ;;
    set:*=*) eval "$name" ;;
    set:*) eval "$name=\$2" ;;
    call:*) "$name" "$2" ;;
    esac
}

# parse_option NAME [VALUE] ...: $taken arguments are used up. $following: the action of further values.
parse_option() {
    row=
    for line in $rows; do
        case $line in "$1 "* | "- $1 "* | -?" $1 "*) row=${line#* -} && break ;; esac
    done
    argument=${row#* }
    action=${argument#* }
    argument=${argument%% *}
    action=${action%% *}
    taken=2 following=
    case $argument in
    '') usage_error "unknown option $1" ;;
    -) taken=1 ;;
    '['*) # the value may be left out
        case ${2-} in true | false) ;; *) set -- "$1" true && taken=1 ;; esac ;;
    *)
        [ $# -ge 2 ] || usage_error "$1 requires an argument"
        case $argument in *...) following=$action ;; esac ;;
    esac
    case $action,${2-} in set:directory, | lines:directories,) die "no such directory: " ;; esac
    case $argument,${2-} in
    COUNT,0 | BYTES,0) die "$1 must not be 0" ;;
    N,-1) ;;
    N, | COUNT, | N,*[!0-9]* | COUNT,*[!0-9]*) usage_error "$1 ${2-}: not a number" ;;
    -,*) set -- "$1" '' ;;
    esac
    apply_option "$action" "$2"
}

literal='' following=''
while [ $# -gt 0 ]; do
    case $literal$1 in
    --) literal=yes; shift ;;
    --*=*)
        option=${1%%=*} value=${1#*=}
        shift
        set -- "$option" "$value" "$@" ;;
    -?*) parse_option "$@"; shift "$taken" ;;
    *) parse_operand "$1"; shift ;;
    esac
done
