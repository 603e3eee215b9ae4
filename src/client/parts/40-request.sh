
# ---- requests ----------------------------------------------------------------------------------------------

# Credentials, too, are lines of the configuration.
credentials=
for option in "header=${DFTRACERD_TOKEN:+Authorization: Bearer $DFTRACERD_TOKEN}" \
    "cert=${DFTRACERD_CERT:-}" "key=${DFTRACERD_KEY:-}"; do
    escape "${option#*=}"
    [ -z "$escaped" ] || credentials="$credentials${option%%=*} = \"$escaped\"$newline"
done

# exec_curl ENDPOINT FORM [CURL ARGUMENT...]: becomes curl. Form and token go by standard input: command lines can be read by others.
strict='' checked='' ignoring=''
exec_curl() {
    address=$url/$1 form=$2
    shift 2
    exec curl -qs --noproxy '*' -K - ${socket:+--unix-socket} ${socket:+"$socket"} "$@" "$address" <<TEXT
$form
$strict
$ignoring
$credentials
TEXT
}

# run_curl ENDPOINT FORM ...: prints the answer, or keeps it as $answer. A shell handles a signal while it waits, not while it runs a
# command: then it ends the curl that it waits for ($ended: the last child that has ended). A part of a pipe has no trap.
keeping='' trapped='' ended=''
run_curl() {
    if [ -n "$keeping" ]; then
        answer=$(exec_curl "$@")
    elif [ -z "$trapped" ]; then
        (exec_curl "$@")
    else
        exec_curl "$@" &
        wait "$!"
        set -- "$?"
        ended=$!
        return "$1"
    fi
}

# The text of a problem document, without JSON escapes. An escaped backslash waits as a control character, which JSON cannot hold,
# until the others are replaced.
problem_detail() {
    hold=$(printf '\001')
    sed -n 's/.*"detail":"\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/
        t text
        d
        : text
        s/\\\\/'"$hold"'/g; s/\\"/"/g; s/\\t/	/g; s/\\n/\
/g; s/'"$hold"'/\\/g; p'
}

# attempt ENDPOINT FORM ...: $status is curl's exit status; $text why the request was refused, nothing if the daemon is gone.
attempt() {
    text=
    run_curl "$@" -f
    status=$?
    [ "$status" = 22 ] || return 0
    most=60
    case $1 in reconstruct*) most=3600 ;; esac # the tar is sent once more
    text=$(exec_curl "$@" -m "$most" | head -c 65536 | problem_detail)
}

# After a failure: whether the request is to be sent again, to another daemon or without what the daemon has refused.
warned='' given=''
# shellcheck disable=SC2016 # a text of the daemon
repair_request() {
    case $command:$status:$text in
    *:7: | *:52: | *:22: | *:22:'the daemon is stopping')
        [ -n "$reached" ] && { [ "$status" != 22 ] || [ "$tries" -lt 10 ]; } || return
        dead=$dead${socket%.sock}.roots$newline
        reach_daemon
        return ;;
    tar:22:'no trace files found' | *'has no parameter `strict`'*) strict='' checked=yes && return ;; # the latter: an older daemon
    *:22:'the answer would be incomplete: '*directories*) strict='' checked=yes warning="some directories cannot be read (the log of the daemon names them): the answer may lack their files" ;;
    *:22:'the answer would be incomplete: '*) strict='' checked=yes warning="some files changed in the last 10 s and may still be growing: the answer covers their content so far" ;;
    aggregator:22:*'`: no event has "'*) name=${text#*: no event has \"} && ignore optional "${name%\"; see *}" || return
        warning="warning: no event has \"$name\": its column is empty" ;;
    view:22:*' has an unknown member "'*) name=${text#* has an unknown member \"} && ignore ignore_members "${name%\"; it may *}" || return
        warning="warning: the recipe has an unknown member \"$name\": it is ignored" ;;
    *) return 1 ;;
    esac
    [ "$warning" = "$given" ] || printf 'dftracerctl: %s\n' "$warning" >&2
    given=$warning
}

# ignore PARAMETER NAME: the next request names it as to be ignored; false if this one did.
ignore() {
    name=$2
    case ,$warned, in *",$2,"*) return 1 ;; esac
    warned=${warned:+$warned,}$2
    escape "$warned"
    ignoring="data-urlencode = \"$1=$escaped\""
}

# The reader has left: the end is like that of other programs.
die_of_pipe() {
    [ -n "$trapped" ] || exit 141
    clean_up
    trap - EXIT
    kill -s PIPE "$$"
    exit 141
}

# send_request ENDPOINT FORM [CURL ARGUMENT...]: the answer, or the reason why there is none and exit status 1.
send_request() {
    attempt "$@"
    while [ "$status" != 0 ] && repair_request; do
        attempt "$@"
    done
    case $status in
    0) [ -z "$strict" ] || checked=yes strict='' ;;
    22) report_refusal ;;
    18 | 56) # 56 also when there was none: a tunnel whose end nobody listens at
        (exec_curl healthz '' -m 10 -o /dev/null) && die "the answer was cut off"
        die "the answer was cut off: $(failure_text "$?")" ;;
    23)
        [ -p /dev/stdout ] || [ -S /dev/stdout ] || die "cannot write the answer"
        die_of_pipe ;;
    *) die "$(failure_text "$status")" ;;
    esac
}

