
# ---- commands that write traces, or perform them --------------------------------------------------------------

# trace_command: does $command.
trace_command() {
    case $command in
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
        wait_for_index
        read_numbers files
        count=$files
        if [ -n "$gzip_only" ]; then
            read_answer info "$where" --data detail=files --data wait=no
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
            write_answer "$output$suffix" "$@" --data format=pfw
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
        wait_for_index
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
        read_numbers files
        [ -z "$detail" ] || printf 'Split %s files into %s in %s\n' "$files" "$#" "$output" ;;
    organize | reconstruct)
        [ -n "$output" ] || usage_error "--output is required"
        [ -n "$force" ] || ! [ -d "$output" ] || [ -z "$(ls -A -- "$output")" ] ||
            die "$output is not empty; -f replaces the files of an earlier run"
        if [ "$command" = reconstruct ]; then
            last=reconstruct.json
            set -- "reconstruct?compress=${compress:-as_was}" "$fields"
            [ -n "$fields" ] || set -- "$@" -X POST -H 'Content-Type: application/x-tar' -gT "$directory"
        else
            last=manifest.json
            case $fields in *'"groups='*) ;; *) usage_error "--groups is required" ;; esac
            case ${chunk_size:=256} in
            0) chunk_size=1000000000 ;; # all
            *[!0-9]* | 0*) die "--chunk-size $chunk_size: must be a number of MB" ;;
            esac
            gzip_level "${compress:-true}"
            wait_for_index
            set -- organize "$where$fields" --data "compress=$level" --data "chunk_size=${chunk_size}MiB" --data "wait=$wait"
        fi
        unpack "$output" "$last" "$@"
        said=$(tell "$part/$last") && outcome=0 || outcome=1
        settle "$last" "$([ "$command" = reconstruct ] || earlier_groups)"
        print_text "$said"
        exit "$outcome" ;;
    pgzip)
        [ -n "$plain" ] || { printf 'No .pfw files in %s\n' "${directory:-.}" && exit "$left_out"; }
        wait_for_index
        failed=$left_out
        for file in $plain; do
            [ -s "$file" ] || { printf 'dftracerctl: %s is empty\n' "$file" >&2 && failed=1 && continue; }
            (
                trap clean_up EXIT
                trap 'exit 1' HUP INT TERM
                pack_plain "$file"
            ) &
            wait "$!" || failed=1
            ended=$!
        done
        exit "$failed" ;;
    replay)
        find_program dftracerd-replay || die "no dftracerd-replay program was found next to this program or in \$PATH"
        wait_for_index
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
                send_request view "$where" --data format=ndjson --data select=ph,name,args.name,args.value --data phase=metadata \
                    --data-urlencode 'query=name == "FH"' --data "wait=$wait"
                for round in ${twice:+first} last; do
                    send_request view "$where$fields" --data format=ndjson --data "select=$columns" --data order=ts --data "wait=$wait"
                    [ "$round" = last ] || printf '{"name":"replay","ph":"M","replay":"again"}\n'
                done
            ) || printf '\n{"error":"the request failed"}\n' # the answer may end within a line
        } | "$program" $twice $passed ;;
    esac
}

if [ "$command" != doctor ]; then
    trace_command
    exit
fi
