#!/bin/sh
# dftracerctl - the dftracer_* commands, asked of a dftracerd. POSIX sh around curl (7.61 or later) and tar.
# Also installed under the names of those commands: dftracer_info is `dftracerctl info`.
# Texts and a table of options are a good part of it. size: table
set -uf
export LC_ALL=C
unset CDPATH
newline='
'
IFS=$newline # and no globbing: a list is a text of lines

commands='info              what is there: files, lines, events, index
stats             statistics: counts, durations, percentiles, by any columns
view              the matching events, line by line
aggregator        rows per time bucket and key, as a Perfetto trace or an Arrow file
call_tree INPUT   which calls contain which: a tree, its times, its critical path
processes         the tree of processes: commands, ranks, times, what each did
comparator        how the metrics of two or more runs differ, and whether that is chance
event_count       how many events there are: one number
reader FILE       a part of the text of a trace, by bytes or lines
index             builds the index now
merge             one trace from many
split             traces in files of a size
pgzip             plain traces as gzip, beside them
tar FILE          what a tar archive of traces has: its members, their text; builds its index
organize          traces shared out to groups by queries, each a directory of traces
reconstruct       the original traces from what organize has written, proved by hashes
gen_fake_trace    synthetic traces of a training
get PATH          any question in the words of the REST API, as dftracerctl get /stats report=names
requests          what the daemon is being asked now: whose, how long, how far
doctor            whether all is as it should be: versions, permissions, file systems, limits; what to mend
server            serves a directory over HTTP: dftracerd with the options of the old command'

