
# ---- directories and traces as answers ----------------------------------------------------------------------

# kib_of PATH: what it takes on the disk.
kib_of() {
    du -sk -- "$1" 2>/dev/null | sed 's/[^0-9].*//'
}

# How much of $part is written, as a bar if the size is known: what is compressed again has about the size that it had.
show_writing() {
    read_numbers uncompressed_bytes compressed_bytes
    case $command,$level in
    pgzip,*) of=0 ;; # $facts are of all files
    reconstruct,*) of=$(kib_of "$directory") ;;
    *,0) of=$((${uncompressed_bytes:-0} / 1024)) ;;
    *) of=$((${compressed_bytes:-0} / 1024)) ;;
    esac
    size=$(kib_of "$part")
    [ -n "$size" ] || return
    [ "$of" -gt 0 ] || { printf '\r\033[Kwriting: %s MiB' $((size / 1024)) && return; }
    full=$((size < of ? size * 20 / of : 20))
    printf '\r\033[Kwriting: [%.*s%.*s] %s of about %s MiB' $full '####################' $((20 - full)) '--------------------' \
        $((size / 1024)) $(((of + 1023) / 1024))
}

# unpack DIRECTORY LAST ENDPOINT ...: the members of a tar into $part. There is something only if the one has come that is the last.
unpack() {
    target=${1%/} last=$2
    shift 2
    [ -d "$target" ] || ! [ -e "$target" ] || die "$target is not a directory"
    case $target in -*) target=./$target ;; esac # for find
    part=$target.part.$$
    [ ! -d "$target" ] || part=$target/.part.$$ # perhaps another file system begins there
    mkdir -p -- "$part" || exit 1
    watch show_writing
    outcome=$({ { trapped='' && send_request "$@" && printf ok >&3; } | tar -xof - -C "$part" 2>&1; } 3>&1)
    outcome=$?$outcome
    unwatch
    if [ "$outcome" != 0ok ] || ! [ -f "$part/$last" ]; then
        [ -z "$(ls -A -- "$part")" ] || printf '%s\n' "${outcome#?}" >&2 # of tar
        die "$target was not written"
    fi
}

# settle LAST OLD: what was unpacked becomes the directory, or goes into it, where it replaces the files OLD (a line each), which
# would be read beside the new ones. LAST, if any, comes last: a kill before that leaves what does not fit an older LAST.
# shellcheck disable=SC2016 # scripts of the shells that find starts: names may have line breaks
settle() {
    if [ ! -d "$target" ]; then
        mv -- "$part" "$target" || exit 1
        part=
        return
    fi
    export part target
    find "$part" -type d -exec sh -c 'for d; do mkdir -p -- "$target${d#"$part"}" || exit 1; done' sh {} + || exit 1
    find "$part" ! -type d -exec sh -c 'for f; do
        to=$target${f#"$part"}
        ! [ -d "$to" ] || { printf "dftracerctl: %s is a directory\n" "$to" >&2 && exit 1; }
    done' sh {} + || exit 1
    [ -z "$2" ] || printf '%s\n' "$2" | tr '\n' '\0' | (cd -- "$target" && xargs -0 rm -f --) || exit 1
    find "$part" ! -type d ! -name "$1" -exec sh -c 'for f; do
        mv -f -- "$f" "$target${f#"$part"}" || exit 1
    done' sh {} + || exit 1
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's,/.*,,' | sort -u | tr '\n' '\0' | (cd -- "$target" && xargs -0 rmdir -- 2>/dev/null)
    [ -z "$1" ] || mv -f -- "$part/$1" "$target/$1" || exit 1
    rm -rf -- "$part"
    part=
}

# The files of an earlier split in $output, a line each. Stops where there are some, but for -f: those of another size would
# remain beside the new ones.
earlier_parts() {
    earlier=
    set +f
    for file in "$output/$app"-[0-9]*.pfw "$output/$app"-[0-9]*.pfw.gz; do
        part_number=${file#"$output/$app-"}
        part_number=${part_number%.gz}
        case ${part_number%.pfw} in
        *[!0-9]*) ;;
        *) ! [ -f "$file" ] || earlier=$earlier${earlier:+$newline}${file#"$output/"} ;;
        esac
    done
    set -f
    [ -n "$force" ] || [ -z "$earlier" ] ||
        die "$output/${earlier%%"$newline"*} already exists; -f replaces it and all other files of an earlier split"
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

# What the manifest in $part says of the comparison, if it was asked for; false if events differ.
judge_manifest() {
    [ -n "$verify" ] || return 0
    awk -F '"?,?$|: "?' '
        { gsub(/^ *"|"$/, "", $1); value[$1] = $2 }
        END {
            printf "Verification %s: %s events read (hash %s), %s written (hash %s)\n", value["verified"] == "true" ? "PASSED" : "FAILED",
                value["lines_read"], value["hash_read"], value["lines_written"], value["hash_written"]
            exit value["verified"] != "true"
        }' "$part/manifest.json"
}

# tell FILE: what the manifest of organize, or the report of reconstruct, says; names in it stay escaped. Nonzero where something is
# missing.
tell() {
    awk -v output="$output" -v reconstructed="${1##*/reconstruct.json}" '
        function complain(text) { print "dftracerctl: " text >"/dev/stderr" }
        { sub(/,$/, "") }
        /^  "/ { section = $1; total[$1] = $2 }
        /^      "path": / { path = substr($0, 16, length - 16) }
        section == "\"groups\":" && /^      "name": / { name = substr($0, 16, length - 16); files = 0; dropped = "" }
        section == "\"groups\":" && /^      "events": / { events = $2 }
        /^      "dropped": true/ { dropped = ", dropped" }
        /^          "path": / { files++ }
        /^    }/ && name != "" { print "  " name ": " events " events in " files " files" dropped; name = "" }
        section == "\"sources\":" && /^      "path": / { sources++ }
        /^      "damage": / { complain("corrupt, the readable part is in the groups: " path) }
        section == "\"unread\":" && /^      "error": / { complain("not read: " path ": " substr($0, 16)); bad = 1 }
        /^      "state": / { state = substr($0, 17, length - 17) }
        /^      "missing_lines": / { complain(path ": " state ", " $2 " lines are missing"); bad = 1 }
        reconstructed == "" && section != "\"sources\":" && /^    "/ { complain(substr(section, 2, length(section) - 3) ": " $1) }
        END {
            if (reconstructed == "")
                printf "Reconstructed %s files in %s, %s of them verified by their hashes\n", total["\"files\":"], output, total["\"proved\":"]
            else
                print "Organized " sources " files into " output
            exit bad
        }' "$1"
}

# pack_plain FILE: beside it.
pack_plain() {
    [ -n "$force" ] || ! [ -e "$1.gz" ] || gzip -dc -- "$1.gz" 2>/dev/null | cmp -s -- - "$1" ||
        die "$1.gz already exists with different content; -f replaces it"
    escape "$(printf '%s' "$1" | sed 's/[][*?]/[&]/g')"
    write_answer "$1.gz" pgzip "data-urlencode = \"file=$escaped\"" --data format=pfw --data "level=${level:-5}" --data "wait=$wait"
    if [ -n "$delete" ]; then
        gzip -dc -- "$1.gz" | cmp -s -- - "$1" || die "$1.gz does not decompress to the same content: $1 is kept"
        rm -- "$1" || exit 1
    fi
    [ -z "$detail" ] || printf '%s.gz\n' "$1"
}
