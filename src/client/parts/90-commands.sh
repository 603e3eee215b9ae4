
# ---- the commands ------------------------------------------------------------------------------------------

command -v curl >/dev/null || die "curl is required"
[ "$command" != doctor ] || { doctor; exit; }
clean_up() {
    [ "${!-}" = "$ended" ] || kill "$!" 2>/dev/null
    [ -z "$part" ] || rm -rf -- "$part"
    unwatch
    for file in $aside; do
        [ -e "$file" ] || mv -- "$file.old.$$" "$file"
    done
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
trapped=yes

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
call_tree,*) [ -n "$inputs" ] || wrong "INPUT is required: trace files or directories" ;;
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
plain=
case $command in
pgzip) # the uncompressed traces of the directory itself
    add_directory "${directory:-.}"
    set +f
    for name in "$path"/*.pfw "$path"/.*.pfw; do
        case $name in *"$newline"*) continue ;; esac
        ! [ -f "$name" ] || plain=$plain$name$newline
    done
    set -f ;;
reconstruct) # which selects no traces
    [ -n "$directory" ] || wrong "--directory is required"
    [ -f "$directory" ] || add_directory "$directory"
    fields=$where where= ;;
reader | tar) [ -n "$where" ] || wrong "FILE is required" ;;
*) [ -n "$where$url$socket" ] || add_directory . ;;
esac
case $where in
*' = "dir='*) where="$where${newline}data = recursive=${recursive:-false}" ;;
esac
if [ -n "$file" ] && is_local "$file"; then
    case $command,$check in
    reader,) read_here ;;
    reader,*) exit 1 ;; # there is no index of it
    tar,*) describe_here ;;
    esac
    exit
fi
[ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
named=$url$socket
if [ -z "$named" ]; then
    name_places
    reach
fi
[ -z "$socket" ] || url=http://localhost
url=${url%/}
if [ -n "$index_dir" ] && [ -z "$started" ]; then # it comes too late, unless the index is below it: another command has started that daemon
    keep info '' -G -m 10
    place=$(printf '%s\n' "$answer" | index_path)
    base=$(cd -- "$index_dir" 2>/dev/null && pwd -P)
    case $place in
    "${base:-/ }"/*) ;;
    *) printf 'dftracerctl: --index-dir %s is ignored: a daemon already serves this directory; its index is in %s\n' "$index_dir" "${place:-another place}" >&2 ;;
    esac
fi

case $command in
info)
    if [ -n "$detail" ]; then
        add query "$detail"
        answer info "format=${format:-text}"
        exit 0
    fi
    ready
    keep info "$where" --data "format=${format:-text}" --data "wait=$wait"
    printf '%s\n' "$answer"
    case $answer in # as dftracer_info has it: totals with failed files are no success
    *'"files_failed":0,'* | *'Failed:                 0'*) ;;
    *) exit 1 ;;
    esac
    ;;
stats)
    [ "$old_name$format" != yesjson ] || add per_file true
    answer stats "format=${format:-text}" ;;
get)
    [ -n "$request" ] || wrong "PATH is required, for example /stats"
    [ -z "$started" ] || wait_for_listing
    set -- "$request" "$fields" -gN
    [ ${#fields} -ge 4000 ] || set -- "$@" -G # longer ones are no URL
    deliver "$@" ;;
requests) ask requests '' -G --data "format=${format:-text}" ;;
processes) answer processes "format=${format:-text}" ;;
event_count) answer event-count ;;
view)
    [ -n "$fields$recipe" ] || die "No view specified. Use --preset, --recipe, or --query."
    [ -z "$metadata" ] || add metadata false
    if [ -n "$recipe" ]; then
        [ -r "$recipe" ] || die "cannot read $recipe"
        add recipe "$(cat -- "$recipe")"
    fi
    if [ -n "$save" ]; then
        ready
        ask_into "$save" view "$where$fields" --data "wait=$wait" --data format=recipe
        force=
    fi
    answer view ;;
aggregator)
    case ${format:=json},${level:=6} in
    json,[0-9] | arrow,[0-9] | arrow-stream,[0-9] | ndjson,[0-9] | csv,[0-9] | text,[0-9]) ;;
    *,[0-9]) die "--format $format: must be json, arrow, arrow-stream, ndjson, csv or text" ;;
    *) die "--compression-level $level: must be 0 to 9" ;;
    esac
    output=${output:-aggregated_output.json}
    suffix=
    [ "$format" != arrow ] || suffix=.arrows
    for ending in $suffix ${compress:+.gz}; do
        ! is_device "$output" || break
        case $output in
        - | *"$ending") ;;
        *) output=$output$ending ;;
        esac
    done
    if [ "$format" = json ]; then
        format=perfetto
        case ${event_format:=counter} in
        counter) event_format=dftracer ;;
        perfetto) event_format=counter ;;
        esac
    fi
    [ -z "$event_format" ] || add event_format "$event_format"
    ready
    set -- aggregate "$where$fields" --data "format=$format" --data "wait=$wait"
    if [ -n "$compress" ]; then deliver_compressed "$@"; else deliver "$@"; fi ;;
comparator)
    [ "${format:-table}" != table ] || format=text
    [ -z "$fail_on" ] || add fail_on "$fail_on"
    all=$where
    for kind in dir file; do # files beside directories would be looked for in these
        where=$(printf '%s\n' "$all" | grep -e "^data-urlencode = \"$kind=" -e '^data = ')
        checked=
        case $where in *"\"$kind="*) prepare ;; esac
    done
    [ ! -t 1 ] || [ "${output:--}" != - ] || fields="$fields${newline}data = terminal=true&color=${color:-true}"
    set -- compare "$fields" --data "recursive=${recursive:-false}" --data "wait=$wait"
    deliver "$@" --data "format=$format"
    [ -n "$fail_on" ] || exit 0
    keep "$@" --data format=json
    case $answer in *'"failed":false'*) exit 0 ;; esac
    printf 'dftracerctl: at least one operation is worse by an effect size of %s or more\n' "$fail_on" >&2
    exit 3 ;;
call_tree)
    first=${inputs%%"$newline"*}
    first=${first%/}
    case ${first##*/} in
    '' | . | ..) first=call_tree ;;
    esac
    output=${output:-${first##*/}.calltree}
    ready
    [ -z "$detail" ] || ask info "$where" --data format=text --data query=detailed
    set -- call-tree "$where$fields" --data "wait=$wait"
    keep "$@" --data format=text
    if [ -n "$brief" ]; then # a tree begins with an empty line; with a focus there are two
        case $fields in *'"focus='*) trees=2 ;; *) trees=1 ;; esac
        printf '%s\n' "$answer" | awk -v trees="$trees" 'NF == 0 { part++ } part == 0 || part > trees'
    else
        printf '%s\n' "$answer"
    fi
    [ "$save" != no ] || exit 0
    ask_into "$output" "$@" --data format=json
    [ -z "$trace" ] || ask_into "${output%.calltree}.pfw" call-tree "$where" --data "wait=$wait" --data format=perfetto
    [ -z "$text_file" ] || printf '%s\n' "$answer" >"$text_file" || die "cannot write $text_file" ;;
