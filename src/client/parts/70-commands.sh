# ---- the commands ------------------------------------------------------------------------------------------

command -v curl >/dev/null || die "curl is required"
[ "$command" != doctor ] || { doctor; exit; }
clean_up() {
    end_getter
    [ -z "$part" ] || rm -rf -- "$part"
    unwatch
    put_back
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
trapped=yes

if [ -n "$config" ]; then
    [ -r "$config" ] || die "cannot read $config"
    add config "$(cat -- "$config")"
    for name in baseline variant; do add_configured "$name"; done
fi
case $command,$fields in
comparator,*'"baseline='*'"variant='* | comparator,*'"variant='*'"baseline='* | comparator,*'"config='* | call_tree,* | [!c]*) ;;
*) die "--baseline and --variant are required, or --config" ;;
esac
[ "$command" != replay ] || [ -n "$inputs$where$url$socket" ] || die "INPUT is required: trace files or directories"
[ "$command" != call_tree ] || [ -n "$inputs" ] || wrong "INPUT is required: trace files or directories"
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
[ "$command" != pgzip ] || plain_traces "${directory:-.}"
if [ "$command" = reconstruct ]; then # which chooses no traces
    [ -n "$directory" ] || wrong "--directory is required"
    if ! [ -f "$directory" ]; then
        add_directory "$directory"
        fields=$where where=
    fi
fi
[ -n "$where$url$socket" ] || [ "$command" = reconstruct ] || [ "$command" = reader ] || [ "$command" = tar ] || add_directory .
case $where in
*' = "dir='*) where="$where${newline}data = recursive=${recursive:-false}" ;;
esac
if [ -n "$file" ] && is_local "$file"; then
    case $command,$check in
    reader,) read_here ;;
    reader,*) exit 1 ;; # there is no index of it
    tar,*) tell_here ;;
    esac
    exit
fi
[ -n "$url$socket" ] || url=${DFTRACERD_URL:-}
named=$url$socket
[ -n "$named" ] || reach
[ -z "$socket" ] || url=http://localhost
url=${url%/}
[ -z "$index_dir" ] || [ -n "$started" ] || check_index_dir

case $command in
info)
    prepare
    [ -z "$detail" ] || add query "$detail"
    ask info "$where$fields" --data "format=${format:-text}" --data "wait=$wait" || exit 1
    # As dftracer_info has it: totals with failed files are no success.
    [ -n "$detail" ] || [ "$(number files_failed)" = 0 ]
    ;;
stats)
    [ -z "$groups" ] || add group_by "$groups"
    prepare
    [ "$old_name$format" != yesjson ] || add per_file true
    ask stats "$where$fields" --data "format=${format:-text}" --data "wait=$wait"
    ;;
get)
    [ -n "$request" ] || wrong "PATH is required, for example /stats"
    [ -z "$reached" ] || wait_for_listing
    set -- "$request" "$fields" -gN
    [ ${#fields} -ge 4000 ] || set -- "$@" -G # longer ones are no URL
    if [ -n "$output" ]; then ask_into "$output" "$@"; else ask "$@"; fi
    ;;
requests) ask requests '' -G --data "format=${format:-text}" ;;
processes)
    prepare
    set -- processes "$where$fields" --data "format=${format:-text}" --data "wait=$wait"
    if [ -n "$output" ]; then ask_into "$output" "$@"; else ask "$@"; fi
    ;;
view)
    [ -n "$fields$recipe" ] || die "No view specified. Use --preset, --recipe, or --query."
    [ -z "$metadata" ] || add metadata false
    if [ -n "$recipe" ]; then
        [ -r "$recipe" ] || die "cannot read $recipe"
        add recipe "$(cat -- "$recipe")"
    fi
    prepare
    set -- view "$where$fields" --data "wait=$wait"
    [ -z "$save" ] || ask_into "$save" "$@" --data format=recipe
    case $output in
    '' | -) ask "$@" ;;
    *) ask_into "$output" "$@" ;;
    esac
    ;;
aggregator)
    case ${format:=json},${level:=6} in
    json,[0-9] | arrow,[0-9] | arrow-stream,[0-9] | ndjson,[0-9] | csv,[0-9] | text,[0-9]) ;;
    *,[0-9]) die "--format $format: must be json, arrow, arrow-stream, ndjson, csv or text" ;;
    *) die "--compression-level $level: must be 0 to 9" ;;
    esac
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
    [ -z "$percentiles" ] || add compute_percentiles true
    [ -z "$parents" ] || add track_process_parents false
    prepare
    set -- aggregate "$where$fields" --data "format=$format" --data "wait=$wait"
    case ${compress:-plain},$output in
    plain,-) ask "$@" ;;
    plain,*) ask_into "$output" "$@" ;;
    *) ask_packed "$output" "$@" ;;
    esac
    ;;
