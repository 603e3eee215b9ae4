# ---- asking ------------------------------------------------------------------------------------------------

# credential OPTION VALUE: a line more of curl's configuration.
credential() {
    [ -n "$2" ] || return 0
    escape "$2"
    credentials="$credentials$1$escaped\"$newline"
}

# call ENDPOINT FORM [CURL ARGUMENT...]. Form and token go by standard input: command lines can be read by others.
call() {
    endpoint=$1
    form=$2
    shift 2
    credentials=''
    credential 'header = "Authorization: Bearer ' "${DFTRACERD_TOKEN:-}"
    credential 'cert = "' "${DFTRACERD_CERT:-}"
    credential 'key = "' "${DFTRACERD_KEY:-}"
    if ! is_main; then
        (fetch "$@")
        return
    fi
    getter=before:${!-} # a signal may come before it is noted what was begun
    fetch "$@" &
    wait "$!"
    set -- "$?"
    getter=
    return "$1"
}

# Becomes curl.
fetch() {
    exec curl -qs --noproxy '*' -K - ${socket:+--unix-socket} ${socket:+"$socket"} "$@" "$url/$endpoint" <<TEXT
$form
$credentials
TEXT
}

# Not one of a pipe or $(...), which is not told of signals: only here somebody can end curl. A shell heeds a signal while it waits,
# not while it runs a command.
getter='' trapped=''
is_main() {
    # shellcheck disable=SC2016 # the inner shell's parent
    [ -n "$trapped" ] && [ "$(exec sh -c 'echo "$PPID"')" = "$$" ]
}

end_getter() {
    [ -z "$getter" ] || [ "$getter" = "before:${!-}" ] || kill "$!" 2>/dev/null
}

# The text of a problem document: "detail" with its JSON escapes undone. An escaped backslash waits as a control
# character, which JSON cannot hold, until the others are done.
problem_detail() {
    hold=$(printf '\001')
    sed -n 's/.*"detail":"\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/p' | sed "s/\\\\\\\\/$hold/g"';s/\\"/"/g;s/\\n/\
/g;s/\\t/	/g'"; s/$hold/\\\\/g"
}

# attempt ENDPOINT FORM [CURL ARGUMENT...]: the answer, with curl's exit status in `status`; why it was refused is in `text`, nothing
# where the daemon is gone.
attempt() {
    text=
    call "$@" -f
    status=$?
    [ "$status" = 22 ] || return 0
    wait_for_reason=60
    case $1 in reconstruct*) wait_for_reason=3600 ;; esac # the tar is sent once more
    text=$(call "$@" -m "$wait_for_reason" | head -c 65536 | problem_detail)
}

# A daemon that ends refuses what comes, and then is gone.
has_ended() {
    case $status:$text in 7: | 22: | "22:the daemon is stopping") ;; *) return 1 ;; esac
}

# Whether the daemon refuses something that the old commands passed over; it is then named in the next request, and in a warning.
# $ignored: what was named so far, as $ignoring is to have it.
ignored='' ignoring=''
passes_over() {
    case $command,$status,$text in
    aggregator,22,*'`: no event has "'*) ignoring=optional name=${text#*: no event has \"} name=${name%\"; see *} warning="no event has \"$name\": its column is empty" ;;
    view,22,*' has an unknown member "'*) ignoring=ignore_members name=${text#* has an unknown member \"} name=${name%\"; it may *} warning="the recipe has an unknown member \"$name\": it is ignored" ;;
    *) return 1 ;;
    esac
    case ,$ignored, in *",$name,"*) return 1 ;; esac
    ignored=${ignored:+$ignored,}$name
    printf 'dftracerctl: warning: %s\n' "$warning" >&2
}

# The reader of standard output has left: an end like that of other programs.
end_by_sigpipe() {
    is_main || exit 141
    clean_up
    trap - EXIT
    kill -s PIPE "$$"
    exit 141
}

# ask ENDPOINT FORM [CURL ARGUMENT...]: the answer, or the reason why there is none and exit status 1.
ask() {
    [ -z "$ignored" ] || set -- "$@" --data-urlencode "$ignoring=$ignored"
    attempt "$@"
    if [ -n "$reached" ] && has_ended; then # nobody had asked the daemon for long
        reach
        attempt "$@"
    fi
    while passes_over; do
        attempt "$@" --data-urlencode "$ignoring=$ignored"
    done
    case $status in
    0) return 0 ;;
    22) refused ;;
    18 | 56) # 56 also when there was none: a tunnel whose end nobody listens at
        call healthz '' -m 10 -o /dev/null && die "the answer was cut off"
        die "the answer was cut off: $(no_answer "$?")" ;;
    23)
        if [ -p /dev/stdout ] || [ -S /dev/stdout ]; then end_by_sigpipe; fi
        die "cannot write the answer" ;;
    *) die "$(no_answer "$status")" ;;
    esac
}

