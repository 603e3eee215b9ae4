"""Synthesised traces: every generation of the tracer and every damage of docs/READING.md. Deterministic.

    python3 tests/golden/synth.py DIR
"""

import gzip
import json
import os
import random
import struct
import sys
import zlib

OLD = 1700000000  # mtime of every file: none of them grows


def line(**fields):
    return json.dumps(fields, separators=(",", ":")).encode()


def member(text, level=6):
    z = zlib.compressobj(level, zlib.DEFLATED, -15)
    body = z.compress(text) + z.flush()
    header = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
    return header + body + struct.pack("<II", zlib.crc32(text), len(text) & 0xFFFFFFFF)


class Folder:
    def __init__(self, base):
        self.base = base

    def write(self, name, data):
        path = os.path.join(self.base, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        os.utime(path, (OLD, OLD))

    def text(self, name, *lines, end=b"\n"):
        data = b"\n".join(lines) + end
        self.write(name, member(data) if name.endswith(".gz") else data)


# ---- generations ---------------------------------------------------------------------------------------

def hexhash(rng):
    return "%016x" % rng.getrandbits(64)


def v3_process(rng, pid, host, hhash, rank, n, files, base=1700000000000000, with_ids=True):
    """Lines of one process of tracer v3."""
    meta = {"cat": "dftracer", "pid": pid, "tid": pid, "ph": "M"}
    cmd, exe, cwd = (hexhash(rng) for _ in range(3))
    yield line(name="HH", **meta, args={"hhash": hhash, "name": host, "value": hhash})
    yield line(name="thread_name", **meta, args={"hhash": hhash, "name": str(pid), "value": "thread_name"})
    yield line(name="SH", **meta, args={"hhash": hhash, "name": "python;train.py;--rank=%d" % rank, "value": cmd})
    yield line(name="SH", **meta, args={"hhash": hhash, "name": "python", "value": exe})
    yield line(name="FH", **meta, args={"hhash": hhash, "name": "/scratch/run", "value": cwd})
    yield line(id=1, name="start", cat="dftracer", pid=pid, tid=pid, ts=base, dur=0, ph="X",
               args={"hhash": hhash, "cmd_hash": cmd, "exec_hash": exe, "cwd": cwd, "version": "v3.0.1",
                     "date": "Tue Nov 14 22:13:20 2023", "ppid": 77})
    yield line(name="process_name", **meta, args={"hhash": hhash, "name": "Rank %d" % rank, "value": "process_name"})
    yield line(name="PR", **meta, args={"hhash": hhash, "name": "rank", "value": str(rank)})
    yield line(name="PR", **meta, args={"hhash": hhash, "name": "core_affinity", "value": [rank, rank + 1]})
    yield line(name="CM", **meta, args={"hhash": hhash, "name": "epoch.start", "value": "1753123070219648"})
    ts, seen = base + 10, set()
    for i in range(n):
        path, fhash = files[rng.randrange(len(files))]
        dur = rng.choice([0, 1, 3, rng.randrange(100), rng.randrange(10000), rng.randrange(3000000)])
        fields = {"id": i + 2} if with_ids else {}
        fields.update(pid=pid, tid=pid + rng.randrange(3), ts=ts, dur=dur, ph="X")
        args = {"hhash": hhash}
        kind = rng.randrange(10)
        if kind < 4:
            if fhash not in seen:
                seen.add(fhash)
                yield line(name="FH", **meta, args={"hhash": hhash, "name": path, "value": fhash})
            size = rng.choice([0, -1, 512, 4096, 65536, 1 << 20])
            fields.update(name=rng.choice(["read", "write", "pread64", "pwrite"]), cat="POSIX")
            args.update(fhash=fhash, fd=rng.randrange(3, 60), ret=size, count=max(size, 512),
                        offset=rng.randrange(1 << 32))
        elif kind < 5:
            fields.update(name=rng.choice(["fread", "fwrite"]), cat="STDIO")
            args.update(fhash=fhash, size=rng.choice([1, 8]), count=100, ret=rng.randrange(101))
        elif kind < 6:
            fields.update(name=rng.choice(["open64", "close", "mkdir", "__xstat"]), cat="POSIX")
            args.update(fhash=fhash, ret=rng.choice([0, 3, -1]))
        elif kind < 8:
            fields.update(name=rng.choice(["forward", "backward", "step"]), cat="compute")
            args.update(epoch=1 + i // 40, step=i % 40)
        elif kind < 9:
            fields.update(name="NPZReader.read_index", cat="reader")
            args.update(epoch=str(1 + i // 40), step=str(i % 40), image_idx=str(i), image_size="150528")
        else:
            fields.update(name="DataLoader", cat="ai_framework")
            args.update(shash=exe, count="7")
        yield line(**fields, args=args)
        ts += dur + rng.randrange(20)
    yield line(id=n + 2, name="end", cat="dftracer", pid=pid, tid=pid, ts=ts, dur=0, ph="X",
               args={"hhash": hhash, "num_events": n + 1})


def generations(out):
    rng = random.Random(7)
    files = [("/data/%s_%02d.npz" % (rng.choice(["train", "valid"]), i), hexhash(rng)) for i in range(20)]
    hosts = [("node%d" % i, hexhash(rng)) for i in range(3)]
    for rank in range(4):
        host, hhash = hosts[rank % 3]
        lines = list(v3_process(rng, 4000 + rank, host, hhash, rank, 150, files))
        out.text("v3/run-%s-app.pfw.gz" % hexhash(rng), b"[", *lines, b"]")
    lines = list(v3_process(rng, 5000, hosts[0][0], hosts[0][1], 0, 120, files))
    per_event = b"".join(member(part + b"\n") for part in [b"["] + lines + [b"]"])
    out.write("v1014/run-1-preload.pfw.gz", per_event)
    text = b"[\n" + b"\n".join(lines) + b"\n]"
    out.write("v1014/run-2-preload.pfw.gz", b"".join(member(text[i : i + 5000]) for i in range(0, len(text), 5000)))
    big = b"\n".join(v3_process(rng, 6000, hosts[1][0], hosts[1][1], 6, 45000, files)) + b"\n"
    out.write("big/one-member.pfw.gz", member(big))
    cuts = [i * 300007 for i in range(len(big) // 300007 + 1)] + [len(big)]
    big = b"\n".join(v3_process(rng, 6001, hosts[2][0], hosts[2][1], 7, 45000, files)) + b"\n"
    cuts = list(range(0, len(big), 300007)) + [len(big)]
    out.write("big/many-members.pfw.gz", b"".join(member(big[a:b], 1) for a, b in zip(cuts, cuts[1:])))
    old_generations(out, rng)
    new_generations(out)


def old_generations(out, rng):
    floats = [b'{"name": "Trainer.step", "cat": "trainer", "pid": 3, "tid": %d, "ts": 1689629734939%03d.%s, '
              b'"dur": %d.1338348388672, "ph": "X"}' % (22583 + i % 2, i, [b"5", b"25", b"0", b"1875"][i % 4], i * 7)
              for i in range(60)]
    out.text("g0/trace-3-of-4.pfw", b"[", *floats)
    out.text("g0/.trace-0-of-4.pfw", b"[", b"[", *floats[:7])
    out.text("g0/dlp_logs-1.pfw", b"[", b"[", b"[", *[
        line(name="open64", cat="POSIX", pid=1, tid=100 + i, ts=8265704 + i, dur=443, ph="X",
             args={"hostname": "x3004c0s13b1n0", "core_affinity": [3], "ret": 117, "path": "/data/%d.tf" % (i % 3)})
        for i in range(20)])
    strings = [line(id=str(i), name="read", cat="POSIX", pid="2315", tid="4630", ts=str(1698975745976947 + i * 10),
                    dur=str(i), ph="X", args={"hostname": "ruby165", "ret": str(i * 512), "count": "8192",
                                              "offset": str(i * 8192), "fd": 15, "fname": "file%d" % (i % 3)})
               for i in range(50)]
    out.write("v0/trace-ior-2315.pfw.gz", member(b"[\n " + b"\n".join(strings) + b"\n"))
    out.write("v0/unfinished.pfw", b"   " + b"\n".join(strings[:9]) + b"\n  " + strings[9] + b"\n")
    hashes = {i: rng.randrange(65536) for i in range(8)}
    g2 = []
    for i in range(8):
        g2.append(line(id=i, name="FH", cat="dftracer", pid=900, tid=900, ph="M",
                       args={"name": "/p/file%d" % i, "value": hashes[i]}))
    g2.insert(0, line(id=99, name="HH", cat="dftracer", pid=900, tid=900, ph="M",
                      args={"name": "corona173", "value": 5692}))
    for i in range(40):
        g2.append(line(id=i + 10, name="fread", cat="STDIO", pid=900, tid=900, ts=1727387308000429 + i * 11, dur=i % 7,
                       ph="X", args={"hhash": 5692, "p_idx": -1, "level": 1, "ret": i * 10, "count": 8192, "size": 1,
                                     "fhash": hashes[i % 8]}))
    out.write("g2/cm1-900.pfw", b"[\n" + b"\n".join(g2) + b"\n]")
    g3 = [line(id=1, name="HH", cat="dftracer", pid=28, tid=28, ph="M",
               args={"hhash": 9509357668201227806, "name": "corona171", "value": 9509357668201227806}),
          line(id=2, name="FH", cat="dftracer", pid=28, tid=28, ph="M",
               args={"hhash": 9509357668201227806, "name": "/p/train", "value": 12046336058336786775})]
    g3 += [line(id=i + 3, name="opendir", cat="POSIX", pid=28, tid=28, ts=1744611914277772 + i, dur=3997 - i, ph="X",
                args={"hhash": 9509357668201227806, "fhash": 12046336058336786775, "level": 4, "p_idx": 9})
           for i in range(30)]
    out.write("g3/trace-0-of-8.pfw", b"[\n" + b"\n".join(g3) + b"\n]")


def new_generations(out):
    def v4(i, **more):
        return line(id=i, name="write", cat="POSIX", type=3, pid=31, tid=31, ts=1785087679000000 + i * 5, dur=i, ph=1,
                    args={"hhash": "8e0caa2d595b2a4d", "ret": 4096, "count": 4096, **more})

    aggregated = line(name="openat", cat="POSIX", type=3, ts=1785087679000000, ph=3, pid=31, tid=31,
                      args={"hhash": "8e0caa2d595b2a4d", "dft_cnt": 2, "dur_min": 379, "dur_max": 444, "dur_sum": 823,
                            "size_sum": 8192})
    counter = line(name="cpu", cat="sys", type=7, ts=1785087679000500, ph=2, pid=31, tid=0,
                   args={"hhash": "8e0caa2d595b2a4d", "user_pct": 12.5, "idle_pct": 83.1})
    end = line(id=99, name="end", cat="dftracer", type=1, pid=31, tid=31, ts=1785087689000000, dur=0, ph=1,
               args={"hhash": "8e0caa2d595b2a4d", "num_events": 98,
                     "cfg": {"enable": 1, "time_metric": "US", "io": {"posix": 1, "stdio": 0}}, "app": {}})
    names = line(name="HH", cat="dftracer", type=1, pid=31, tid=31, ph=4,
                 args={"hhash": "8e0caa2d595b2a4d", "name": "tuo1", "value": "8e0caa2d595b2a4d"})
    out.text("v4/run-app.pfw.gz", names, aggregated, *[v4(i) for i in range(40)], counter,
             v4(41, relations={"used": [1, 2], "generated": []}, tags=["Alpha", "beta"]), end)
    for unit in ("NS", "MS", "SEC"):
        metric = line(name="CM", cat="dftracer", type=1, pid=32, tid=32, ph=4,
                      args={"name": "time_metric", "value": unit})
        ts = {"NS": 1785087679000000123, "MS": 1785087679000, "SEC": 1785087679}[unit]
        events = [line(id=i, name="tick", cat="C_APP", pid=32, tid=32, ts=ts + i, dur=i * 3, ph=1, args={"u": unit})
                  for i in range(12)]
        out.text("units/%s.pfw" % unit.lower(), *events[:5], metric, *events[5:])
    out.text("units/end-ns.pfw",
             line(id=1, name="tick", cat="C_APP", pid=33, tid=33, ts=1785087679000000500, dur=2500, ph=1, args={}),
             line(id=2, name="end", cat="dftracer", pid=33, tid=33, ts=1785087679000001500, dur=0, ph=1,
                  args={"cfg": {"time_metric": "NS"}}))
    profile = [b'{"pid": 20053, "tid": 20053, "name": "read [kernel]", "cat": "vfs", "ph": "C", "ts": %d, "args": '
               b'{"hostname": "ebpf", "fname": %s, "freq": %d, "time": 4.122e-06, "size_sum": %s}}'
               % (i // 5 * 1000000, [b"null", b'"/a"', b'"/b"'][i % 3], i + 1, [b"null", b"4096"][i % 2]) for i in range(60)]
    system = [b'{"pid": 0, "tid": 0, "name": "io_stat", "cat": "Disk", "ph": "C", "ts": %d.0, "args": {"hostname": "ebpf", '
              b'"mount": "sda%d", "read_count": %d, "busy": %d.5}}' % (i * 500000, i % 2, i, i) for i in range(20)]
    out.text("datacrumbs/profile.pfw.gz", b"[", *profile, *system)
    out.text("datacrumbs/trace.pfw", b"[",
             b'{"name": "HH", "cat": "dftracer", "ph": "M", "args": {"name": "lima", "value": '
             b'314828689199209182275661060106169083757}}',
             *[b'{"pid": 3, "tid": 3, "name": "copy_to_page [kernel]", "cat": "os_cache", "ph": "X", "ts": %d, "args": '
               b'{"hhash": 314828689199209182275661060106169083757}}' % i for i in range(25)], b"]")


# ---- damaged text ----------------------------------------------------------------------------------------

def event(i, name=b"read", more=b""):
    return (b'{"id":%d,"name":"%s","cat":"POSIX","pid":50,"tid":50,"ts":%d,"dur":%d,"ph":"X","args":{"ret":%d%s}}'
            % (i, name, 1700000000000000 + i * 100, i % 9, i * 16, more))


def damaged_lines():
    """name -> lines"""
    bs = b"\\"
    return {
        "commas": [b'{,"id":1,,"name":"read","cat":"POSIX","ts":5,"ph":"X","args":{"step":8,}}',
                   event(2, more=b',,"list":[,1,,2,]'), event(3, more=b",") + b",", b"," + event(4), b"[" + event(5) + b",",
                   b'{"id":6,"name":"x","ph":"X","ts":9,"args":{,}}'],
        "control": [event(1, b"a\x01b\x1f\tc\rd"), event(2, more=b',"fname":"x\x00y"'), b"\x00\x01 " + event(3) + b" \x00"],
        "utf8": [event(1, b"caf\xc3\xa9"), event(2, b"caf\xe9"), event(3, b"\xf0\x9f\x92 \xc0\xaf \xed\xa0\x80"),
                 event(4, more=b',"fname":"/d/\xff\xfe.dat"'), event(5, "\u6771\u4eac\U0001f600".encode())],
        "escapes": [event(1, b"a" + bs + b"xb"), event(2, b"tail" + bs + b"u12g4"), event(3, bs + b"u0041" + bs + b"n" + bs + b"/"),
                    event(4, b"C:" + bs + b"windows" + bs + b"system"), event(5, bs * 2), event(6, bs + b'"q' + bs + b'"')],
        "surrogates": [event(1, bs + b"ud83d" + bs + b"ude00"), event(2, bs + b"ud800"), event(3, bs + b"ud800" + bs + b"ud800x"),
                       event(4, bs + b"udc00" + bs + b"u0061"), event(5, b"x" + bs + b"uD83D" + bs + b"n")],
        "nan": [event(1, more=b',"a":NaN,"b":Infinity,"c":-Infinity'), event(2, more=b',"a":nan,"b":inf,"c":-inf'),
                b'{"name":"x","ts":5,"dur":NaN,"ph":"X","args":{"list":[1,NaN]}}',
                b'{"name":"y","ts":Infinity,"ph":"X"}'],
        "stuck": [b'{"id":1,"name":"PR","cat":"dftracer","pid":123q,"tid":123q,"ph":"M","args":{"name":"core_affinity","value": [1,2]}}',
                  event(2, more=b',"n":01,"m":1.,"k":1e,"j":2.5.6,"l":7-8'), b'{"name":"z","ts":12abc,"dur":3us,"ph":"X"}',
                  event(4, more=b',"bad":.5'), event(5, more=b',"bad":+5'), event(6, more=b',"bad":-')],
        "split": [event(1), b'{"id":2,"name":"open","cat":"POSIX","pid":50,"tid":50,"ts":70,"dur":1,"ph":"X","args":{"fname":"/dev/shm/A',
                  b'"}}', event(3), b'{"id":4,"name":"three', b"lines", b'of it","cat":"POSIX","ph":"X","ts":80,', b'"dur":2,"args":{}}',
                  event(5), b'{"id":6,"name":"cut","cat":"POSIX","ts":90', event(7), b'{"id":8,"name":"bracket', b"]", event(9),
                  b'{"id":10,"name":"a', b"b", b"c", b"d", b"e", b"f", b"g", b"h", b'i","ts":95,"ph":"X"}', event(11),
                  b'{"id":12,"name":"a', b"b", b"c", b"d", b"e", b"f", b"g", b"h", b"i", b'j","ts":96,"ph":"X"}', event(13),
                  event(14) + b'{"id":15,"name":"glued and', b'split","ts":97,"ph":"X"}', event(16), b'{"id":17,"name":"last cut'],
        "glued": [event(1) + event(2), event(3) + b" , " + event(4) + b"," + event(5), event(6)[:50] + event(7),
                  event(8) + b" trailing junk", event(9) + b"]", b"junk before " + event(10), event(11)[:-5] + event(12),
                  event(13) + b"{broken" + event(14), event(15)[:-1] + b"," + event(16), b"]" + event(17),
                  event(18) + b'{"no":"name"}', b'{"no":"name"}' + event(19), b'{"a":{"b":' * 3 + event(20)],
        "invalid": [b"123", b'"text"', b"[1,2]x", b"{", b"{}", b'{"name":"only"}', b'{"ts":5}', b'{"name":null,"ts":5}',
                    b"nonsense", event(1), b'{"name":"a" "b"}', b"{'single':1}", b'{"name":"x","ts":"soon"}', b"true",
                    b"[" * 70 + b"]" * 70, b"[[],[]]", b"x" * 5000],
        "classes": [b'{"name":"n","ts":1}', b'{"name":"n","ts":2,"ph":null}', b'{"name":"n","ts":3,"ph":0}',
                    b'{"name":"n","ts":4,"ph":"XX"}', b'{"name":"n","ts":5,"ph":"B"}', b'{"name":"n","ts":6,"ph":"C"}',
                    b'{"name":"n","ts":7,"ph":2}', b'{"name":"n","ts":8,"ph":"A"}', b'{"name":"n","ts":9,"ph":3}',
                    b'{"name":"n","ph":"M"}', b'{"name":"n","ph":4}', b'{"ph":"X"}', b'{"ph":1}', b'{"ph":"e","ts":10}',
                    b'{"name":"n","ts":11,"ph":9}', b'{"name":"n","ph":9}', b'{"name":"n","ts":12,"ph":1,"dur":null}',
                    b'{"name":"n","ts":13,"ph":"i"}', b'{"name":"n","ts":14,"ph":"X"}', b'{"name":7,"ts":15,"ph":"X","cat":true}',
                    b'{"name":"n","ts":16,"ph":"7"}', b'{"name":"n","ts":17,"ph":true}'],
        "values": [b'{"id":"7","name":"a","cat":"POSIX","pid":"12","tid":12.0,"ts":"1.5","dur":"2.25","ph":"X","args":{"ret":"4096","count":"x","size":"1e3","epoch":"train","step":"-3","offset":" 5"}}',
                   b'{"id":1.5,"name":"b","pid":"no","tid":[1],"ts":1.0000005,"dur":0.0015,"ph":"X","args":{"hhash":5,"fhash":"5","p_hash":12345678901234567890123,"cwd":7}}',
                   b'{"name":"c","ts":2,"dur":18446744073709551615,"ph":"X","args":{"big":9223372036854775808,"neg":-9223372036854775809,"max":9223372036854775807,"f":-0.0,"z":-0}}',
                   b'{"name":"d","ts":3,"dur":1,"dur":2,"ph":"X","args":{"a":1},"args":{"b":2}}',
                   b'{"name":"e","ts":4,"ph":"X","args":{"deep":{"er":{"x":1,"y":[1,{"z":2}],"e":{}}},"arr":[],"t":true,"n":null,"s":""},"extra":{"k":5},"more":6}',
                   b'{"name":"f","ts":9223372036854775808,"ph":"X"}', b'{"name":"g","ts":5,"dur":"soon","ph":"X"}',
                   b'{"name":"h","ts":6,"ph":"B","args":[1,2]}', b'{"name":"i","ts":7,"ph":"X","args":"text"}',
                   b'{"name":"mix","ts":8,"ph":"X","args":{"m":1}}', b'{"name":"mix","ts":9,"ph":"X","args":{"m":1.5}}',
                   b'{"name":"mix","ts":10,"ph":"X","args":{"m":"1"}}', b'{"name":"mix","ts":11,"ph":"X","args":{"m":true}}',
                   b'{"name":"mix","ts":12,"ph":"X","args":{"m":[1]}}', b'{"name":"mix","ts":13,"ph":"X","args":{"m":12345678901234567890}}',
                   b'{"name":"mix","ts":14,"ph":"X","args":{"m":"9007199254740993"}}', b'{"name":"mix","ts":15,"ph":"X","args":{"m":9007199254740993}}',
                   b'{"name":"big","ts":16,"dur":1e3,"ph":"X","args":{"size":1234.5,"image_size":"77"}}'],
        "deep": [event(1, more=b',"d":' + b'{"d":' * 61 + b"1" + b"}" * 61), event(2, more=b',"d":' + b'{"d":' * 62 + b"1" + b"}" * 62),
                 event(3, more=b',"d":' + b'{"d":' * 63 + b"1" + b"}" * 63), event(4)],
        "paths": [event(i, more=b"".join(b',"k%d":%d' % (j, i + j) for j in range(i * 20, i * 20 + 20))) for i in range(30)]
                 + [event(99, more=b',"k599":"text"')],
        "brackets": [b"[", b"[", b" [ ", event(1), b"]", b"", b"  ", b",", b"][", event(2), b"\x00\x00", b"],", b"[]"],
    }


def damaged(out):
    for name, lines in damaged_lines().items():
        out.text("damage/%s.pfw" % name, *lines)
    out.text("damage/crlf.pfw", *[event(i) + b"\r" for i in range(5)], b"]\r")
    out.text("damage/no-final-newline.pfw", b"[", event(1), event(2), end=b"")
    out.text("damage/only-bracket.pfw", b"[")
    out.write("damage/empty.pfw", b"")
    out.write("damage/empty.pfw.gz", b"")
    out.write("damage/empty-member.pfw.gz", member(b""))
    out.write("damage/plain-named.pfw.gz", b"[\n" + event(1) + b"\n" + event(2) + b"\n")
    out.write("damage/gzip-named.pfw", member(b"[\n" + event(1) + b"\n"))
    out.text("damage/long-line.pfw.gz", event(1), event(2, more=b',"x":"' + b"y" * (1 << 20) + b'"'),
             event(3, more=b',"x":"' + b"y" * (17 << 20) + b'"'), event(4))
    damaged_gzip(out)


def damaged_gzip(out):
    """Files whose members or bytes are not what they were."""
    rng = random.Random(11)
    parts = [b"".join(event(i * 50 + j, rng.choice([b"read", b"write", b"open64"]), b',"r":%d' % rng.getrandbits(40)) + b"\n"
                      for j in range(50)) for i in range(20)]
    members = [member(p) for p in parts]
    whole = b"".join(members)
    out.write("gzip/sound.pfw.gz", whole)
    out.write("gzip/cut-in-member.pfw.gz", whole[: len(whole) - 700])
    out.write("gzip/cut-in-trailer.pfw.gz", whole[:-3])
    out.write("gzip/cut-in-header.pfw.gz", b"".join(members[:5]) + members[5][:6])
    out.write("gzip/cut-after-header.pfw.gz", b"".join(members[:5]) + members[5][:10])
    out.write("gzip/one-cut.pfw.gz", member(b"".join(parts))[:-2000])
    out.write("gzip/garbage-between.pfw.gz", b"GARBAGE not gzip".join(members))
    out.write("gzip/zeros-after.pfw.gz", whole + b"\0" * 512)
    out.write("gzip/text-after.pfw.gz", whole + b"\n]\n")
    bad = bytearray(whole)
    bad[len(members[0]) + len(members[1]) - 6] ^= 0x10
    out.write("gzip/wrong-crc.pfw.gz", bytes(bad))
    for n in range(6):
        bad = bytearray(whole)
        for at in range(3):
            start = sum(map(len, members[: 3 + n + at * 4]))
            bad[start + 40 + rng.randrange(len(members[0]) - 60)] ^= 1 << rng.randrange(8)
        out.write("gzip/flipped-%d.pfw.gz" % n, bytes(bad))
    zeroed = bytearray(whole)
    start = sum(map(len, members[:4]))
    zeroed[start + 100 : start + 400] = bytes(300)
    out.write("gzip/zeroed.pfw.gz", bytes(zeroed))
    header = bytearray(members[1])
    header[3] = 8 | 4
    named = bytes(header[:10]) + struct.pack("<H", 3) + b"abc" + b"trace.pfw\0" + bytes(header[10:])
    out.write("gzip/header-fields.pfw.gz", members[0] + named + members[2])


# ---- names, hosts, files ---------------------------------------------------------------------------------

def resolution(out):
    def meta(name, pid, args, **more):
        return line(name=name, cat="dftracer", pid=pid, tid=pid, ph="M", args=args, **more)

    def call(i, pid, args, name="read"):
        return line(id=i, name=name, cat="POSIX", pid=pid, tid=pid, ts=1000 + i * 10, dur=5, ph="X", args=args)

    # the same pid on two hosts, the same 16-bit hash for two files
    for n, host in enumerate(["alpha", "beta"]):
        out.text("hosts/same-pid-%s.pfw" % host,
                 meta("HH", 10, {"name": host, "value": 100 + n}), meta("thread_name", 10, {"name": "10", "value": "thread_name"}),
                 meta("FH", 10, {"name": "/file/of/" + host, "value": 7}),
                 meta("PR", 10, {"name": "rank", "value": str(n)}),
                 *[call(i, 10, {"hhash": 100 + n, "fhash": 7, "ret": 8 * (n + 1)}) for i in range(6)])
    # two names for one hash in one file; the first one counts
    out.text("hosts/collision.pfw", meta("HH", 11, {"name": "gamma", "value": 102}),
             call(0, 11, {"hhash": 102, "fhash": 9}), meta("FH", 11, {"name": "/first", "value": 9}),
             meta("FH", 11, {"name": "/second", "value": 9}), meta("FH", 11, {"name": "/first", "value": 9}),
             call(1, 11, {"hhash": 102, "fhash": 9, "ret": 3}))
    # a child whose names stand in its parent's file; hash 7 has two meanings elsewhere
    out.text("hosts/parent.pfw", meta("HH", 20, {"name": "delta", "value": "d1"}),
             meta("FH", 20, {"name": "/parents/view", "value": "7"}), meta("SH", 20, {"name": "mpirun;x", "value": "c1"}),
             line(id=1, name="start", cat="dftracer", pid=20, tid=20, ts=5, dur=0, ph="X",
                  args={"hhash": "d1", "cmd_hash": "c1", "exec_hash": "unknown", "cwd": "7", "version": 100008, "ppid": 1}),
             call(1, 20, {"hhash": "d1", "fhash": "7"}), call(2, 20, {"hhash": "d1", "ret": 22}, name="fork"))
    out.text("hosts/child.pfw",
             line(id=1, name="start", cat="dftracer", pid=21, tid=21, ts=50, dur=0, ph="X",
                  args={"hhash": "d1", "cmd_hash": "c1", "ppid": 20}),
             call(2, 21, {"hhash": "d1", "fhash": "7"}), call(3, 21, {"fhash": "d1"}), call(4, 21, {}))
    out.text("hosts/forked.pfw", call(2, 22, {"hhash": "d1", "fhash": "7"}), call(3, 22, {"fhash": "nobody"}))
    # conflicting elsewhere: stays as it is
    out.text("hosts/stranger.pfw", call(1, 30, {"hhash": 100, "fhash": 7}), call(2, 30, {"hostname": "other", "fname": "/f"}),
             call(3, 30, {"pathname_hash": 9, "newpath_hash": "7"}))
    out.text("hosts/no-pid.pfw", line(name="HH", ph="M", args={"name": "eps", "value": "e1"}),
             line(name="x", ts=5, ph="X", args={"hhash": "e1"}), line(name="y", ts=6, ph="X"))


def tree(out):
    out.text("tree/top.pfw", event(1), event(2))
    out.text("tree/sub/a.pfw", event(3))
    out.text("tree/sub/b.pfw.gz", event(4), event(5))
    out.text("tree/sub/deeper/c.pfw", event(6))
    out.text("tree/sub2/d.pfw", event(7))
    out.text("tree/.hidden.pfw", event(8))
    out.text("tree/.nfs000000000001.pfw", event(9))
    out.text("tree/notes.txt", event(10))
    out.text("tree/rows.jsonl", event(11))
    out.text("tree/b.pfw.gz.idx", event(12))
    out.text("tree/name with blank & %.pfw", event(13))
    out.text("tree/\u00e4\u00f6.pfw", event(14))
    path = os.path.join(out.base, "tree", "outside.pfw")
    if not os.path.lexists(path):
        os.symlink("/etc/passwd", path)
    path = os.path.join(out.base, "tree", "pipe.pfw")
    if not os.path.lexists(path):
        os.mkfifo(path)


def view_case(out):
    """What the reader test of the old commands reads: each kind of metadata record, and calls of several categories."""
    pid = {"pid": 1000, "tid": 2000}

    def meta(name, key, value):
        return line(name=name, ph="M", **pid, args={"hhash": "host_abc", "name": key, "value": value})

    def call(name, cat, ts, dur, **args):
        return line(name=name, cat=cat, **pid, ts=ts, dur=dur, ph="X", args={"hhash": "host_abc", **args})

    out.text("view47/case.pfw.gz", meta("HH", "localhost", "host_abc"), meta("FH", "/data/file1", "file_001"),
             meta("FH", "/data/file2", "file_002"), meta("SH", "train.py", "script_x"), meta("thread_name", "1000", "thread_name"),
             call("read", "POSIX", 1000000, 500, fhash="file_001"), call("write", "POSIX", 1001000, 300, fhash="file_001"),
             call("pread64", "POSIX", 1002000, 150, fhash="file_002"), call("fwrite", "STDIO", 1003000, 200),
             call("forward", "compute", 1100000, 50000), call("backward", "compute", 1150000, 60000),
             call("DataLoader", "ai_framework", 1210000, 10000, shash="script_x"),
             call("checkpoint", "checkpoint", 1300000, 500000))


def family(out):
    """Processes and their parents: facts of all kinds, one that contradicts another, circles, equal pids, guesses."""
    hashes = {"kin-a": "a1a1a1a1a1a1a1a1", "kin-b": "b2b2b2b2b2b2b2b2"}

    def call(pid, name, ts, host="kin-a", cat="POSIX", dur=5, **args):
        where = {"hhash": hashes[host]} if host else {}
        return line(name=name, cat=cat, pid=pid, tid=pid, ts=ts, dur=dur, ph="X", args={**where, **args})

    def meta(pid, name, key, value, host="kin-a"):
        return line(name=name, cat="dftracer", pid=pid, tid=pid, ph="M", args={"hhash": hashes[host], "name": key, "value": value})

    def start(pid, ts, host="kin-a", **args):
        return call(pid, "start", ts, host, "dftracer", 0, **args)

    def end(pid, ts, host="kin-a"):
        return call(pid, "end", ts, host, "dftracer", 0, num_events=3)

    out.text("family/main-100.pfw", meta(100, "HH", "kin-a", hashes["kin-a"]), meta(100, "SH", "mpirun;train", "c1c1c1c1c1c1c1c1"),
             start(100, 1000, ppid=1, cmd_hash="c1c1c1c1c1c1c1c1", exec_hash="d1d1d1d1d1d1d1d1"), meta(100, "PR", "rank", "0"),
             call(100, "fork", 1010, ret=101), call(100, "spawn", 1020, cat="app", ret=102), call(100, "fork", 1025, ret=103),
             call(100, "vfork", 1030, ret=104), call(100, "fork", 1035, ret=105), call(100, "read", 1040, ret=4096),
             call(100, "fread", 1050, cat="STDIO", ret=2, size=8), call(100, "late", 1060, cat="app", dur=90), end(100, 1200))
    out.text("family/child-101.pfw.gz", start(101, 1015), call(101, "write", 1016, ret=10), call(101, "fork", 1017, ret=104),
             call(101, "fork", 1018, ret=101), meta(101, "process_name", "Rank 7", "process_name"))
    out.text("family/102-more.pfw", call(102, "end", 1031, cat="app"), call(102, "write", 1032, ret=-1))
    out.text("family/102.pfw", start(102, 1021), end(102, 1300))
    out.text("family/104.pfw", call(104, "app", 1400, cat="app"), start(105, 1401, ppid=104), end(105, 1402), call(105, "x", 1403, host=None))
    out.text("family/b/100.pfw", meta(100, "HH", "kin-b", hashes["kin-b"], "kin-b"), start(100, 1000, "kin-b", ppid=100),
             start(101, 1001, "kin-b", ppid=100), call(101, "end", 1002, "kin-b", "dftracer"), call(None, "nobody", 1003, "kin-b"))
    out.text("family/circle.pfw", start(203, 1, "kin-b", ppid=201), start(202, 1, "kin-b", ppid=203), start(201, 1, "kin-b", ppid=202),
             start(204, 1, "kin-b", ppid=202), start(205, 1, "kin-b", ppid=205), end(204, 2, "kin-b"))
    out.text("family/old/trace-300-of-8.pfw", call(300, "open", 5, None), call(301, "open", 6, None), call(301, "fork", 7, None, ret=302),
             call(302, "open", 8, None, dur=2.5), line(name="c", cat="sys", pid=303, tid=0, ts=9, ph="C", args={"n": 1}))
    out.text("family/old/two-310-311.pfw", call(310, "open", 5, None), call(311, "open", 6, None), call(312, "open", 7, None))


def layers(out):
    """Calls in calls: who counts the bytes. And fields that are named like columns, with and without calls that have a size beside them."""
    rng = random.Random(13)

    def call(name, cat, ts, dur, pid=1, tid=1, **args):
        return line(name=name, cat=cat, pid=pid, tid=tid, ts=ts, dur=dur, ph="X", args=args)

    def some(number, unit, **where):
        for i in range(number):
            stdio = rng.random() < 0.4
            yield call(rng.choice(["fread", "fwrite"] if stdio else ["read", "pwrite64", "lseek", "fwrite"]),
                       rng.choice(["STDIO", "stdio"] if stdio else ["POSIX", "sys", "Sys", "app"]), rng.randrange(20 * number) / unit,
                       rng.choice([0, 3, 40, 40, 400]) / unit, tid=rng.randrange(3), ret=rng.randrange(-1, 50), size=rng.choice([1, 8, 0.5, 0]), **where)  # fmt: skip

    nested = list(some(600, 1, hhash="a1a1a1a1a1a1a1a1")) + list(some(200, 1, hhash="b2b2b2b2b2b2b2b2"))
    out.text("layers/nested.pfw.gz", *nested)
    out.text("layers/backwards.pfw", *nested[::-1])
    out.text("layers/old.pfw", *some(200, 8, hostname="node-1"), *some(100, 8, hostname="node-2"))
    sums = [{"size_sum": 9, "ret_sum": 8, "ret": 1, "size": 2}, {"ret_sum": 8, "count": 3}, {"count": 3}, {"size": 5, "count": 3}, {"size_sum": 0}, {"ret": -1, "size": 5}]
    out.text("layers/sums.pfw", *(line(name=name, cat=cat, pid=1, tid=1, ts=i, ph=ph, args=args) for i, args in enumerate(sums)
                                  for name in ("read", "fread", "close") for cat in ("POSIX", "STDIO", "sys", "c") for ph in ("X", "C", "A")))  # fmt: skip
    odd = {k: 1234567 if k in ("size", "bytes", "te", "rank") else "no " + k for k in ("size", "bytes", "te", "host", "rank", "file", "cmd", "exec", "trace")}
    for name, more in (("alone", []), ("beside", [call("read", "POSIX", 7, 1, ret=26954)])):
        out.text("layers/%s.pfw" % name, line(name="compute", cat="app", pid=1, tid=1, ts=5, dur=3, ph="X", args={"n": 1}, **odd), *more)


def make(directory):
    out = Folder(directory)
    layers(out)
    family(out)
    generations(out)
    damaged(out)
    resolution(out)
    tree(out)
    view_case(out)


def make_duplicates(directory):
    """X and X.gz with the same text, and a pair that only looks so."""
    out = Folder(directory)
    text = b"[\n" + b"\n".join(event(i) for i in range(30)) + b"\n]\n"
    out.write("twice.pfw", text)
    out.write("twice.pfw.gz", gzip.compress(text, mtime=0))
    out.write("other.pfw", text)
    out.write("other.pfw.gz", gzip.compress(text.replace(b"read", b"scan"), mtime=0))


if __name__ == "__main__":
    make(sys.argv[1])
