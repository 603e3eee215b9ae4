
# ---- what to send: lines of a curl configuration -----------------------------------------------------------

# $escaped: as between the quotes of such a line. A short text needs no further process; of a long one the loop would take minutes.
escape() {
    case $1 in *[\\\"]* | *"$newline"*) ;; *) escaped=$1 && return ;; esac
    if [ ${#1} -gt 200 ]; then
        escaped=$(printf '%s.' "$1" | sed -e ':a' -e '$!{N' -e 'ba' -e '}' -e 's/[\\"]/\\&/g' -e 's/\n/\\n/g')
        escaped=${escaped%.}
        return
    fi
    escaped='' left=$1
    while [ -n "$left" ]; do
        head=${left%%[\\\""$newline"]*}
        left=${left#"$head"}
        case $left in
        "$newline"*) escaped=$escaped$head\\n ;;
        ?*) escaped=$escaped$head\\${left%"${left#?}"} ;;
        *) escaped=$escaped$head ;;
        esac
        left=${left#?}
    done
}

# $where selects files, in every request; $fields is for the command's own. $needs: directories to be served, escaped.
where='' fields='' needs='' missing=''
add() {
    escape "$2"
    fields="$fields${newline}data-urlencode = \"$1=$escaped\""
}

# $path: the directory without symbolic links. Without a further process, if the working directory can be entered again.
resolved=''
resolve() {
    [ "$1" != "$resolved" ] || return 0
    resolved=$1
    working=$PWD
    if cd -- "$working" 2>/dev/null; then
        cd -P -- "$1" 2>/dev/null || die "$1: permission denied"
        path=$PWD
        cd -- "$working" || exit 1
    else
        path=$(cd -- "$1" 2>/dev/null && pwd -P && echo .) || die "$1: permission denied"
        path=${path%"$newline".}
    fi
    case $path in /*) ;; *) die "the working directory does not exist any more" ;; esac
}

# select_path NAME PATH DIRECTORY: a path to send, in a directory that the daemon must serve.
select_path() {
    escape "$2"
    where="$where${newline}data-urlencode = \"$1=$escaped\""
    escape "$3"
    case $newline$needs in *"$newline$escaped$newline"*) ;; *) needs=$needs$escaped$newline ;; esac
}

add_directory() {
    [ -d "${1:+$1/}" ] || die "no such directory: $1"
    case $1 in /*) resolve "$1" ;; *) resolve "./$1" ;; esac
    select_path dir "$path" "$path"
}

# A file, or one in an archive.
is_path() {
    inside=$1
    while ! [ -e "$inside" ]; do
        case $inside in */*) inside=${inside%/*} ;; *) return 1 ;; esac
    done
    [ "$inside" = "$1" ] || [ -f "$inside" ]
}

# A file or glob: its directory is the last one on its path that exists.
add_file() {
    ! [ -d "$1" ] || die "$1 is a directory, not a file"
    if [ -L "$1" ] && [ -f "$1" ]; then # the daemon knows the file by its own name, and no links to elsewhere
        real=$(readlink -f -- "$1" && echo .)
        set -- "${real%"$newline".}"
    fi
    case $1 in /*) folder=$1 ;; *) folder=$PWD/$1 ;; esac
    rest=
    while [ -z "$rest" ] || ! [ -d "$folder/" ]; do
        rest=/${folder##*/}$rest
        folder=${folder%/*}
    done
    resolve "$folder/"
    case $1,$path in
    *[*?[]*,/?*) ;;
    *) is_path "$1" || missing=$1 ;;
    esac
    select_path file "${path%/}$rest" "$path"
}

# add_side NAME PATH: $where has it indexed, $fields compares it.
add_side() {
    if [ -d "$2/" ]; then
        add_directory "$2"
        add "$1" "$path"
    else
        add_file "$2"
        add "$1" "${path%/}$rest"
    fi
}

# gzip_level true|false: what to send as `compress`.
gzip_level() {
    case $1,$level in
    false,*) level=0 ;;
    *,[0-9]) ;;
    *,) level=true ;;
    *) die "--compression-level $level: must be 0 to 9" ;;
    esac
}
