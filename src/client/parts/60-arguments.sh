# ---- the command line --------------------------------------------------------------------------------------

command='' url='' socket='' reached='' started='' old_name=''
case ${0##*/} in
dftracer_*) command=${0##*/dftracer_} old_name=yes ;;
esac
while [ -z "$command" ]; do
    case ${1-} in
    --url | --unix-socket) [ $# -ge 2 ] || wrong "$1 requires an argument" ;;
    esac
    case ${1-} in
    --url) url=$2; shift 2 ;;
    --unix-socket) socket=$2; shift 2 ;;
    -h | --help) usage; exit 0 ;;
    --version) version ;;
    --words) command=$(printf %s "${2-}" | tr - _); words; exit 0 ;;
    '') usage >&2; exit 2 ;;
    *) command=$1; shift ;;
    esac
done
while [ "${command#*-}" != "$command" ]; do # event-count is event_count
    command=${command%%-*}_${command#*-}
done
case $newline$commands in
*"$newline$command "*) ;;
*) printf 'dftracerctl: unknown command %s\nTry: dftracerctl --help\n' "$command" >&2; exit 2 ;;
esac
if [ "$command" = dlio_compare ]; then
    find_program dftracerd-dlio-compare || die "no dftracerd-dlio-compare program found: it is built where libyaml is installed"
    exec "$program" "$@"
fi
if [ "$command" = gen_fake_trace ]; then
    find_program gen-fake-trace || die "no gen-fake-trace program was found next to this program or in \$PATH"
    exec "$program" "$@"
fi
if [ "$command" = server ]; then
    [ -n "${DFTRACERD:-}" ] || find_program dftracer_server || find_program dftracerd || die "no dftracerd program found"
    exec "${DFTRACERD:-$program}" "$@"
fi

detail='' metadata='' format='' recursive='' recipe='' save='' output='' check='' verify='' force='' index_dir='' threads='' wait=ready
compress='' level='' percentiles='' parents='' config='' fail_on='' color='' inputs='' pattern='' trace='' text_file='' analyze='' brief=''
directory='' chunk_size='' gzip_only='' delete='' drop='' members='' build='' file='' event_format='' passed=''
[ "$command" != aggregator ] || output=aggregated_output.json
literal=''
case $command in
reader | tar) operand=take_file ;;
call_tree | replay) operand=take_input ;;
get) operand=take_words ;;
*) operand=no_operand ;;
esac
take=$operand

no_operand() {
    wrong "unexpected argument $1"
}

take_file() {
    [ -z "$where" ] || no_operand "$1"
    file=$1
    add_file "$1"
}

# A path, then parameters. curl would read a file for a name with an @.
request=''
take_words() {
    case $request,${1%%=*} in
    ,*) request=${1#/} ;;
    *,*[!A-Za-z0-9_.-]* | *,) wrong "$1: expected NAME=VALUE" ;;
    *) case $1 in *=*) add "${1%%=*}" "${1#*=}" ;; *) wrong "$1: expected NAME=VALUE" ;; esac ;;
    esac
}

# Files and directories, looked at when --pattern and -r are known.
take_input() {
    is_there "$1" || die "no such file or directory: $1"
    inputs=$inputs$1$newline
}

# take_option NAME VALUE [...]: does what the table says; $taken arguments are used up.
take_option() {
    found=$(rows | while IFS=' ' read -r short long argument action _; do
        [ "$1" != "$short" ] && [ "$1" != "$long" ] || printf '%s %s\n' "$argument" "$action"
    done)
    argument=${found%% *}
    action=${found#* }
    taken=2
    case $argument in
    '') wrong "unknown option $1" ;;
    -) taken=1 ;;
    '['*) # the value may be left out
        case ${2-} in true | false) ;; *) set -- "$1" true && taken=1 ;; esac
        ;;
    *) [ $# -ge 2 ] || wrong "$1 requires an argument" ;;
    esac
    case $argument,${2-} in
    COUNT,0 | BYTES,0) die "$1 must not be 0" ;;
    N,-1) ;;
    N, | COUNT, | N,*[!0-9]* | COUNT,*[!0-9]*) wrong "$1 ${2-}: not a number" ;;
    esac
    name=${action#*:}
    case $action in
    field:*) add "$name" "$2" ;;
    pass:*) passed=$passed--$name$([ "$argument" = - ] || printf '=%s' "$2")$newline ;;
    set:*=*) eval "$name" ;;
    set:*) eval "$name=\$2" ;;
    call:*) "$name" "${2-}" ;;
    esac
    take=$operand
    case $argument in
    *...) take=$name ;;
    esac
}

while [ $# -gt 0 ]; do
    case $literal$1 in
    --) literal=yes; shift ;;
    --*=*)
        option=${1%%=*} value=${1#*=}
        shift
        set -- "$option" "$value" "$@"
        ;;
    -?*) take_option "$@"; shift "$taken" ;;
    *) "$take" "$1"; shift ;;
    esac
done

