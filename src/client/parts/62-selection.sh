
# ---- the traces that a command is for, and their daemon ------------------------------------------------------

select_traces() {
    if [ -n "$config" ]; then
        [ -r "$config" ] || die "cannot read $config"
        add config "$(cat -- "$config")"
        for name in baseline variant; do # if the command line does not name them; paths are as on the command line
            side=$(tr '\n' ' ' <"$config" | sed -n 's/.*"'"$name"'"[[:space:]]*:[[:space:]]*"\([^"\\]*\)".*/\1/p')
            case $fields,$side in *"\"$name="* | *,) ;; *) add_side "$name" "$side" ;; esac
        done
    fi
    [ -z "${list_group_by-}" ] || add group_by "$list_group_by"
    case $command,$inputs$where$url$socket,$fields in
    comparator,*'"baseline='*'"variant='* | comparator,*'"variant='*'"baseline='* | comparator,*'"config='*) ;;
    comparator,*) die "--baseline and --variant are required, or --config" ;;
    replay,,*) die "INPUT is required: trace files or directories" ;;
    call_tree,*) [ -n "$inputs" ] || usage_error "INPUT is required: trace files or directories" ;;
    esac
    # The daemon takes the files that fit both a directory and a glob: so directories beside files are globs, too.
    for input in $inputs; do
        [ -d "$input/" ] || pattern=${pattern:-*}
    done
    for input in $inputs; do
        if ! [ -d "$input/" ]; then
            add_file "$input"
        elif [ -n "$pattern" ]; then
            add_file "${input%/}/${recursive:+**/}$pattern"
        else
            add_directory "$input"
        fi
    done
    plain='' left_out=0
    case $command in
    pgzip) # the uncompressed traces of the directory itself
        add_directory "${directory:-.}"
        set +f
        for name in "$path"/*.pfw "$path"/.*.pfw; do
            [ -f "$name" ] || continue
            case $name in
            *"$newline"*) printf 'dftracerctl: %s: not compressed, there is a line break in the name\n' "$name" >&2 && left_out=1 ;;
            *) plain=$plain$name$newline ;;
            esac
        done
        set -f ;;
    reconstruct) # which selects no traces
        [ -n "$directory" ] || usage_error "--directory is required"
        [ -f "$directory" ] || add_directory "$directory"
        fields=$where where= ;;
    reader | tar) [ -n "$where" ] || usage_error "FILE is required" ;;
    *) [ -n "$where$url$socket" ] || add_directory . ;;
    esac
    case $where in
    *' = "dir='*) where="$where${newline}data = recursive=${recursive:-false}" ;;
    esac
}

# $url and $socket of the daemon.
connect() {
    [ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
    named=$url$socket
    if [ -z "$named" ]; then
        find_runtime_dirs
        reach_daemon
    fi
    [ -z "$socket" ] || url=http://localhost
    url=${url%/}
    if [ -n "$index_dir" ] && [ -z "$started" ]; then # it comes too late, unless the index is below it: another command has started that daemon
        read_answer info '' -G -m 10
        place=$(printf '%s\n' "$answer" | index_path)
        base=$(cd -- "$index_dir" 2>/dev/null && pwd -P)
        case $place in
        "${base:-/ }"/*) ;;
        *) printf 'dftracerctl: --index-dir %s is ignored: a daemon already serves this directory; its index is in %s\n' "$index_dir" "${place:-another place}" >&2 ;;
        esac
    fi
}

clean_up() {
    [ "${!-}" = "$ended" ] || { kill "$!" && wait "$!"; } 2>/dev/null
    [ -z "$part" ] || rm -rf -- "$part"
    unwatch
    for file in $aside; do
        [ -e "$file" ] || mv -- "$file.old.$$" "$file"
    done
}

command -v curl >/dev/null || die "curl is required"
if [ "$command" != doctor ]; then
    trap clean_up EXIT
    trap 'exit 1' HUP INT TERM
    trapped=yes
    select_traces
    if [ -n "$file" ] && is_local "$file"; then # no daemon is needed
        case $command,$check in
        reader,) read_here ;;
        reader,*) exit 1 ;; # there is no index of it
        tar,*) describe_here ;;
        esac
        exit
    fi
    connect
fi