comparator)
    [ "${format:-table}" != table ] || format=text
    [ -z "$fail_on" ] || add fail_on "$fail_on"
    all=$where
    for kind in dir file; do # files beside directories would be looked for in these
        where=$(printf '%s\n' "$all" | grep -e "^data-urlencode = \"$kind=" -e '^data = ')
        case $where in *"\"$kind="*) prepare ;; esac
    done
    [ ! -t 1 ] || [ "${output:--}" != - ] || fields="$fields${newline}data = terminal=true&color=${color:-true}"
    set -- compare "$fields" --data "recursive=${recursive:-false}" --data "wait=$wait"
    case $output in
    '' | -) ask "$@" --data "format=$format" ;;
    *) ask_into "$output" "$@" --data "format=$format" ;;
    esac
    [ -n "$fail_on" ] || exit 0
    facts=$(ask "$@" --data format=json) || exit 1
    case $facts in *'"failed":false'*) exit 0 ;; esac
    printf 'dftracerctl: at least one operation is worse by an effect size of %s or more\n' "$fail_on" >&2 && exit 3
    ;;
call_tree)
    first=${inputs%%"$newline"*}
    first=${first%/}
    case ${first##*/} in
    '' | . | ..) first=call_tree ;;
    esac
    [ -n "$output" ] || output=${first##*/}.calltree
    [ -z "$groups" ] || add group_by "$groups"
    prepare
    [ -z "$detail" ] || ask info "$where" --data format=text --data query=detailed || exit 1
    set -- call-tree "$where$fields" --data "wait=$wait"
    printed=$(ask "$@" --data format=text --data "analyze=${analyze:-false}" && echo .) || exit 1
    printed=${printed%.}
    if [ -n "$brief" ]; then # a tree begins with an empty line; with a focus there are two
        case $fields in
        *'"focus='*) trees=2 ;;
        *) trees=1 ;;
        esac
        printf '%s' "$printed" | awk -v trees="$trees" 'NF == 0 { part++ } part == 0 || part > trees'
    else
        printf '%s' "$printed"
    fi
    [ "$save" != no ] || exit 0
    ask_into "$output" "$@" --data format=json --data "analyze=${analyze:-false}"
    [ -z "$trace" ] || ask_into "${output%.calltree}.pfw" call-tree "$where" --data "wait=$wait" --data format=perfetto
    [ -z "$text_file" ] || printf '%s' "$printed" >"$text_file" || die "cannot write $text_file"
    ;;
event_count)
    prepare
    ask event-count "$where$fields" --data "wait=$wait"
    ;;
reader)
    [ -n "$where" ] || wrong "FILE is required"
    if [ -n "$check" ]; then
        wait_for_listing
        case $(ask read "$where" --data check=true --data wait=no) in
        *'"current":true'*) exit 0 ;;
        *) exit 1 ;;
        esac
    fi
    prepare
    ask read "$where$fields" --data "wait=$wait"
    ;;
tar)
    [ -n "$where" ] || wrong "FILE is required"
    prepare
    about=$facts
    facts=$(ask tar "$where" --data list=false --data "wait=$wait") || exit 1
    case $facts,$file in
    *'"archives":[]'*,*.gz)
        facts=$about
        place=$(printf '%s\n' "$facts" | sed -n 's/.*"index":{"path":"\([^"]*\)".*/\1/p')
        tell_gzip "${path%/}$rest" "${place:-none}" "$(number uncompressed_bytes)" "$(number lines)" "$(number chunks)"
        exit 0
        ;;
    esac
    case $build,$facts in
    ,*'"state":"failed"'* | ,*'"archives":[]'* | true,*) ;;
    *) ask tar "$where" --data format=text --data "wait=$wait" --data "list=${members:-false}" ${brief:+--data} ${brief:+info=true} ;;
    esac
    tell_archive
    ;;
index)
    begin=$(date +%s)
    wait_for_listing
    facts=$(change index "$where$fields" --data "force=${force:-false}") || exit 1
    ready=$(number files_ready)
    [ "$force" != true ] || ready=0 # all are done anew, some perhaps before the answer came
    force=''
    prepare
    failed=$(number files_failed)
    printf 'Indexed in %s s: %s files processed, %s skipped (%s of them failed), %s chunks, %s events\n' \
        $(($(date +%s) - begin)) $(($(number files) - ready - failed)) $((ready + failed)) "$failed" \
        "$(number chunks)" "$(number events)"
    ;;