# Every option once; parsing, --help and completion are made from this. A line has the commands that take it, short and
# long name, argument (N: a number; COUNT, BYTES: not 0; ...: several), what to do, and the help. What to do:
# field:X sends the value as X; set:X keeps it as $X, set:X=V keeps V; call:F calls F; none and daemon do nothing.
reading=info,stats,view,aggregator,call_tree,processes,comparator,event_count,reader,tar
asking=$reading,index,merge,split,pgzip,organize
choosing=info,stats,view,aggregator,processes,event_count,index,merge,split,organize
all=$asking,reconstruct,gen_fake_trace
any=$all,get
options="$choosing -d --directory DIR call:add_directory traces in this directory (default: the working directory)
$choosing - --files FILE... call:add_file these trace files, or globs
pgzip -d --directory DIR set:directory plain traces in this directory (default: the working directory)
$choosing,comparator -r --recursive - set:recursive=true also in directories below DIR
info - --query summary|detailed set:detail totals (default), or every file
info -v --verbose - set:detail=detailed every file
stats - --report summary|categories|names|pid_tids|time_range|duration|top-names|top-categories|detailed field:report what to tell (default: summary)
stats - --group-by COLUMN... call:add_column of detailed: name, cat, pid, tid, fhash, hhash, pid_tid, host, args.x ...
stats - --top-n N field:top_n rows of top-* and groups, 0 = all (default: 10)
stats - --top-n-pid-tid N field:top_n_pid_tid threads shown, 0 = all (default: 10)
info,stats,processes,requests - --json - set:format=json JSON instead of text
call_tree -r --recursive - set:recursive=true also in directories below the inputs
call_tree - --pattern GLOB set:pattern only files in the inputs that are directories whose names are so, for instance *.pfw.gz
call_tree -o --output FILE set:output the tree as JSON, completely or not at all (default: NAME.calltree, after the first input)
call_tree - --json - set:trace=true also a trace for Perfetto, beside it: FILE with .pfw for .calltree
call_tree - --text FILE set:text_file also what is printed, in a file
call_tree - --max-depth N field:max_depth levels of calls that are told, 0 = all (default: 0)
call_tree - --analyze - set:analyze=true most called, durations, categories, levels, hottest and critical paths
call_tree - --group-by COLUMN... call:add_column the outermost calls stand below the values of these columns
call_tree - --focus NAME field:focus the tree seen from the calls of this name: callees and callers
call_tree - --min-total US field:min_total without calls that took less in all
call_tree -v --verbose - set:detail=yes also the files that were read
call_tree - --stats-only - set:brief=true the numbers only, without the tree
call_tree - --no-save - set:save=no print only, write no files
view,processes - --preset io|compute|dlio field:preset a predefined selection
view - --recipe FILE set:recipe a selection from a file, as --save-recipe writes it
view - --save-recipe FILE set:save also write the selection to a file
stats,view,aggregator,call_tree,processes,merge,split,organize - --query QUERY field:query a filter, for instance: cat == \"POSIX\" and dur > 1ms
stats,view,aggregator,call_tree,comparator,event_count,processes - --within QUERY field:within only what overlaps an event that matches this filter in time
stats,view,aggregator,call_tree,comparator,event_count,processes - --within-scope process|thread|host|all field:within_scope where that event must be (default: process)
stats,aggregator,call_tree,comparator,event_count,processes - --clip - call:add_clip with --within: durations are those parts of them that overlap
view - --time-range FROM,TO field:time_range events that start then (microseconds)
view - --min-duration US field:min_duration events that last so long or longer
view - --max-duration US field:max_duration events that last so long or shorter
view,processes -o --output FILE set:output write there, completely or not at all (default: standard output)
view - --no-metadata - set:metadata=false without the name records that events refer to
view - --stream - none
aggregator -o --output FILE set:output write there, completely or not at all; - is standard output (default: aggregated_output.json)
aggregator - --format json|arrow|arrow-stream|ndjson|csv|text set:format json (default): a trace for Perfetto; arrow: an IPC file, .arrows is added to its name
aggregator -t --time-interval MS field:time_interval length of the buckets, or with a unit (default: 5000)
aggregator -g --group-keys LIST field:group_keys more key columns: arguments, comma-separated, as epoch,step
aggregator -m --metric-fields LIST field:metric_fields numeric arguments that are summed up, too, comma-separated
aggregator - --event-format counter|async|regular field:event_format events of json (default: counter)
aggregator - --compute-percentiles - set:percentiles=true percentiles of durations and sizes
aggregator - --percentiles LIST field:percentiles which ones, from 0 to 1; giving them asks for them (default: 0.25,0.5,0.75,0.9)
aggregator - --relative-accuracy RATE field:relative_accuracy of the percentiles, from 0 to 1 (default: 0.01); below 0.004 they are exact
aggregator - --boundary-events LIST field:boundary_events EVENT:FIELD:OUTPUT,...: column OUTPUT is the argument FIELD of the EVENT that a row lies in
aggregator - --no-track-process-parents - set:parents=false without the columns parent_pid and root_pid
aggregator - --compress - set:compress=true the output is packed with gzip, .gz is added to its name
aggregator - --compression-level N set:level of gzip, 0 to 9 (default: 6)
comparator - --baseline PATH call:add_baseline trace file, glob or directory that the others are held against
comparator - --variant PATH... call:add_variant the same of a variant; several: a column each
comparator - --config FILE set:config a JSON file with baseline, variant, defaults and nodes
comparator - --query QUERY field:query a filter of all sides (default: cat == \"POSIX\" OR cat == \"STDIO\")
comparator - --preset io|compute|dlio field:preset a predefined selection of all sides
comparator - --group-by LIST field:group_by columns of the operations, comma-separated (default: cat,name)
comparator - --metrics LIST field:metrics of count, duration, size, transfer_size, bandwidth (default: all)
comparator - --percentiles LIST field:percentiles of durations and sizes (default: 0.5,0.95,0.99)
comparator - --format table|json|ndjson|csv|markdown|collapsed-diff set:format table (default); markdown: for a pull request; collapsed-diff: stacks for differential flame graphs
comparator -t --time-interval MS field:time_interval windows of peak_mean, or with a unit (default: 5000)
comparator - --threshold PCT field:threshold leave out operations that change by less than so many percent (default: 0)
comparator - --fail-on small|medium|large set:fail_on exit 3 when something is worse by that class of Cohen's d
comparator - --no-color - set:color=false no colours on a terminal
comparator -o --output FILE set:output write there, completely or not at all (default: standard output)
reader -s --start N field:start first byte, or line with --mode lines; -1 = the first there is
reader -e --end N field:end byte behind the last, or last line; -1 = the last there is
reader - --mode bytes|line_bytes|lines field:mode exact bytes (default), the whole lines in them, lines by number
reader - --check - set:check=true print nothing; exit 0 if the file is indexed as it is
tar - --list-files - set:members=true the members of the archive, with their sizes
tar - --info - set:brief=true what the archive is (default, unless --list-files is given)
tar - --build-only - set:build=true build the index, print nothing
index - --dimensions LIST field:dimensions further columns with bloom filters, comma-separated
index -c --checkpoint-size BYTES field:checkpoint_size text of a chunk of files that are indexed now
index - --false-positive-rate RATE field:false_positive_rate of bloom filters (default: 0.01)
index - --expected-entries COUNT field:expected_entries values that a bloom filter has room for at least
merge -o --output FILE set:output the trace, completely or not at all; its name ends with .pfw (default: combined.pfw)
merge -c --compress - set:compress=true packed with gzip, .gz is added to the name
merge -g --gzip-only - set:gzip_only=true leave out plain files
merge - --order file|ts field:order file after file (default), or all merged by time
split -n --app-name NAME field:app_name the files are NAME-1.pfw.gz and so on (default: app)
split -o --output DIR set:output where they go (default: ./split)
split -s --chunk-size MB set:chunk_size text of a file, before compression (default: 4)
split -c --compress [true|false] set:compress packed with gzip (default: true)
merge,split,organize - --compression-level N set:level of gzip, 0 to 9 (default: 5, about the size of gzip -6)
merge,split - --verify - set:verify=true read the events once more and compare them with what was written; exit 1 if they differ
merge,split,pgzip -v --verbose - set:detail=yes say what was written
pgzip -l --compression-level COUNT set:level of gzip, 1 to 9 (default: 5, about the size of gzip -6)
pgzip - --delete - set:delete=true remove each plain file when the packed one has been read back and is equal
organize - --groups GROUP... call:add_group NAME:QUERY; an event goes to the first group whose query selects it, an empty one selects all; needed
organize -o --output DIR set:output where the groups go, a directory for each; needed
organize - --chunk-size MB set:chunk_size text of a file, before compression, 0 = no limit (default: 256)
organize -n --name NAME field:name the files are GROUP/NAME-1.pfw.gz and so on (default: trace)
organize - --drop-rest - set:drop=true leave out what no group takes (default: it goes to _rest); reconstruct cannot bring it back
organize - --no-compress - set:compress=false plain text
reconstruct -d --directory DIR set:directory what organize has written, or a tar of that; needed
reconstruct -o --output DIR set:output where the originals go; needed
reconstruct - --no-compress - set:compress=false all as plain text, without .gz in their names (default: as they were)
reconstruct - --compress - set:compress=true all as gzip
reconstruct -f --force - set:force=true replace files that are there
gen_fake_trace -o --output-dir DIR set:output where the traces go; needed
gen_fake_trace -p --num-processes COUNT field:num_processes ranks, a file each (default: 8)
gen_fake_trace -H --num-hosts COUNT field:num_hosts hosts (default: 4)
gen_fake_trace -e --num-epochs N field:num_epochs training epochs (default: 500)
gen_fake_trace -s --steps-per-epoch COUNT field:steps_per_epoch steps of an epoch (default: 1000)
gen_fake_trace - --checkpoint-every N field:checkpoint_every epochs between checkpoints, 0 = none (default: 5)
gen_fake_trace - --validation-every N field:validation_every epochs between validations, 0 = none (default: 2)
gen_fake_trace - --num-train-files COUNT field:num_train_files training files (default: 8)
gen_fake_trace - --num-val-files N field:num_val_files validation files (default: 2)
gen_fake_trace - --step-duration-ms COUNT field:step_duration_ms base duration of a step (default: 100)
gen_fake_trace - --seed N field:seed of the jitter (default: 42)
gen_fake_trace - --verify - set:verify=true index them, and tell which chunks queries need not read
gen_fake_trace - --checkpoint-size BYTES set:checkpoint_size for that: text of a chunk (default: 2097152)
merge,split,pgzip,organize -f --force - set:force=true replace files that are there, and index the chosen ones anew
$reading,index -f --force - set:force=true index the chosen files anew
$asking - --force-rebuild - set:force=true the same
$reading,merge,split,pgzip,organize - --no-auto-index - set:wait=no use what is indexed: exit 1 if something is not
$any,doctor - --index-dir DIR set:index_dir where a daemon that has to be started keeps its index
$any,requests,doctor - --url URL set:url ask this daemon; without -d, for all that it serves (default: \$DFTRACERD_URL)
$any,requests,doctor - --unix-socket PATH set:socket the same, at its unix socket
$any,requests,doctor - --version - call:version the version of this program
$any,requests,doctor -h --help - call:help this text
$reading -c --checkpoint-size BYTES none
merge,split,pgzip,organize,reconstruct - --checkpoint-size BYTES none
merge - --channel-capacity COUNT none
merge - --batch-size COUNT none
merge,split - --member-size N none
pgzip - --chunk-size BYTES none
organize - --with-aggregation - none
organize - --time-interval-ms N none
organize - --memory-budget-mb N none
organize - --estimated-file-bytes-mb N none
comparator - --compact - none
comparator - --baseline-index-dir DIR none
comparator - --variant-index-dir DIR none
reader,tar -i --index PATH none
reader - --read-buffer-size BYTES none
index,aggregator - --read-batch-size COUNT none
aggregator - --chunk-size COUNT none
index - --manifest - none
index - --rebuild-summaries - none
$all - --executor-threads COUNT none
$all - --io-threads COUNT none
$all - --time-profiling - none
$all - --disable-watchdog - none
$all - --watchdog-global-timeout N none
$all - --watchdog-task-timeout N none
$all - --watchdog-interval N none
$all - --watchdog-warning-threshold N none
$all - --watchdog-idle-timeout N none
$all - --watchdog-deadlock-timeout N none
get -o --output FILE set:output write there, completely or not at all (default: standard output)
get,requests -d --directory DIR call:add_directory ask the daemon that serves this directory (default: the working directory)
doctor -d --directory DIR call:add_examined look at the traces in this directory (default: the working directory)
doctor -c --config FILE set:config_file the configuration of the daemon (default: where it looks for it)
server -d --directory DIR daemon traces in this directory; needed
server -b --bind ADDRESS daemon loopback address to listen on (default: 127.0.0.1)
server -p --port PORT daemon TCP port, 0 = a free one (default: 8080)
server -i --index-dir DIR daemon where the index goes
server -t --executor-threads COUNT daemon threads for indexing and queries (default: CPUs)
server - --log-level error|warning|info|debug daemon what is logged (default: info)
server -V --version - daemon the version of the daemon
server -h --help - daemon its options"

