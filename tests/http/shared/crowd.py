"""Many connections that ask /stats, all by one thread: how long each answer took. For tests/soak/load and bench/rows_service.py."""

import itertools
import re
import selectors
import socket
import time

from web import check

HEAD = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Client:
    """One connection; answers follow each other."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), 600)
        self.got, self.begin, self.number = b"", 0, 0

    def send(self, path):
        self.begin = time.perf_counter()
        self.socket.sendall(HEAD % path.encode())

    def whole(self, head, end):
        """Bytes of the answer; of one in chunks (of steps, on a busy machine), in which no line has such an end, when the last is there."""
        told = re.search(rb"\r\nContent-Length: (\d+)", head)
        if told:
            return end + 4 + int(told.group(1))
        last = self.got.find(b"\r\n0\r\n\r\n", end)
        return last + 7 if last >= 0 else len(self.got) + 1

    def take(self):
        """Statuses of the answers that are whole."""
        part, statuses = self.socket.recv(1 << 18), []
        check(part, "it was closed")
        self.got += part
        while (end := self.got.find(b"\r\n\r\n")) >= 0:
            head = self.got[:end]
            size = self.whole(head, end)
            if len(self.got) < size:
                break
            statuses.append(int(head[9:12]))
            self.got = self.got[size:]
        return statuses


def latencies(port, clients, seconds, paths):
    """Seconds that each answer took, ascending, and by how many that were asked later one was overtaken at most; every client asks
    again when it has its answer."""
    selector, took, overtaken, numbers = selectors.DefaultSelector(), [], 0, itertools.count()
    for client in (Client(port) for _ in range(clients)):
        selector.register(client.socket, selectors.EVENT_READ, client)
        client.number = next(numbers)
        client.send(next(paths))
    end, waiting = time.perf_counter() + seconds, clients
    while waiting:
        for key, _ in selector.select():
            client, now = key.data, time.perf_counter()
            for status in client.take():
                check(status == 200, status)
                overtaken = max(overtaken, len(took) - client.number)
                took.append(now - client.begin)
                if now < end:
                    client.number = next(numbers)
                    client.send(next(paths))
                else:
                    waiting -= 1
    for key in list(selector.get_map().values()):
        key.data.socket.close()
    return sorted(took), overtaken


def percentile(took, q):
    return took[min(len(took) - 1, int(q * len(took)))]


def distinct(number):
    """Questions that differ in what they filter by, so that each is a scan: events of up to 49 us are there. A number comes again
    when its answer is not kept any more."""
    while True:
        number[0] += 1
        yield "/stats?report=names&min_duration=%dns" % (1 + number[0] % 48000)


def same(number, clients):
    """Each round all ask one question that is new."""
    for path in distinct(number):
        yield from itertools.repeat(path, clients)