merge)
    case ${output:=combined.pfw} in
    *.pfw) ;;
    *) die "--output $output: the name must end with .pfw" ;;
    esac
    suffix=${compress:+.gz}
    level=$(level_of "${compress:-false}") || exit 1
    unused "$output" "$output.gz"
    put_aside "$output" "$output.gz" # they are no input
    prepare
    count=$(number files)
    [ -z "$gzip_only" ] || count=$(count_packed) || exit 1
    set -- merge "$where$fields" --data "compress=$level" --data "gzip_only=${gzip_only:-false}" --data "wait=$wait"
    if [ -n "$verify" ]; then
        unpack "$output" manifest.json "$@" --data format=tar --data verify=true
        manifest=$part/manifest.json
        judge_manifest
        [ "$verified" = true ] || exit 1
        mv -f -- "$part/combined.pfw$suffix" "$output$suffix" && rm -rf -- "$part" || exit 1
        part=
    else
        ask_into "$output$suffix" "$@" --data format=pfw
    fi
    forget_aside
    [ -z "$detail" ] || printf 'Merged %s files into %s\n' "$count" "$output$suffix"
    ;;
split)
    output=${output:-./split}
    level=$(level_of "${compress:-true}") || exit 1
    case ${chunk_size:=4} in
    *[!0-9]* | 0*) die "--chunk-size $chunk_size: must be a number of MB" ;;
    esac
    refuse_parts
    prepare
    unpack "$output" manifest.json split "$where$fields" --data "compress=$level" --data "chunk_size=${chunk_size}MB" \
        --data "verify=${verify:-false}" --data "wait=$wait"
    manifest=$part/manifest.json
    judge_manifest
    [ "${verified:-true}" = true ] || exit 1
    rm -- "$manifest"
    set +f
    set -- "$part"/*
    set -f
    [ -e "$1" ] || die "there is nothing to split"
    refuse_parts
    earlier_parts | for_each rm -f --
    settle
    [ -z "$detail" ] || printf 'Split %s files into %s in %s\n' "$(number files)" "$#" "$output"
    ;;
organize)
    [ -n "$output" ] || wrong "--output is required"
    case $fields in *'"groups='*) ;; *) wrong "--groups is required" ;; esac
    case ${chunk_size:=256} in
    0) chunk_size=1000000000 ;; # all
    *[!0-9]* | 0*) die "--chunk-size $chunk_size: must be a number of MB" ;;
    esac
    level=$(level_of "${compress:-true}") || exit 1
    vacant "$output"
    prepare
    unpack "$output" manifest.json organize "$where$fields" --data "compress=$level" --data "chunk_size=${chunk_size}MiB" \
        --data "drop_rest=${drop:-false}" --data "wait=$wait"
    told=$(tell_groups "$part/manifest.json")
    tell_unread "$part/manifest.json" && outcome=0 || outcome=1
    settle_tree manifest.json
    printf '%s\n' "$told"
    exit "$outcome"
    ;;
reconstruct)
    [ -n "$output" ] || wrong "--output is required"
    vacant "$output"
    set -- "reconstruct?compress=${compress:-as_was}" "$fields"
    [ -n "$fields" ] || set -- "$@" -X POST -H 'Content-Type: application/x-tar' -gT "$directory"
    unpack "$output" reconstruct.json "$@"
    manifest=$part/reconstruct.json
    told=$(tell_originals) && outcome=0 || outcome=1
    settle_tree reconstruct.json
    printf '%s\n' "$told"
    exit "$outcome"
    ;;
pgzip)
    [ -n "$plain" ] || { printf 'No .pfw files in %s\n' "${directory:-.}" && exit 0; }
    prepare
    failed=0
    for file in $plain; do
        [ -s "$file" ] || { printf 'dftracerctl: %s is empty\n' "$file" >&2 && failed=1 && continue; }
        (pack_plain "$file") || failed=1
    done
    exit "$failed"
    ;;
gen_dlio_config)
    [ -n "$output" ] || wrong "--output is required"
    prepare
    set -- dlio-config "$where$fields" --data "format=${format:-yaml}" --data "wait=$wait"
    if [ "$output" = - ]; then ask "$@"; else ask_into "$output" "$@"; fi
    ;;
replay)
    find_program dftracerd-replay || die "no dftracerd-replay program was found next to this program or in \$PATH"
    prepare
    case $passed in
    *--dry-run* | *--dftracer-mode* | *--prepare=none*) twice= ;;
    *) twice=--twice ;;
    esac
    # shellcheck disable=SC2086 # one a line
    replay_events "$twice" | "$program" $twice $passed
    ;;
esac
