
# ---- commands that print an answer, or write it to one file --------------------------------------------------

# answer_command: does $command.
answer_command() {
    case $command in
    info)
        [ -z "$detail" ] || add query "$detail"
        prepare_request
        set -- info "$where$fields" --data "format=${format:-text}" --data "wait=$wait"
        [ -z "$detail" ] || { send_request "$@" && exit; }
        read_answer "$@"
        print_text "$answer"
        case $answer in # as dftracer_info has it: totals with failed files are no success
        *'"files_failed":0,'* | *'Failed:                 0'*) ;;
        *) exit 1 ;;
        esac
        ;;
    stats)
        [ "$old_name$format" != yesjson ] || add per_file true
        print_answer stats "format=${format:-text}" ;;
    get)
        [ -n "$request" ] || usage_error "PATH is required, for example /stats"
        [ -z "$started" ] || wait_for_listing
        set -- "${request#/}" "$fields" -gN
        [ ${#fields} -ge 4000 ] || set -- "$@" -G # longer ones are no URL
        deliver "$@" ;;
    requests) send_request requests '' -G --data "format=${format:-text}" ;;
    processes) print_answer processes "format=${format:-text}" ;;
    event_count) print_answer event-count ;;
    view)
        [ -n "$fields$recipe" ] || die "No view specified. Use --preset, --recipe, or --query."
        [ -z "$metadata" ] || add metadata false
        if [ -n "$recipe" ]; then
            [ -r "$recipe" ] || die "cannot read $recipe"
            add recipe "$(cat -- "$recipe")"
        fi
        if [ -n "$save" ]; then
            prepare_request
            write_answer "$save" view "$where$fields" --data "wait=$wait" --data format=recipe
            force=
        fi
        print_answer view ;;
    aggregator)
        level=${level:-6}
        gzip_level true
        [ -z "$compress" ] || add gzip_level "$level"
        output=${output:-aggregated_output.json} suffix=
        case ${format:=json},${event_format:-counter} in
        json,counter) event_format=dftracer ;;
        json,perfetto) event_format=counter ;;
        json,* | arrow-stream,* | ndjson,* | csv,* | text,*) ;;
        arrow,*) suffix=.arrows ;;
        *) die "--format $format: must be json, arrow, arrow-stream, ndjson, csv or text" ;;
        esac
        for ending in $suffix ${compress:+.gz}; do
            is_device "$output" || case $output in - | *"$ending") ;; *) output=$output$ending ;; esac
        done
        [ "$format" != json ] || format=perfetto
        [ -z "$event_format" ] || add event_format "$event_format"
        print_answer aggregate "format=$format" ;;
    comparator)
        [ "${format:-table}" != table ] || format=text
        [ -z "$fail_on" ] || add fail_on "$fail_on"
        all=$where
        for kind in dir file; do # files beside directories would be looked for in these
            where=$(printf '%s\n' "$all" | grep -e "^data-urlencode = \"$kind=" -e '^data = ')
            checked=
            case $where in *"\"$kind="*) wait_for_index ;; esac
        done
        [ ! -t 1 ] || [ "${output:--}" != - ] || fields="$fields${newline}data = terminal=true&color=${color:-true}"
        strict='data = strict=true' # each side has files
        set -- compare "$fields" --data "recursive=${recursive:-false}" --data "wait=$wait"
        deliver "$@" --data "format=$format"
        [ -n "$fail_on" ] || exit 0
        read_answer "$@" --data format=json
        case $answer in *'"failed":false'*) exit 0 ;; esac
        printf 'dftracerctl: at least one operation is worse by an effect size of %s or more\n' "$fail_on" >&2
        exit 3 ;;
    call_tree)
        first=${inputs%%"$newline"*}
        first=${first%/}
        case ${first##*/} in
        '' | . | ..) first=call_tree ;;
        esac
        output=${output:-${first##*/}.calltree} trace=${trace:+${output%.calltree}.pfw}
        # What is no call tree may be a trace, perhaps the one that is read.
        ! [ -s "$trace" ] || [ "$(head -c 15 -- "$trace" | tr -d '\0')" = '{"traceEvents":' ] ||
            die "$trace already exists and is not a call tree: choose another --output"
        prepare_request
        [ -z "$detail" ] || send_request info "$where" --data format=text --data query=detailed
        set -- call-tree "$where$fields" --data "wait=$wait"
        read_answer "$@" --data format=text
        if [ -n "$brief" ]; then # a tree begins with an empty line; with a focus there are two
            case $fields in *'"focus='*) trees=2 ;; *) trees=1 ;; esac
            answer=$(printf '%s\n' "$answer" | awk -v trees="$trees" 'NF == 0 { part++ } part == 0 || part > trees')
        fi
        print_text "$answer"
        [ "$save" != no ] || exit 0
        write_answer "$output" "$@" --data format=json
        [ -z "$trace" ] || write_answer "$trace" call-tree "$where" --data "wait=$wait" --data format=perfetto
        [ -z "$text_file" ] || printf '%s\n' "$answer" >"$text_file" || die "cannot write $text_file" ;;
    reader)
        if [ -n "$check" ]; then
            wait_for_listing
            read_answer read "$where" --data check=true --data wait=no
            case $answer in *'"current":true'*) exit 0 ;; esac
            exit 1
        fi
        add start "$start"
        add end "$end"
        add mode "$mode"
        print_answer read ;;
    tar)
        wait_for_index
        read_answer tar "$where" --data list=false --data "wait=$wait"
        case $answer,$file in
        *'"archives":[]'*,*.gz)
            read_numbers uncompressed_bytes lines chunks
            place=$(printf '%s\n' "$facts" | index_path)
            describe_gzip "${path%/}$rest" "${place:-none}" "$uncompressed_bytes" "$lines" "$chunks"
            exit 0 ;;
        *'"archives":[]'*) die "this is not a tar archive" ;;
        esac
        case $build,$answer in
        ,*'"state":"failed"'* | true,*) ;;
        *) send_request tar "$where" --data format=text --data "wait=$wait" --data "list=${members:-false}" ${brief:+--data} ${brief:+info=true} ;;
        esac
        case $answer in
        *'"state":"failed"'* | *'"state":"damaged"'*)
            die "$(printf '%s\n' "$answer" | sed -n -e 's/.*"state":"failed","error":"\([^"\\]*\)".*/cannot read the archive: \1/p' \
                -e 's/.*"state":"damaged","error":"\([^"\\]*\)".*/cannot read the whole archive: \1/p')" ;;
        esac
        ;;
    index)
        read -r begin _ 2>/dev/null </proc/uptime || begin=$(date +%s)
        case $started$where in yes* | *' = "file='*) wait_for_listing ;; esac
        keeping=yes
        send_change index "$where$fields" --data "force=${force:-false}"
        keeping='' facts=$answer
        read_numbers files_ready
        ready=$files_ready
        [ "$force" != true ] || ready=0 # all are indexed again, some perhaps before the answer came
        force=
        wait_for_index
        read -r now _ 2>/dev/null </proc/uptime || now=$(date +%s)
        read_numbers files files_failed chunks events
        print_text "Indexed in $((${now%%[. ]*} - ${begin%%[. ]*})) s: $((files - ready - files_failed)) files processed, \
$((ready + files_failed)) skipped ($files_failed of them failed), $chunks chunks, $events events"
        ;;
    gen_dlio_config)
        [ -n "$output" ] || usage_error "--output is required"
        print_answer dlio-config "format=${format:-yaml}" ;;
    esac
}

# The script ends here for these: a shell reads no further.
case $command in
merge | split | organize | reconstruct | pgzip | replay | doctor) ;;
*)
    answer_command
    exit
    ;;
esac
