
# ---- gzip files and archives that are no traces by their names: read here, without an index ------------------------

# is_local FILE: whether it is to be read here, as $kind: gzip, tar.gz or tar.
is_local() {
    [ -f "$1" ] || return
    case $command,$1 in
    *.pfw | *.pfw.gz | tar,*.tar | tar,*.tar.gz | tar,*.tgz) return 1 ;;
    esac
    [ -r "$1" ] || die "$1: permission denied"
    kind=
    case $1,$(head -c 2 -- "$1" | od -An -tx1 | tr -d ' ') in
    *.tar,*) kind=tar ;;
    *.tar.gz,1f8b | *.tgz,1f8b) kind=tar.gz ;;
    *,1f8b)
        kind=gzip
        [ "$(gzip -dc <"$1" 2>/dev/null | head -c 262 | tail -c 5 | tr -d '\0')" != ustar ] || kind=tar.gz ;;
    esac
    case $command,$kind in
    *, | tar,tar*) return 1 ;;
    esac
}

# The text of $file; of an archive that of its members, one after another.
text_of_file() {
    case $kind in
    gzip) gzip -dc <"$file" ;;
    tar.gz) gzip -dc <"$file" | tar -xOf - ;;
    tar) tar -xOf - <"$file" ;;
    esac
}

# The part of standard input that reader was asked for.
part_of_text() {
    case $mode,$end in
    bytes,-1) tail -c "+$((start + 1))" ;;
    bytes,*) tail -c "+$((start + 1))" | head -c "$((end - start))" ;;
    *)
        awk -v mode="$mode" -v from="$start" -v to="$end" '{
            end = mode == "lines" ? NR : at + length($0) + 1
            if (to >= 0 && end > to) exit
            if ((mode == "lines" ? NR : at) >= from) print
            at = end
        }' ;;
    esac
}

# pipe_text COMMAND...: the text through a command, which may end before it; dies if not all of it can be read or written.
pipe_text() {
    exec 4>&1
    outcome=$({ { text_of_file || case $? in 1 | [3-9] | ??) printf bad >&3 ;; 2) [ "$kind" = gzip ] || printf bad >&3 ;; esac; } | "$@" >&4; } 3>&1)
    set -- "$?"
    exec 4>&-
    case $1 in
    0) ;;
    141) die_of_pipe ;;
    *) die "cannot write the answer" ;;
    esac
    [ -z "$outcome" ] || die "$file is truncated or corrupt"
}

read_here() {
    case $mode in
    bytes | lines | line_bytes) ;;
    *) die "--mode $mode: must be bytes, line_bytes or lines" ;;
    esac
    start=$(printf %s "$start" | sed 's/^0*\([0-9]\)/\1/') end=$(printf %s "$end" | sed 's/^0*\([0-9]\)/\1/') # else they are octal
    [ $((${#start} > 18 || ${#end} > 18)) = 0 ] || die "--start and --end must have at most 18 digits"
    [ "$start" != -1 ] || start=0
    [ "$end" = -1 ] || [ "$end" -ge "$start" ] || die "--end $end is before --start $start"
    pipe_text part_of_text
}

# describe_gzip PATH INDEX BYTES LINES CHECKPOINTS: a file that is no archive, as dftracer_tar has it.
describe_gzip() {
    [ -z "$build" ] || return 0
    if [ -n "$brief" ] || [ -z "$members" ]; then
        print_text "$(printf 'Archive Information:\n  Format: GZIP\n  Path: %s\n  Index: %s\n  Total size: %s bytes\n  Total lines: %s\n  Checkpoints: %s' "$@")"
    fi
    [ -z "$members" ] || print_text 'File listing not available for GZIP format'
}

describe_here() {
    bytes=$(pipe_text wc -c) && lines=$(pipe_text awk 'END { print NR }') || exit 1
    describe_gzip "${path%/}$rest" none $((bytes)) "$lines" 0
}
