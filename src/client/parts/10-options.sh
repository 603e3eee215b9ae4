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

commands='info              files, lines, events and the state of the index
stats             counts, durations and percentiles, grouped by any columns
view              print the events that match a query
aggregator        statistics per time interval and key, as a Perfetto trace or an Arrow file
call_tree INPUT   calls nested by time: a tree with durations and the critical path
processes         the process tree: commands, ranks, times, I/O of each process
comparator        compare the metrics of two or more runs, with effect sizes
event_count       print the number of events
reader FILE       print a part of a trace, gzip file or archive, by bytes or lines
index             build the index now
merge             merge many traces into one
split             split traces into files of a given size
pgzip             compress traces with gzip
tar FILE          list and index the traces in a tar archive
organize          divide events into groups by queries, one directory of traces each
reconstruct       restore the original traces from the output of organize, verified by hashes
replay INPUT...   perform the recorded I/O again, below one directory, and compare the times
gen_fake_trace    generate synthetic traces of a training run
gen_dlio_config   fit the step times of a training run, and write a configuration of DLIO
dlio_compare FIRST SECOND  whether two configurations of DLIO draw about the same times
get PATH          send any request to the REST API: dftracerctl get /stats report=names
requests          list the requests that the daemon is processing
doctor            check versions, permissions, file systems and limits
server            serve a directory over HTTP, with the options of the old dftracer_server'