# Why there was no answer at all, by curl's exit status.
no_answer() {
    # shellcheck disable=SC2016 # names of variables
    case $1 in
    5 | 6 | 7) printf 'no daemon answers at %s' "${socket:-$url}" ;;
    28) printf 'no answer in time from %s' "${socket:-$url}" ;;
    35) printf 'no TLS connection to %s: does the daemon use TLS (https)?' "$url" ;;
    52 | 56) printf '%s accepts connections but does not answer: is it a tunnel without a daemon at its end, or does the daemon require TLS (https)?' "${socket:-$url}" ;;
    58) printf 'cannot use the certificate in $DFTRACERD_CERT or its key ($DFTRACERD_KEY)' ;;
    60) printf 'the certificate of %s is not trusted, has expired, or is for another name; $CURL_CA_BUNDLE names a file of trusted authorities' "$url" ;;
    *) printf 'curl failed with exit status %s (curl --manual explains it)' "$1" ;;
    esac
}

# What the daemon says of a refusal, and what here may have led to it.
refused() {
    case $text in
    'this daemon serves the user'*)
        [ -z "${DFTRACERD_TOKEN:-}" ] || die "$text; the token in \$DFTRACERD_TOKEN is wrong"
        die "$text (set \$DFTRACERD_TOKEN)" ;;
    'no such directory: '* | 'no such file: '*) [ -z "$named" ] || die "$text, for the daemon at ${socket:-$url}; dftracerctl info --url ... lists what it serves" ;;
    esac
    die "${text:-the daemon refused the request; try again}"
}

# change ENDPOINT FORM [CURL ARGUMENT...]: what changes something; pages of other sites cannot send such a header.
change() {
    ask "$@" -X POST -H 'X-Requested-With: dftracerctl'
}

# Whether this is a device or a pipe: written as it is, under the name that it has.
is_device() {
    [ -e "$1" ] && ! [ -f "$1" ] && ! [ -d "$1" ]
}

# ask_into FILE ENDPOINT ...: the file is complete or not touched.
part=
ask_into() {
    target=$1
    shift
    if [ -d "$target" ]; then
        die "$target is a directory"
    elif is_device "$target"; then
        [ -w "$target" ] || die "cannot write $target"
        ask "$@" >"$target"
        return
    fi
    part=$target.part.$$
    { true >"$part"; } 2>/dev/null || die "cannot write $target"
    case $command in merge | pgzip) watch_part ;; esac
    ask "$@" >"$part"
    unwatch
    mv -f -- "$part" "$target" || die "cannot write $target"
    part=
}

# ask_packed FILE ENDPOINT ...: likewise, packed; - is standard output. gzip has no level 0.
ask_packed() {
    target=$1
    shift
    packer=${level#0}
    [ ! -d "$target" ] || die "$target is a directory"
    if [ "$target" = - ]; then
        exec 4>&1
    elif is_device "$target"; then
        [ -w "$target" ] || die "cannot write $target"
        exec 4>"$target"
    else
        part=$target.part.$$
        { true >"$part"; } 2>/dev/null || die "cannot write $target"
        exec 4>"$part"
    fi
    outcome=$({ { ask "$@" && printf ok >&3; } | gzip -c "-${packer:-1}" >&4; } 3>&1)
    [ "$?$outcome" = 0ok ] || exit 1
    exec 4>&-
    [ -z "$part" ] || mv -f -- "$part" "$target" || die "cannot write $target"
    part=
}

# unpack DIRECTORY LAST ENDPOINT ...: the members of a tar into $part. Something is there only if the one has come that is the
# last.
unpack() {
    target=${1%/}
    last=$2
    shift 2
    [ -d "$target" ] || ! [ -e "$target" ] || die "$target is not a directory"
    case $target in -*) target=./$target ;; esac # for find
    part=$target.part.$$
    [ ! -d "$target" ] || part=$target/.part.$$ # perhaps another file system begins there
    mkdir -p -- "$part" || exit 1
    watch_part
    outcome=$({ { ask "$@" && printf ok >&3; } | tar -xof - -C "$part" 2>&1; } 3>&1)
    outcome=$?$outcome
    unwatch
    if [ "$outcome" != 0ok ] || ! [ -f "$part/$last" ]; then
        [ -z "$(ls -A -- "$part")" ] || printf '%s\n' "${outcome#?}" >&2 # of tar
        die "$target was not written"
    fi
}