reader)
    if [ -n "$check" ]; then
        wait_for_listing
        keep read "$where" --data check=true --data wait=no
        case $answer in *'"current":true'*) exit 0 ;; esac
        exit 1
    fi
    add start "$start"
    add end "$end"
    add mode "$mode"
    answer read ;;
tar)
    prepare
    keep tar "$where" --data list=false --data "wait=$wait"
    case $answer,$file in
    *'"archives":[]'*,*.gz)
        numbers uncompressed_bytes lines chunks
        place=$(printf '%s\n' "$facts" | index_path)
        describe_gzip "${path%/}$rest" "${place:-none}" "$uncompressed_bytes" "$lines" "$chunks"
        exit 0 ;;
    esac
    case $build,$answer in
    ,*'"state":"failed"'* | ,*'"archives":[]'* | true,*) ;;
    *) ask tar "$where" --data format=text --data "wait=$wait" --data "list=${members:-false}" ${brief:+--data} ${brief:+info=true} ;;
    esac
    case $answer in
    *'"archives":[]'*) die "this is not a tar archive" ;;
    *'"state":"failed"'* | *'"state":"damaged"'*)
        die "$(printf '%s\n' "$answer" | sed -n -e 's/.*"state":"failed","error":"\([^"\\]*\)".*/cannot read the archive: \1/p' \
            -e 's/.*"state":"damaged","error":"\([^"\\]*\)".*/cannot read the whole archive: \1/p')" ;;
    esac
    ;;
index)
    read -r begin _ 2>/dev/null </proc/uptime || begin=$(date +%s)
    case $started$where in yes* | *' = "file='*) wait_for_listing ;; esac
    keeping=yes
    change index "$where$fields" --data "force=${force:-false}"
    keeping='' facts=$answer
    numbers files_ready
    ready=$files_ready
    [ "$force" != true ] || ready=0 # all are indexed again, some perhaps before the answer came
    force=
    prepare
    read -r now _ 2>/dev/null </proc/uptime || now=$(date +%s)
    numbers files files_failed chunks events
    printf 'Indexed in %s s: %s files processed, %s skipped (%s of them failed), %s chunks, %s events\n' \
        $((${now%%[. ]*} - ${begin%%[. ]*})) $((files - ready - files_failed)) $((ready + files_failed)) "$files_failed" "$chunks" "$events"
    ;;
