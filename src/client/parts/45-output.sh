
# ---- answers as files: complete, or not there --------------------------------------------------------------

# $part becomes $target. A device or a pipe is written as it is, under the name that it has: then there is no part.
part=
is_device() {
    [ -e "$1" ] && ! [ -f "$1" ] && ! [ -d "$1" ]
}

open_target() {
    target=$1 part=
    if [ -d "$target" ]; then
        die "$target is a directory"
    elif is_device "$target"; then
        [ -w "$target" ] || die "cannot write $target"
    else
        part=$target.part.$$
        { true >"$part"; } 2>/dev/null || die "cannot write $target"
    fi
}

close_target() {
    [ -z "$part" ] || mv -f -- "$part" "$target" || die "cannot write $target"
    part=
}

# write_answer FILE ENDPOINT ...
write_answer() {
    open_target "$1"
    shift
    case $command in merge | pgzip) watch show_writing ;; esac
    send_request "$@" >"${part:-$target}"
    unwatch
    close_target
}

# print_text TEXT: to standard output.
print_text() {
    printf '%s\n' "$1" 2>/dev/null || die "cannot write the answer"
}

# deliver ENDPOINT ...: to the file $output or standard output.
deliver() {
    case $output in
    '' | -) send_request "$@" ;;
    *) write_answer "$output" "$@" ;;
    esac
}