# settle: what was unpacked becomes the directory, or goes into it.
settle() {
    if [ -d "$target" ]; then
        set +f
        mv -f -- "$part"/* "$target" && rmdir -- "$part" || exit 1
        set -f
    else
        mv -- "$part" "$target" || exit 1
    fi
    part=
}

# vacant DIRECTORY: stops where it is there already and has files, but for -f.
vacant() {
    [ -n "$force" ] || ! [ -d "$1" ] || [ -z "$(ls -A -- "$1")" ] || die "$1 is not empty; -f replaces the files of an earlier run"
}

# for_each COMMAND...: with the lines of standard input as further arguments.
for_each() {
    tr '\n' '\0' | xargs -0 "$@"
}

# The files of an earlier split into $output, a line each.
earlier_parts() {
    set +f
    for file in "$output/$app"-[0-9]*.pfw "$output/$app"-[0-9]*.pfw.gz; do
        part_number=${file#"$output/$app-"}
        part_number=${part_number%.gz}
        case ${part_number%.pfw} in
        *[!0-9]*) ;;
        *) ! [ -f "$file" ] || printf '%s\n' "$file" ;;
        esac
    done
    set -f
}

# Stops where there are such files, but for -f. Files of another size would remain beside the new ones.
refuse_parts() {
    first_part=$(earlier_parts | sed -n 1p)
    [ -n "$force" ] || [ -z "$first_part" ] || die "$first_part already exists; -f replaces it and all other files of an earlier split"
}

# The traces that the manifest of an earlier organize in $target lists, relative to it, a line each.
earlier_groups() {
    [ -f "$target/manifest.json" ] || return 0
    awk '/^  "/ { section = $1 }
        /^  "tool": "dftracerd organize"/ { ours = 1 }
        { sub(/,$/, "") }
        ours && section == "\"groups\":" && /^          "path": "/ {
            path = substr($0, 20, length - 20)
            if (path ~ /^[^\/]+\/[^\/]+\.pfw(\.gz)?$/ && path !~ /^\./) print path
        }' "$target/manifest.json" | sed 's/\\\(.\)/\1/g'
}

# Of find: names may have line breaks. To "look" is to make the directories, and to see that all has its place there.
# shellcheck disable=SC2016 # it is for another shell
take_place='step=$1 part=$2 target=$3 last=$4 && shift 4
for file; do
    to=$target${file#"$part"}
    if [ "$step" = look ] && [ -d "$file" ]; then mkdir -p -- "$to"
    elif [ "$step" = look ] && [ -d "$to" ]; then printf "dftracerctl: %s is a directory\n" "$to" >&2 && false
    elif [ "$step" = look ] || [ -d "$file" ] || [ "$file" = "$part/$last" ]; then continue
    else mv -f -- "$file" "$to"
    fi || exit 1
done'

# place_all STEP LAST
place_all() {
    find "$part" -exec sh -c "$take_place" sh "$1" "$part" "$target" "$2" {} +
}

# settle_tree LAST: as settle, with directories. LAST comes last: a kill before that leaves what does not fit an older LAST.
# Traces of an earlier organize would be read beside the new ones.
settle_tree() {
    if [ -d "$target" ]; then
        place_all look "$1" || exit 1
        earlier=
        [ "$1" != manifest.json ] || earlier=$(earlier_groups)
        [ -z "$earlier" ] || printf '%s\n' "$earlier" | (cd -- "$target" && for_each rm -f --) || exit 1
        place_all move "$1" || exit 1
        [ -z "$earlier" ] || printf '%s\n' "$earlier" | sed 's,/.*,,' | sort -u | (cd -- "$target" && for_each rmdir -- 2>/dev/null)
        mv -f -- "$part/$1" "$target/$1" && rm -rf -- "$part" || exit 1
    else
        mv -- "$part" "$target" || exit 1
    fi
    part=
}

# unused FILE...: stops where one is there already, but for -f.
unused() {
    for file; do
        [ -n "$force" ] || ! [ -e "$file" ] || die "$file already exists; -f replaces it"
    done
}

# said_there NAME: a value of $manifest.
said_there() {
    sed -n 's/^  "'"$1"'": "*\([^",]*\).*/\1/p' "$manifest"
}

# What a manifest says of the comparison; $verified is its verdict.
judge_manifest() {
    verified=$(said_there verified)
    [ -n "$verify" ] || return 0
    [ "$verified" = true ] && outcome=PASSED || outcome=FAILED
    printf 'Verification %s: %s events read (hash %s), %s written (hash %s)\n' "$outcome" "$(said_there lines_read)" \
        "$(said_there hash_read)" "$(said_there lines_written)" "$(said_there hash_written)"
}