# Prints why the daemon has refused the request, and what in the command may have led to it.
report_refusal() {
    case $text in
    'no trace files found')
        case $where in *'data = recursive=false'*) text="$text (-r includes the directories below)" ;; esac ;;
    'this daemon serves the user'*)
        [ -z "${DFTRACERD_TOKEN:-}" ] || die "$text; the token in \$DFTRACERD_TOKEN is wrong"
        die "$text (set \$DFTRACERD_TOKEN)" ;;
    'no such directory: '* | 'no such file: '*) [ -z "$named" ] || die "$text, for the daemon at ${socket:-$url}; dftracerctl info --json --url ... lists what it serves" ;;
    esac
    text=${text:-the daemon refused the request; try again}
    case $command in pgzip) text=${file:+$file: }$text ;; esac
    die "$text"
}

# Prints why there was no answer at all, by curl's exit status.
failure_text() {
    # shellcheck disable=SC2016 # names of variables
    case $1 in
    5 | 6 | 7) printf 'no daemon answers at %s' "${socket:-$url}" ;;
    1 | 3 | 37) printf 'not a valid URL: the address %s, or the path after it' "$url" ;;
    28) printf 'no answer in time from %s' "${socket:-$url}" ;;
    35) printf 'no TLS connection to %s: does the daemon use TLS (https)?' "$url" ;;
    52 | 56) printf '%s accepts connections but does not answer: is it a tunnel without a daemon at its end, or does the daemon require TLS (https)?' "${socket:-$url}" ;;
    58) printf 'cannot use the certificate in $DFTRACERD_CERT or its key ($DFTRACERD_KEY)' ;;
    60) printf 'the certificate of %s is not trusted, has expired, or is for another name; $CURL_CA_BUNDLE names a file of trusted authorities' "$url" ;;
    *) printf 'curl failed with exit status %s (curl --manual explains it)' "$1" ;;
    esac
}

# read_answer ENDPOINT FORM ...: as send_request, into $answer.
read_answer() {
    keeping=yes
    send_request "$@"
    keeping=
}

# send_change ENDPOINT FORM ...: what changes something; pages of other sites cannot send such a header.
send_change() {
    send_request "$@" -X POST -H 'X-Requested-With: dftracerctl'
}

# read_numbers NAME...: variables of these names have the first numbers of these names in $facts, which are those of all files.
files='' files_ready='' files_failed='' bytes='' bytes_done='' compressed_bytes='' uncompressed_bytes='' lines='' chunks='' events=''
read_numbers() {
    for name; do
        # shellcheck disable=SC2034 # eval uses it
        number=${facts#*\""$name"\":}
        eval "$name=\${number%%[!0-9]*}"
    done
}

# Prints the directory of the index that /info names.
index_path() {
    sed -n 's/.*"index":{"path":"\([^"]*\)".*/\1/p'
}

# watch FUNCTION: each second, a line on the terminal.
watcher=
watch() {
    [ -t 2 ] || return 0
    while sleep 1; do
        "$1"
    done >&2 2>/dev/null &
    watcher=$!
}

unwatch() {
    [ -n "$watcher" ] || return 0
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
    watcher='' ended=${!-}
    printf '\r\033[K' >&2
}

# Of all files that the daemon has, if those that were selected fill more than a URL.
show_indexing() {
    [ ${#where} -lt 10000 ] || where=
    strict=
    facts=$(exec_curl index "$where" -G) && read_numbers bytes bytes_done files files_ready && [ "${bytes:-0}" -gt 0 ] || return
    printf '\r\033[Kindexing: %s of %s files, %s %%' "$files_ready" "$files" $((bytes_done * 100 / bytes))
}

# What a daemon that has just been started has found.
wait_for_listing() {
    read_answer info 'data-urlencode = "file=?"' --data wait=fresh
}

# What precedes a request: -f, --no-auto-index. The answer has what was written by now, and is not empty.
prepare_index() {
    if [ -n "$force" ]; then
        wait_for_listing
        send_change index "$where" --data force=true >/dev/null
    fi
    if [ "$wait" = no ]; then
        wait_for_listing
        read_answer info "$where" --data detail=files --data wait=no
        lacking=$(printf '%s\n' "$answer" | sed 's/{"path":/\
&/g' | sed -n 's/^{"path":"\([^"\\]*\(\\.[^"\\]*\)*\)","state":"[ip][a-z]*ing".*/  \1/p')
        [ -z "$lacking" ] || die "not indexed yet:$newline$lacking"
    fi
    [ -n "$checked" ] || strict='data = strict=true'
}

# wait_for_index: waits for the index; $facts are what /info says.
wait_for_index() {
    prepare_index
    watch show_indexing
    read_answer info "$where" --data "wait=$wait"
    unwatch
    facts=$answer
    [ "$wait" = no ] || wait=ready
}

# One request does it all; on a terminal there is one more before it, whose progress is shown.
prepare_request() {
    if [ -t 2 ]; then wait_for_index; else prepare_index; fi
}

# print_answer ENDPOINT [PARAMETER]: to $output or standard output.
print_answer() {
    prepare_request
    set -- "$1" "$where$fields" --data "wait=$wait" ${2:+--data} ${2:+"$2"}
    deliver "$@"
}