# Every option once; parsing, --help and completion are made from this. A line has the commands that take it, short and
# long name, argument (N: a number; COUNT, BYTES: not 0; ...: several), what to do, and the help. What to do:
# field:X sends the value as X; set:X keeps it as $X, set:X=V keeps V; pass:X gives the
# option to the program as --X; call:F calls F; none and daemon do nothing.
reading=info,stats,view,aggregator,call_tree,replay,processes,comparator,event_count,reader,tar
asking=$reading,index,merge,split,pgzip,organize,gen_dlio_config
choosing=info,stats,view,aggregator,replay,processes,event_count,index,merge,split,organize,gen_dlio_config
all=$asking,reconstruct
any=$all,get
options="$choosing -d --directory DIR call:add_directory traces in this directory (default: the working directory)
$choosing - --files FILE... call:add_file these trace files or globs
pgzip -d --directory DIR set:directory uncompressed traces in this directory (default: the working directory)
$choosing,comparator -r --recursive - set:recursive=true include subdirectories
info - --query summary|detailed set:detail totals (default), or one line per file
info -v --verbose - set:detail=detailed one line per file
stats - --report summary|categories|names|pid_tids|time_range|duration|top-names|top-categories|detailed field:report which report to print (default: summary)
stats - --group-by COLUMN... call:add_column columns to group by in the report detailed: name, cat, pid, tid, fhash, hhash, pid_tid, host, args.x ...
stats - --top-n N field:top_n number of rows of top-* reports and of groups, 0 = all (default: 10)
stats - --top-n-pid-tid N field:top_n_pid_tid number of threads listed, 0 = all (default: 10)
info,stats,processes,requests - --json - set:format=json print JSON instead of text
call_tree -r --recursive - set:recursive=true include subdirectories of the inputs
call_tree - --pattern GLOB set:pattern in input directories, only files whose names match, for example *.pfw.gz
call_tree -o --output FILE set:output write the tree as JSON to FILE, which stays unchanged on failure (default: NAME.calltree, named after the first input)
call_tree - --json - set:trace=true also write a trace for Perfetto, named FILE with .pfw instead of .calltree
call_tree - --text FILE set:text_file also write the printed text to FILE
call_tree - --max-depth N field:max_depth maximum depth of the tree, 0 = no limit (default: 0)
call_tree - --analyze - set:analyze=true also print the most frequent calls, durations, categories, levels, hottest and critical paths
call_tree - --group-by COLUMN... call:add_column group the outermost calls by these columns
call_tree - --focus NAME field:focus show the callees and callers of the calls of this name
call_tree - --min-total US field:min_total leave out calls whose total time is below US microseconds
call_tree -v --verbose - set:detail=yes also print the files that were read
call_tree - --stats-only - set:brief=true print the statistics only, without the tree
call_tree - --no-save - set:save=no print only, write no file
view,processes - --preset io|compute|dlio field:preset a predefined filter
view - --recipe FILE set:recipe read a selection from a file that --save-recipe has written
view - --save-recipe FILE set:save also write the selection to a file
stats,view,aggregator,call_tree,replay,processes,merge,split,organize,gen_dlio_config - --query QUERY field:query a filter, for example: cat == \"POSIX\" and dur > 1ms
stats,view,aggregator,call_tree,comparator,event_count,processes - --within QUERY field:within only events that overlap in time with an event that matches this filter
stats,view,aggregator,call_tree,comparator,event_count,processes - --within-scope process|thread|host|all field:within_scope the other event must be on the same thread, process or host, or anywhere (default: process)
stats,aggregator,call_tree,comparator,event_count,processes - --clip - call:add_clip with --within: count only the overlapping part of each duration
view - --time-range FROM,TO field:time_range events that start in this time range (microseconds)
view - --min-duration US field:min_duration events with at least this duration (microseconds)
view - --max-duration US field:max_duration events with at most this duration (microseconds)
view,processes -o --output FILE set:output write to FILE, which stays unchanged on failure (default: standard output)
view - --no-metadata - set:metadata=false leave out the metadata records that events refer to
view - --stream - none
aggregator -o --output FILE set:output write to FILE, which stays unchanged on failure; - is standard output (default: aggregated_output.json)
aggregator - --format json|arrow|arrow-stream|ndjson|csv|text set:format json (default): a trace for Perfetto; arrow: an Arrow IPC file, .arrows is appended to its name
aggregator -t --time-interval MS field:time_interval length of a time interval, in milliseconds or with a unit (default: 5000)
aggregator -g --group-keys LIST field:group_keys additional key columns: arguments, comma-separated, for example epoch,step
aggregator -m --metric-fields LIST field:metric_fields numeric arguments to aggregate as well, comma-separated
aggregator - --event-format counter|async|regular|perfetto set:event_format type of the trace events with --format json (default: counter); perfetto: counters that Perfetto draws completely
aggregator - --compute-percentiles - set:percentiles=true compute percentiles of durations and sizes
aggregator - --percentiles LIST field:percentiles percentiles to compute, from 0 to 1; implies --compute-percentiles (default: 0.25,0.5,0.75,0.9)
aggregator - --relative-accuracy RATE field:relative_accuracy relative error of the percentiles, from 0 to 1; below 0.004 they are exact (default: 0.01)
aggregator - --boundary-events LIST field:boundary_events EVENT:FIELD:OUTPUT,...: add a column OUTPUT with the argument FIELD of the EVENT that contains the row
aggregator - --no-track-process-parents - set:parents=false leave out the columns parent_pid and root_pid
aggregator - --compress - set:compress=true compress the output with gzip, .gz is appended to its name
aggregator - --compression-level N set:level gzip level, 0 to 9 (default: 6)
comparator - --baseline PATH call:add_baseline trace file, glob or directory of the baseline
comparator - --variant PATH... call:add_variant trace file, glob or directory of a variant; each one becomes a column
comparator - --config FILE set:config read baseline, variant, defaults and nodes from a JSON file
comparator - --query QUERY field:query a filter for baseline and variants (default: cat == \"POSIX\" OR cat == \"STDIO\")
comparator - --preset io|compute|dlio field:preset a predefined filter for baseline and variants
comparator - --group-by LIST field:group_by columns that identify an operation, comma-separated (default: cat,name)
comparator - --metrics LIST field:metrics metrics to compare, comma-separated: count, duration, size, transfer_size, bandwidth (default: all)
comparator - --percentiles LIST field:percentiles percentiles of durations and sizes (default: 0.5,0.95,0.99)
comparator - --format table|json|ndjson|csv|markdown|collapsed-diff set:format table (default); markdown: for a pull request; collapsed-diff: stacks for differential flame graphs
comparator -t --time-interval MS field:time_interval window of the metric peak_mean, in milliseconds or with a unit (default: 5000)
comparator - --threshold PCT field:threshold leave out operations that change by less than PCT percent (default: 0)
comparator - --fail-on small|medium|large set:fail_on exit with status 3 if an operation is worse by this class of effect size (Cohen's d) or more
comparator - --no-color - set:color=false no colors on a terminal
comparator -o --output FILE set:output write to FILE, which stays unchanged on failure (default: standard output)
reader -s --start N call:add_start first byte, or first line with --mode lines; -1 = from the start
reader -e --end N call:add_end end byte (exclusive), or last line with --mode lines (inclusive); -1 = to the end
reader - --mode bytes|line_bytes|lines call:add_mode exact bytes (default), the complete lines within the byte range, or lines by number
reader - --check - set:check=true print nothing; exit status 0 if the index of the file is up to date, else 1
tar - --list-files - set:members=true list the members of the archive with their sizes
tar - --info - set:brief=true summarize the archive (default, unless --list-files is given)
tar - --build-only - set:build=true build the index, print nothing
index - --dimensions LIST field:dimensions additional columns that get bloom filters, comma-separated
index -c --checkpoint-size BYTES field:checkpoint_size uncompressed bytes per chunk, for the files that this command indexes
index - --false-positive-rate RATE field:false_positive_rate false positive rate of the bloom filters (default: 0.01)
index - --expected-entries COUNT field:expected_entries minimum number of values that a bloom filter is sized for
merge -o --output FILE set:output write to FILE, which stays unchanged on failure; the name must end with .pfw (default: combined.pfw)
merge -c --compress - set:compress=true compress with gzip, .gz is appended to the name
merge -g --gzip-only - set:gzip_only=true skip uncompressed files
merge - --order file|ts field:order one file after the other (default), or all events by time
split -n --app-name NAME call:name_parts name the files NAME-1.pfw.gz and so on (default: app)
split -o --output DIR set:output directory for the files (default: ./split)
split -s --chunk-size MB set:chunk_size uncompressed size of each file (default: 4)
split -c --compress [true|false] set:compress compress with gzip (default: true)
merge,split,organize - --compression-level N set:level gzip level, 0 to 9 (default: 5, about the size of gzip -6)
merge,split - --verify - set:verify=true compare the events read with those written; exit status 1 if they differ
merge,split,pgzip -v --verbose - set:detail=yes print what was written
pgzip -l --compression-level COUNT set:level gzip level, 1 to 9 (default: 5, about the size of gzip -6)
pgzip - --delete - set:delete=true delete each uncompressed file after its compressed copy was read back and is equal
organize - --groups GROUP... call:add_group NAME:QUERY; an event goes to the first group whose query matches; an empty query matches all; required
organize -o --output DIR set:output directory for the groups, one subdirectory each; required
organize - --chunk-size MB set:chunk_size maximum uncompressed size of each file, 0 = no limit (default: 256)
organize -n --name NAME field:name name the files GROUP/NAME-1.pfw.gz and so on (default: trace)
organize - --drop-rest - set:drop=true drop events that match no group (default: they go to _rest); reconstruct cannot restore them
organize - --no-compress - set:compress=false write uncompressed files
reconstruct -d --directory DIR set:directory output directory of organize, or a tar of it; required
reconstruct -o --output DIR set:output directory for the original traces; required
reconstruct - --no-compress - set:compress=false write all files uncompressed, without .gz in their names (default: as they were)
reconstruct - --compress - set:compress=true compress all files with gzip
reconstruct -f --force - set:force=true replace existing files
replay - --root DIR pass:root directory for all files; nothing outside of it is created, changed or removed (default: a new one, dftracer-replay-XXXXXX)
replay - --keep - pass:keep keep the files (default: those that the replay made are removed at the end)
replay - --map /OLD=/NEW pass:map read the files of the directory /OLD from /NEW, which is not changed; may be repeated
replay - --prepare sparse|data|none pass:prepare how to make files that are read: with holes (default), filled, or not at all
replay - --no-timing - pass:no-timing as fast as possible (default: calls begin at their times in the trace)
replay - --speed FACTOR pass:speed 2 is twice as fast as the trace (default: 1)
replay - --processes - pass:processes a process for each process of the trace (default: all threads are in one process)
replay - --dry-run - pass:dry-run do nothing, print what would be done
replay - --dftracer-mode - pass:dftracer-mode sleep for the durations of the events instead of I/O
replay - --no-sleep - pass:no-sleep with --dftracer-mode: do not sleep
replay - --output-trace FILE pass:output-trace also write what was done as a trace, for comparator; the name should end with .pfw.gz
replay - --format text|json pass:format format of the report (default: text)
replay - --verbose - pass:verbose also print the events of each category
replay - --use-call-tree - pass:use-call-tree replay in the order of the call tree, which is that of time
replay - --hierarchical-replay - pass:hierarchical-replay only the outermost calls of each thread (requires --use-call-tree)
replay - --respect-call-hierarchy - pass:respect-call-hierarchy also the calls within them (requires --hierarchical-replay)
replay - --filter-pid LIST pass:filter-pid only these processes, comma-separated
replay - --exclude-pid LIST pass:exclude-pid not these processes
replay - --filter-tid LIST pass:filter-tid only these threads
replay - --exclude-tid LIST pass:exclude-tid not these threads
replay - --filter-function LIST pass:filter-function only calls of these names, for example read,write,open
replay - --exclude-function LIST pass:exclude-function not calls of these names
replay - --filter-category LIST pass:filter-category only these categories, for example POSIX
replay - --exclude-category LIST pass:exclude-category not these categories
replay - --start-timestamp US pass:start-timestamp only events that start at this time or later (microseconds)
replay - --end-timestamp US pass:end-timestamp only events that start at this time or earlier (microseconds)
replay - --min-size BYTES pass:min-size without events of fewer bytes
replay - --max-size BYTES pass:max-size without events of more bytes
replay - --sample-rate RATE pass:sample-rate replay this part of the events, 0.0 to 1.0 (default: 1.0)
replay - --sample-seed SEED pass:sample-seed which part it is (default: 0)
replay - --max-events N pass:max-events replay at most N events, 0 = no limit (default: 0)
gen_fake_trace -o --output-dir DIR daemon write one file per process, rank_<r>.pfw.gz, to this directory; this or --single is required
gen_fake_trace - --single FILE daemon write all processes to one file (- is standard output)
gen_fake_trace - --files N daemon write all processes to N files, trace_<n>.pfw.gz
gen_fake_trace -p --num-processes N daemon number of processes (default: 8)
gen_fake_trace -H --num-hosts N daemon number of hosts (default: 4)
gen_fake_trace -e --num-epochs N daemon training epochs (default: 500)
gen_fake_trace -s --steps-per-epoch N daemon steps per epoch (default: 1000)
gen_fake_trace - --checkpoint-every N daemon write a checkpoint every N epochs, 0: never (default: 5)
gen_fake_trace - --validation-every N daemon validate every N epochs, 0: never (default: 2)
gen_fake_trace - --num-train-files N daemon number of training files (default: 8)
gen_fake_trace - --num-val-files N daemon number of validation files (default: 2)
gen_fake_trace - --step-duration-ms N daemon base duration of a step in milliseconds (default: 100)
gen_fake_trace - --seed N daemon random seed (default: 42)
gen_fake_trace - --events N daemon total number of events; overrides the number of epochs
gen_fake_trace - --shuffle - daemon a step reads any training file, not only those of its process
gen_fake_trace - --format unet3d|v3|v4|v108|v105|v0|g0|datacrumbs daemon unet3d (default), or the format of a tracer version
gen_fake_trace -z --compress N daemon gzip level, 0: plain text (default: 6)
gen_fake_trace - --level N daemon gzip level, 0: gzip without compression (default: 6)
gen_fake_trace - --plain - daemon write plain text (.pfw files)
gen_fake_trace - --members SIZE daemon start a new gzip member after SIZE uncompressed bytes, or after each line (event)
gen_fake_trace - --reference - daemon the traces of the benchmarks
gen_fake_trace - --verify - daemon index the files, then report how many chunks each query skips
gen_fake_trace - --checkpoint-size BYTES daemon uncompressed bytes per chunk, for --verify (default: 2097152)
gen_fake_trace - --version - daemon print the version of the program
gen_fake_trace -h --help - daemon print the options of gen-fake-trace
gen_dlio_config -o --output FILE set:output write to FILE, which stays unchanged on failure; - is standard output; required
gen_dlio_config - --format yaml|json|text set:format yaml (default): the configuration; json, text: a report with all fits and the simulation
gen_dlio_config - --max-bound-percentile PCT field:max_bound_percentile percentile of the samples at which the search for max_bound starts, 0 to 100 (default: 95)
gen_dlio_config - --simulation-iterations COUNT field:simulation_iterations maximum number of simulations (default: 5)
gen_dlio_config - --target-e2e-error FRACTION field:target_e2e_error relative error of the simulated end-to-end time that is good enough (default: 0.05)
gen_dlio_config - --target-cdf-similarity FRACTION field:target_cdf_similarity similarity of simulated and traced computation times that is good enough (default: 0.90)
gen_dlio_config - --patience COUNT field:patience stop after this number of simulations without improvement (default: 10)
gen_dlio_config - --epsilon STEP field:epsilon step of the percentile (default: 1.0)
gen_dlio_config - --momentum M field:momentum part of the last step that is added to the next one, from 0 to below 1 (default: 0.9)
gen_dlio_config - --min-percentile PCT field:min_percentile least percentile of max_bound (default: 50)
gen_dlio_config - --types all|drawn field:types all types (default), or only those that DLIO 2.0.1 draws: normal, gamma, exponential
gen_dlio_config - --num-workers N field:num_workers simulate N processes that load batches, 0 = the training process loads them (default: 8 with --prefetch-factor, else waits are as traced)
gen_dlio_config - --prefetch-factor COUNT field:prefetch_factor simulate this number of batches that each worker loads ahead (default: 2 with --num-workers)
gen_dlio_config - --seed N field:seed random seed (default: 42)
gen_dlio_config - --max-samples-per-entry N field:max_samples_per_entry maximum number of samples of a process and interval that are fitted, 0 = all (default: 100)
gen_dlio_config -t --time-interval MS field:time_interval length of an interval, in milliseconds or with a unit (default: 5000)
merge,pgzip -f --force - set:force=true replace existing files, and rebuild the index of the selected traces
split,organize -f --force - set:force=true replace the files that an earlier run has written there, and rebuild the index of the selected traces
$reading,index,gen_dlio_config -f --force - set:force=true rebuild the index of the selected files
$asking - --force-rebuild - set:force=true same as --force
$reading,merge,split,pgzip,organize,gen_dlio_config - --no-auto-index - set:wait=no do not build the index; exit status 1 if a selected file is not indexed
$any,doctor - --index-dir DIR set:index_dir directory for indexes, if a daemon has to be started; each set of directories has a subdirectory there
$any,requests,doctor - --url URL set:url send the request to this daemon; without -d, for all directories it serves (default: \$DFTRACERD_URL)
$any,requests,doctor - --unix-socket PATH set:socket like --url, through the Unix socket of the daemon
$any,requests,doctor - --version - call:version print the version of this program
$any,requests,doctor -h --help - call:help print this help
$reading -c --checkpoint-size BYTES none
merge,split,pgzip,organize,reconstruct,gen_dlio_config - --checkpoint-size BYTES none
merge,replay - --channel-capacity COUNT none
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
$all - --executor-threads COUNT set:threads number of threads of the daemon, if this command starts one (default: number of CPUs)
$all,server - --io-threads COUNT none
$all,server - --time-profiling - none
$all,server - --disable-watchdog - none
$all,server - --watchdog-global-timeout N none
$all,server - --watchdog-task-timeout N none
$all,server - --watchdog-interval N none
$all,server - --watchdog-warning-threshold N none
$all,server - --watchdog-idle-timeout N none
$all,server - --watchdog-deadlock-timeout N none
get -o --output FILE set:output write to FILE, which stays unchanged on failure (default: standard output)
get,requests -d --directory DIR call:add_directory use the daemon that serves this directory (default: the working directory)
doctor -d --directory DIR call:add_examined check the traces in this directory (default: the working directory)
doctor -c --config FILE set:config_file configuration file of the daemon (default: the file that dftracerd reads)
dlio_compare - --tolerance X daemon relative difference of parameters that counts as equal (default: 0.05)
dlio_compare - --max-ks D daemon Kolmogorov-Smirnov distance of samples that counts as equal (default: 0.05)
dlio_compare - --samples N daemon number of samples drawn of each time (default: 10000)
dlio_compare - --seed N daemon random seed (default: 42)
dlio_compare - --version - daemon print the version of the program
dlio_compare -h --help - daemon print the options of dftracerd-dlio-compare
server -d --directory DIR daemon traces in this directory; required
server -b --bind ADDRESS daemon loopback address to listen on (default: 127.0.0.1)
server -p --port PORT daemon TCP port, 0 = a free one (default: 8080)
server -i --index-dir DIR daemon directory for indexes; each set of directories has a subdirectory there
server -t --executor-threads COUNT daemon number of threads for indexing, and the same number for queries (default: number of CPUs)
server - --checkpoint-size BYTES daemon uncompressed bytes per chunk (default: 4MiB)
server - --member-cache-size BYTES none
server - --timeout N none
server - --token TOKEN daemon bearer token that lets other users query; they can see it in the list of processes (default: no token)
server - --log-level off|error|warning|info|debug daemon minimum severity of logged messages (default: info)
server -V --version - daemon print the version of the daemon
server -h --help - daemon print the options of dftracer_server"