# What manifest.json tells of organize; names in it stay escaped. Without what could not be read the originals are not whole.
tell_groups() {
    awk '/^  "/ { section = $1 }
        { sub(/,$/, "") }
        section == "\"groups\":" && /^      "name": / { name = substr($0, 16, length - 16); files = 0; dropped = "" }
        section == "\"groups\":" && /^      "events": / { events = $2 }
        /^      "dropped": true/ { dropped = ", dropped" }
        /^          "path": / { files++ }
        /^    }/ && name != "" { print "  " name ": " events " events in " files " files" dropped; name = "" }' "$1"
    printf 'Organized %s files into %s\n' "$(sed -n '/^  "sources"/,/^  "unread"/p' "$1" | grep -c '^      "path"')" "$output"
}

# Nonzero where something is not there: what could not be read is not in the groups.
tell_unread() {
    awk '/^  "/ { section = $1 }
        { sub(/,$/, "") }
        /^      "path": / { path = substr($0, 16, length - 16) }
        /^      "damage": / { print "dftracerctl: corrupt, the readable part is in the groups: " path }
        section == "\"unread\":" && /^      "error": / { print "dftracerctl: not read: " path ": " substr($0, 16); bad = 1 }
        END { exit bad }' "$1" >&2
}

# What reconstruct.json tells; nonzero unless all is proved.
tell_originals() {
    printf 'Reconstructed %s files in %s, %s of them verified by their hashes\n' "$(said_there files)" "$output" "$(said_there proved)"
    awk '/^  "/ { section = $1 }
        { sub(/,$/, "") }
        section == "\"sources\":" && /^      "path": / { path = substr($0, 16, length - 16) }
        /^      "state": / { state = substr($0, 17, length - 17) }
        /^      "missing_lines": / { print "dftracerctl: " path ": " state ", " $2 " lines are missing"; bad = 1 }
        section != "\"sources\":" && /^    "/ { print "dftracerctl: " substr(section, 2, length(section) - 3) ": " $1 }
        END { exit bad }' "$manifest" >&2
}

# number NAME: the first number of that name in $facts, which is the one of all files.
number() {
    printf '%s\n' "$facts" | sed -n 's/"'"$1"'":\([0-9]\)/\
\1/; s/.*\n\([0-9]*\).*/\1/p'
}

# kib_of PATH: what it takes on the disk.
kib_of() {
    du -sk -- "$1" 2>/dev/null | sed 's/[^0-9].*//'
}

# One line on the terminal, as long as it takes; of all that the daemon has, where the files fill more than a URL.
watcher=
watch() {
    [ -t 2 ] || return 0
    few=$where
    [ ${#where} -lt 10000 ] || few=
    while sleep 1; do
        facts=$(call index "$few" -G) && bytes=$(number bytes) && [ "${bytes:-0}" -gt 0 ] &&
            printf '\r\033[Kindexing: %s of %s files, %s %%' "$(number files_ready)" "$(number files)" \
                $(($(number bytes_done) * 100 / bytes))
    done >&2 2>/dev/null &
    watcher=$!
}

# Likewise while $part grows, with a bar: what is packed anew has about the size that it had.
watch_part() {
    [ -t 2 ] || return 0
    case $command,$level in
    pgzip,*) of= ;; # $facts are of all files
    reconstruct,*) of=$(kib_of "$directory") ;;
    *,0) of=$(number uncompressed_bytes) && of=$((${of:-0} / 1024)) ;;
    *) of=$(number compressed_bytes) && of=$((${of:-0} / 1024)) ;;
    esac
    while sleep 1; do
        size=$(kib_of "$part")
        [ -n "$size" ] || continue
        [ "${of:-0}" -gt 0 ] || { printf '\r\033[Kwriting: %s MiB' $((size / 1024)) && continue; }
        full=$((size < of ? size * 20 / of : 20))
        printf '\r\033[Kwriting: [%.*s%.*s] %s of about %s MiB' $full '####################' $((20 - full)) '--------------------' \
            $((size / 1024)) $(((of + 1023) / 1024))
    done >&2 2>/dev/null &
    watcher=$!
}

unwatch() {
    [ -n "$watcher" ] || return 0
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    watcher=
    printf '\r\033[K' >&2
}

# Files that a daemon knows at last, when it has just been started.
wait_for_listing() {
    ask info 'data-urlencode = "file=?"' --data wait=fresh >/dev/null || exit 1
}

