# ---- what to send: a curl configuration --------------------------------------------------------------------

# $escaped: as in the quotes of such a file.
escape() {
    escaped=$1
    case $1 in
    *[\\\"]* | *"$newline"*)
        escaped=$(printf '%s.' "$1" | sed -e ':a' -e '$!{N' -e 'ba' -e '}' -e 's/[\\"]/\\&/g' -e 's/\n/\\n/g')
        escaped=${escaped%.}
        ;;
    esac
}

unescape() {
    unescaped=$(printf '%b.' "$(printf '%s\n' "$1" | sed 's/\\"/"/g')")
    unescaped=${unescaped%.}
}

# $where chooses files, for every request; $fields is for the command's own.
where='' fields='' needs='' missing='' groups=''
add() {
    escape "$2"
    fields="$fields${newline}data-urlencode = \"$1=$escaped\""
}

# $path: the directory without symbolic links. A line break at its end survives. Many files are in one.
resolved=''
resolve() {
    [ "$1" != "$resolved" ] || return 0
    path=$(cd -- "$1" 2>/dev/null && pwd -P && echo .) || die "$1: permission denied"
    path=${path%"$newline".}
    resolved=$1
}

# choose NAME PATH DIRECTORY: a path to send, in a directory that the daemon must serve ($needs: escaped lines).
choose() {
    escape "$2"
    where="$where${newline}data-urlencode = \"$1=$escaped\""
    escape "$3"
    case $newline$needs in
    *"$newline$escaped$newline"*) ;;
    *) needs=$needs$escaped$newline ;;
    esac
}

add_directory() {
    [ -d "$1/" ] || die "no such directory: $1"
    case $1 in
    /*) resolve "$1" ;;
    *) resolve "./$1" ;;
    esac
    choose dir "$path" "$path"
}

# A file, or one in an archive.
is_there() {
    inside=$1
    while ! [ -e "$inside" ]; do
        case $inside in
        */*) inside=${inside%/*} ;;
        *) return 1 ;;
        esac
    done
    [ "$inside" = "$1" ] || [ -f "$inside" ]
}

# A file or glob: the directory it is in is the last one on its way that exists.
add_file() {
    case $1 in
    /*) folder=$1 ;;
    *) folder=$PWD/$1 ;;
    esac
    rest=
    while [ -z "$rest" ] || ! [ -d "$folder/" ]; do
        rest=/${folder##*/}$rest
        folder=${folder%/*}
    done
    resolve "$folder/"
    case $1,$path in
    *[*?[]*,/?*) ;;
    *) is_there "$1" || missing=$1 ;;
    esac
    choose file "${path%/}$rest" "$path"
}

add_clip() {
    add clip true
}

add_column() {
    groups=${groups:+$groups,}$1
}

add_group() {
    add groups "$1"
}

# The name of the files that split writes.
app=app
name_parts() {
    app=$1
    add app_name "$1"
}

# add_side NAME PATH: $where makes it indexed, $fields compares it.
add_side() {
    if [ -d "$2/" ]; then
        add_directory "$2"
        add "$1" "$path"
    else
        add_file "$2"
        add "$1" "${path%/}$rest"
    fi
}

add_baseline() { add_side baseline "$1"; }
add_variant() { add_side variant "$1"; }

# A side of $config that the command line does not name; paths in it are as on the command line.
add_configured() {
    side=$(tr '\n' ' ' <"$config" | sed -n 's/.*"'"$1"'"[[:space:]]*:[[:space:]]*"\([^"\\]*\)".*/\1/p')
    case $fields,$side in *"\"$1="* | *,) ;; *) add_side "$1" "$side" ;; esac
}

# The plain traces of a directory itself, as $plain.
plain=
plain_traces() {
    add_directory "$1"
    set +f
    for file in "$path"/*.pfw "$path"/.*.pfw; do
        case $file in *"$newline"*) continue ;; esac
        ! [ -f "$file" ] || plain=$plain$file$newline
    done
    set -f
}

# level_of true|false: what to send as `compress`.
level_of() {
    case $1,$level in
    false,*) printf 0 ;;
    *,[0-9]) printf %s "$level" ;;
    *,) printf true ;;
    *) die "--compression-level $level: must be 0 to 9" ;;
    esac
}