merge)
    case ${output:=combined.pfw} in
    *.pfw) ;;
    *) die "--output $output: the name must end with .pfw" ;;
    esac
    suffix=${compress:+.gz}
    gzip_level "${compress:-false}"
    for file in "$output" "$output.gz"; do # they are no input, and come back if merging fails
        [ -e "$file" ] || continue
        [ -n "$force" ] || die "$file already exists; -f replaces it"
        mv -- "$file" "$file.old.$$" || exit 1
        aside=$aside$file$newline
    done
    prepare
    numbers files
    count=$files
    if [ -n "$gzip_only" ]; then
        keep info "$where" --data detail=files --data wait=no
        count=$(printf '%s\n' "$answer" | awk '{ n += gsub(/"format":"gzip"/, "") } END { print n + 0 }')
        [ "$count" != 0 ] || die "no compressed trace files found"
    fi
    set -- merge "$where$fields" --data "compress=$level" --data "gzip_only=${gzip_only:-false}" --data "wait=$wait"
    if [ -n "$verify" ]; then
        unpack "$output" manifest.json "$@" --data format=tar --data verify=true
        judge_manifest || exit 1
        mv -f -- "$part/combined.pfw$suffix" "$output$suffix" && rm -rf -- "$part" || exit 1
        part=
    else
        ask_into "$output$suffix" "$@" --data format=pfw
    fi
    for file in $aside; do
        rm -f -- "$file.old.$$"
    done
    aside=
    [ -z "$detail" ] || printf 'Merged %s files into %s\n' "$count" "$output$suffix" ;;
split)
    output=${output:-./split}
    gzip_level "${compress:-true}"
    case ${chunk_size:=4} in
    *[!0-9]* | 0*) die "--chunk-size $chunk_size: must be a number of MB" ;;
    esac
    earlier_parts
    prepare
    unpack "$output" manifest.json split "$where$fields" --data-urlencode "app_name=$app" --data "compress=$level" \
        --data "chunk_size=${chunk_size}MB" --data "verify=${verify:-false}" --data "wait=$wait"
    judge_manifest || exit 1
    rm -- "$part/manifest.json"
    set +f
    set -- "$part"/*
    set -f
    [ -e "$1" ] || die "there is nothing to split"
    earlier_parts
    settle '' "$earlier"
    numbers files
    [ -z "$detail" ] || printf 'Split %s files into %s in %s\n' "$files" "$#" "$output" ;;
organize | reconstruct)
    [ -n "$output" ] || wrong "--output is required"
    last=reconstruct.json
    set -- "reconstruct?compress=${compress:-as_was}" "$fields"
    [ -n "$fields" ] || set -- "$@" -X POST -H 'Content-Type: application/x-tar' -gT "$directory"
    if [ "$command" = organize ]; then
        case $fields in *'"groups='*) ;; *) wrong "--groups is required" ;; esac
        case ${chunk_size:=256} in
        0) chunk_size=1000000000 ;; # all
        *[!0-9]* | 0*) die "--chunk-size $chunk_size: must be a number of MB" ;;
        esac
        gzip_level "${compress:-true}"
    fi
    [ -n "$force" ] || ! [ -d "$output" ] || [ -z "$(ls -A -- "$output")" ] || die "$output is not empty; -f replaces the files of an earlier run"
    if [ "$command" = organize ]; then
        prepare
        last=manifest.json
        set -- organize "$where$fields" --data "compress=$level" --data "chunk_size=${chunk_size}MiB" --data "wait=$wait"
    fi
    unpack "$output" "$last" "$@"
    said=$(tell "$part/$last") && outcome=0 || outcome=1
    settle "$last" "$([ "$command" = reconstruct ] || earlier_groups)"
    printf '%s\n' "$said"
    exit "$outcome" ;;
pgzip)
    [ -n "$plain" ] || { printf 'No .pfw files in %s\n' "${directory:-.}" && exit 0; }
    prepare
    failed=0
    for file in $plain; do
        [ -s "$file" ] || { printf 'dftracerctl: %s is empty\n' "$file" >&2 && failed=1 && continue; }
        (trapped='' && pack_plain "$file") || failed=1
    done
    exit "$failed" ;;
gen_dlio_config)
    [ -n "$output" ] || wrong "--output is required"
    answer dlio-config "format=${format:-yaml}" ;;
replay)
    find_program dftracerd-replay || die "no dftracerd-replay program was found next to this program or in \$PATH"
    prepare
    case $passed in
    *--dry-run* | *--dftracer-mode* | *--prepare=none*) twice= ;;
    *) twice=--twice ;;
    esac
    columns=ph,name,cat,host,pid,tid,ts,dur,file,args.ret,args.count,args.size,args.offset,args.fd,args.flags,args.mode
    columns=$columns,args.length,args.whence,args.newpath,args.newpath_hash,args.path2,args.path2_hash
    # Events in order of time, perhaps two times. The program has to notice if they are not complete.
    # shellcheck disable=SC2086 # a line each
    {
        (
            trapped=
            ask view "$where" --data format=ndjson --data select=ph,name,args.name,args.value --data phase=metadata \
                --data-urlencode 'query=name == "FH"' --data "wait=$wait"
            for round in ${twice:+first} last; do
                ask view "$where$fields" --data format=ndjson --data "select=$columns" --data order=ts --data "wait=$wait"
                [ "$round" = last ] || printf '{"name":"replay","ph":"M","replay":"again"}\n'
            done
        ) || printf '{"error":"the request failed"}\n'
    } | "$program" $twice $passed ;;
esac