# What could find more.
below() {
    case $where in *'data = recursive=false'*) printf ' (-r includes the directories below)' ;; esac
}

# Waits for the index, or says what it lacks; leaves $facts. Commands without files fail.
prepare() {
    if [ -n "$force" ]; then
        wait_for_listing
        change index "$where" --data force=true >/dev/null
    fi
    if [ "$wait" = no ]; then
        wait_for_listing
        facts=$(ask info "$where" --data detail=files --data wait=no) || exit 1
        lacking=$(printf '%s\n' "$facts" | sed 's/{"path":/\
&/g' | sed -n 's/^{"path":"\([^"\\]*\(\\.[^"\\]*\)*\)","state":"[ip][a-z]*ing".*/  \1/p')
        [ -z "$lacking" ] || die "not indexed yet:$newline$lacking"
    else
        watch
        facts=$(ask info "$where" --data wait=fresh) || exit 1
        unwatch
    fi
    case $facts in
    *'"totals":{"files":0,'*) [ "$command" = tar ] || die "no trace files found$(below)" ;;
    *'"complete":false'*)
        case $(call readyz '' -m 10) in
        *'"directories_unreadable":'[1-9]*) printf 'dftracerctl: some directories cannot be read (the log of the daemon names them): the answer may lack their files\n' ;;
        *) printf 'dftracerctl: some files changed in the last 10 s and may still be growing: the answer covers their content so far\n' ;;
        esac >&2
        ;;
    esac
}


# count_packed: those of the chosen files that are gzip; one at least.
count_packed() {
    facts=$(ask info "$where" --data detail=files --data wait=no) || exit 1
    printf '%s\n' "$facts" | awk '{ n += gsub(/"format":"gzip"/, "") } END { print n + 0; exit n == 0 }' ||
        die "no compressed trace files found"
}

# tell_archive: what $facts has against the archive, or nothing.
tell_archive() {
    case $facts in
    *'"archives":[]'*) die "this is not a tar archive" ;;
    *'"state":"failed"'* | *'"state":"damaged"'*)
        die "$(printf '%s\n' "$facts" | sed -n -e 's/.*"state":"failed","error":"\([^"\\]*\)".*/cannot read the archive: \1/p' \
            -e 's/.*"state":"damaged","error":"\([^"\\]*\)".*/cannot read the whole archive: \1/p')"
        ;;
    esac
}

# put_aside FILE...: what is to be replaced, so that it is not read; back when that fails.
aside=
put_aside() {
    for file; do
        [ -e "$file" ] || continue
        mv -- "$file" "$file.old.$$" || exit 1
        aside=$aside$file$newline
    done
}

put_back() {
    for file in $aside; do
        [ -e "$file" ] || mv -- "$file.old.$$" "$file"
    done
}

forget_aside() {
    for file in $aside; do
        rm -f -- "$file.old.$$"
    done
    aside=
}

# pack_plain FILE: beside it.
pack_plain() {
    [ -n "$force" ] || ! [ -e "$1.gz" ] || gzip -dc -- "$1.gz" 2>/dev/null | cmp -s -- - "$1" ||
        die "$1.gz already exists with different content; -f replaces it"
    escape "$(printf '%s' "$1" | sed 's/[][*?]/[&]/g')"
    ask_into "$1.gz" pgzip "data-urlencode = \"file=$escaped\"" --data format=pfw --data "level=${level:-5}" --data "wait=$wait"
    if [ -n "$delete" ]; then
        gzip -dc -- "$1.gz" | cmp -s -- - "$1" || die "$1.gz does not decompress to the same content: $1 is kept"
        rm -- "$1" || exit 1
    fi
    [ -z "$detail" ] || printf '%s.gz\n' "$1"
}

# Events for dftracerd-replay, in order of time; with an argument two times. It has to notice where they are not complete.
replay_columns=ph,name,cat,host,pid,tid,ts,dur,file,args.ret,args.count,args.size,args.offset,args.fd,args.flags,args.mode
replay_columns=$replay_columns,args.length,args.whence,args.newpath,args.newpath_hash,args.path2,args.path2_hash
replay_events() {
    (
        ask view "$where" --data format=ndjson --data select=ph,name,args.name,args.value --data phase=metadata \
            --data-urlencode 'query=name == "FH"' --data "wait=$wait" || exit 1
        for round in ${1:+first} last; do
            ask view "$where$fields" --data format=ndjson --data "select=$replay_columns" --data order=ts --data "wait=$wait" || exit 1
            [ "$round" = last ] || printf '{"name":"replay","ph":"M","replay":"again"}\n'
        done
    ) || printf '{"error":"the request failed"}\n'
}
