# SPDX-License-Identifier: Apache-2.0
"""grpcio from PyPI, unchanged. The environment says where the daemon and the descriptors of the service are."""

import asyncio
import os
import threading
import time
import unittest

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

TARGET, TOKEN = os.environ["TARGET"], os.environ["TOKEN"]
HANGS_S = 60
TERMINALS = 100
FLOOD = 50_000_000
QUIET_S = int(os.environ.get("QUIET_S", "1"))
Code = grpc.StatusCode

with open(os.environ["DESCRIPTORS"], "rb") as file:
    FILE = descriptor_pb2.FileDescriptorSet.FromString(file.read()).file[0]
POOL = descriptor_pool.DescriptorPool()
POOL.Add(FILE)
MESSAGES = message_factory.GetMessageClassesForFiles([FILE.name], POOL)


def message(name, **fields):
    return MESSAGES[f"{FILE.package}.{name}"](**fields)


def until(condition, what):
    end = time.monotonic() + HANGS_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {HANGS_S} s")
        time.sleep(0.02)


class Stub:
    """What grpcio-tools would generate: a callable for each method of the service."""

    def __init__(self, channel, token=TOKEN, header="authorization"):
        self.metadata = ((header, f"Bearer {token}" if header == "authorization" else token),) if token else ()
        service = FILE.service[0]
        for m in service.method:
            kind = channel.unary_stream if m.server_streaming else channel.unary_unary
            made = kind(
                f"/{FILE.package}.{service.name}/{m.name}",
                request_serializer=MESSAGES[m.input_type[1:]].SerializeToString,
                response_deserializer=MESSAGES[m.output_type[1:]].FromString,
            )
            setattr(self, m.name, self.bound(made, m.input_type.rpartition(".")[2], m.server_streaming))

    def bound(self, made, request, streams):
        def call(timeout=None if streams else HANGS_S, options=None, **fields):
            return made(message(request, **fields), timeout=timeout, metadata=self.metadata, **(options or {}))

        return call


class Listener(threading.Thread):
    """A Listen that gathers in a thread of its own what arrives."""

    def __init__(self, call):
        super().__init__(daemon=True)
        self.call, self.data, self.exit, self.titles, self.code = call, bytearray(), None, [], None
        self.more = threading.Condition()
        self.start()

    def run(self):
        try:
            for m in self.call:
                with self.more:
                    kind = m.WhichOneof("output")
                    if kind == "data":
                        self.data += m.data
                    elif kind == "exit_code":
                        self.exit = (m.exit_code, len(self.data))
                    elif kind == "title":
                        self.titles.append((m.title, m.title_source))
                    self.more.notify_all()
            code = Code.OK
        except grpc.RpcError as err:
            code = err.code()
        with self.more:
            self.code = code
            self.more.notify_all()

    def until(self, condition, what):
        with self.more:
            if not self.more.wait_for(condition, HANGS_S):
                raise AssertionError(f"{what}: {self.code}, {self.titles[-3:]}, {bytes(self.data[-300:])}")

    def sees(self, text):
        self.until(lambda: text in self.data, text)

    def titled(self, title, source=0):
        self.until(lambda: self.titles[-1:] == [(title, source)], title)

    def end(self):
        """The exit code, None without one, and the status."""
        self.until(lambda: self.code, "the end")
        return self.exit and self.exit[0], self.code


class WithStub(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(TARGET)
        cls.stub = Stub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()

    def open(self, script=None, **fields):
        shell = {"shell": "/bin/bash", "shell_args": ["-c", script] if script else ["--norc", "--noprofile"]}
        return self.stub.Open(**{**shell, **fields})

    def listen(self, alias, **more):
        return Listener(self.stub.Listen(alias=alias, **more))

    def fails(self, code, call, details=""):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        self.assertIn(details, caught.exception.details())


class Terminals(WithStub):
    def test_open_list_get_and_shutdown(self):
        made = self.open(workdir="/tmp", env={"HELLO": "there"}, annotations={"a": "ü"}, size=message("TerminalSize", rows=31, cols=97))
        t = made.terminal
        self.assertEqual((list(t.command), t.initial_workdir, dict(t.annotations)), (["/bin/bash", "--norc", "--noprofile"], "/tmp", {"a": "ü"}))
        self.assertTrue(made.starter_token)
        self.assertIn(t.alias, [x.alias for x in self.stub.List().terminals])
        listener = self.listen(t.alias)
        self.assertEqual(self.stub.Write(alias=t.alias, stdin=b'cd /; stty size; echo "$HELLO"\n').bytes_written, 31)
        listener.sees(b"31 97\r\n")
        listener.sees(b"\nthere\r\n")
        self.assertEqual(self.stub.Get(alias=t.alias).pid, t.pid)
        until(lambda: self.stub.Get(alias=t.alias).current_workdir == "/", "the new directory")
        self.stub.Shutdown(alias=t.alias)
        exit_code, status = listener.end()
        self.assertEqual(status, Code.OK)
        self.assertGreaterEqual(exit_code, 128)
        self.assertNotIn(t.alias, [x.alias for x in self.stub.List().terminals])

    def test_the_exit_code_follows_the_last_byte_also_if_it_is_zero(self):
        for code in (0, 3):
            listener = self.listen(self.open(f"seq 5000; exit {code}").terminal.alias)
            self.assertEqual(listener.end(), (code, Code.OK))
            self.assertEqual(bytes(listener.data), b"".join(b"%d\r\n" % i for i in range(1, 5001)))
            self.assertEqual(listener.exit[1], len(listener.data))

    def test_two_listeners_and_one_that_cancels(self):
        alias = self.open("read x; echo got $x").terminal.alias
        one, two, third = (self.listen(alias) for _ in range(3))
        third.titled("bash")
        third.call.cancel()
        self.assertEqual(third.end(), (None, Code.CANCELLED))
        self.stub.Write(alias=alias, stdin=b"it\n")
        self.assertEqual((one.end(), two.end()), (((0, Code.OK),) * 2))
        self.assertEqual(one.data, two.data)
        self.assertIn(b"got it\r\n", one.data)

    def test_titles_and_annotations(self):
        alias = self.open().terminal.alias
        listener = self.listen(alias)
        listener.titled("bash")
        self.stub.SetTitle(alias=alias, title="mine")
        listener.titled("mine", 1)
        self.stub.SetTitle(alias=alias, title="")
        listener.titled("bash")
        self.stub.UpdateAnnotations(alias=alias, changed={"keep": "1", "drop": "2"})
        self.stub.UpdateAnnotations(alias=alias, changed={"new": "3"}, deleted=["drop"])
        self.assertEqual(dict(self.stub.Get(alias=alias).annotations), {"keep": "1", "new": "3"})
        self.stub.Shutdown(alias=alias)

    def test_a_size_needs_the_token_or_force(self):
        made = self.open("while read x; do stty size; done")
        alias, listener = made.terminal.alias, self.listen(made.terminal.alias)
        size = lambda rows: message("TerminalSize", rows=rows, cols=100)
        self.fails(Code.FAILED_PRECONDITION, lambda: self.stub.SetSize(alias=alias, size=size(40)), "wrong token or force not set")
        self.fails(Code.INVALID_ARGUMENT, lambda: self.stub.SetSize(alias=alias, force=True))
        for rows, right in ((41, {"token": made.starter_token}), (42, {"force": True})):
            self.stub.SetSize(alias=alias, size=size(rows), **right)
            self.stub.Write(alias=alias, stdin=b"\n")
            listener.sees(b"%d 100\r\n" % rows)
        self.stub.Shutdown(alias=alias)


class Errors(WithStub):
    def test_what_is_not_there(self):
        for call in (self.stub.Get, lambda alias: self.stub.Write(alias=alias, stdin=b"x"), lambda alias: next(self.stub.Listen(alias=alias))):
            self.fails(Code.NOT_FOUND, lambda: call(alias="none"), "terminal not found")
        self.fails(Code.NOT_FOUND, lambda: self.stub.Shutdown(alias="none"), "not found")
        self.fails(Code.INTERNAL, lambda: self.stub.Open(shell="/nonexistent/shell"))

    def test_tokens_and_roles(self):
        for token in (None, "wrong-wrong-wrong-wrong"):
            self.fails(Code.UNAUTHENTICATED, Stub(self.channel, token).List)
            self.fails(Code.UNAUTHENTICATED, lambda: next(Stub(self.channel, token).Listen(alias="none")))
        self.assertIsNotNone(Stub(self.channel, header="x-gitpod-owner-token").List())
        watching = Stub(self.channel, os.environ["WATCH_TOKEN"])
        watching.List()
        self.fails(Code.PERMISSION_DENIED, watching.Open)

    def test_calls_that_break_the_protocol(self):
        unknown = self.channel.unary_unary("/supervisor.TerminalService/Nothing")
        self.fails(Code.UNIMPLEMENTED, lambda: unknown(b"", metadata=self.stub.metadata, timeout=HANGS_S))
        other = self.channel.unary_unary("/supervisor.StatusService/SupervisorStatus")
        self.fails(Code.UNIMPLEMENTED, lambda: other(b"", metadata=self.stub.metadata, timeout=HANGS_S))
        broken = self.channel.unary_unary("/supervisor.TerminalService/Get")
        self.fails(Code.INVALID_ARGUMENT, lambda: broken(b"\xff\xff", metadata=self.stub.metadata, timeout=HANGS_S))
        alias = self.open("sleep 1000").terminal.alias
        big = b"x" * (4 << 20)
        self.fails(Code.RESOURCE_EXHAUSTED, lambda: self.stub.Write(alias=alias, stdin=big))
        self.fails(Code.UNIMPLEMENTED, lambda: self.stub.Write(alias=alias, stdin=b"x" * 5000, options={"compression": grpc.Compression.Gzip}))
        self.assertEqual(self.stub.Get(alias=alias).alias, alias)
        self.stub.Shutdown(alias=alias)

    def test_a_deadline_ends_the_listen_alone(self):
        alias = self.open("sleep 1000").terminal.alias
        self.assertEqual(self.listen(alias, timeout=0.3).end(), (None, Code.DEADLINE_EXCEEDED))
        self.assertEqual(self.stub.Get(alias=alias).alias, alias)
        self.stub.Shutdown(alias=alias)


class Stress(WithStub):
    def test_a_hundred_at_once_by_the_asynchronous_client(self):
        async def one(stub, i):
            made = await stub.Open(shell="sh", shell_args=["-c", f"read x; echo got $x; exit {i % 5}"])
            out, code = bytearray(), None
            stream = stub.Listen(alias=made.terminal.alias)
            await stub.Write(alias=made.terminal.alias, stdin=b"n%d\n" % i)
            async for m in stream:
                out += m.data
                code = m.exit_code if m.WhichOneof("output") == "exit_code" else None
            return (f"got n{i}\r\n".encode() in out, code)

        async def all_of_them():
            async with grpc.aio.insecure_channel(TARGET) as channel:
                stub = Stub(channel)
                return await asyncio.gather(*(one(stub, i) for i in range(TERMINALS)))

        self.assertEqual(asyncio.run(asyncio.wait_for(all_of_them(), HANGS_S * 2)), [(True, i % 5) for i in range(TERMINALS)])

    def test_fifty_megabytes_arrive_whole(self):
        line = b"0123456789abcde\n"
        alias = self.open(f"stty raw; read -rsn 1; yes 0123456789abcde | head -c {FLOOD}").terminal.alias
        listener = self.listen(alias)
        listener.titled("bash")
        self.stub.Write(alias=alias, stdin=b"x")
        listener.until(lambda: listener.code, "the end of the flood")
        self.assertEqual(listener.end(), (0, Code.OK))
        self.assertTrue(bytes(listener.data).endswith(line * (FLOOD // len(line))), f"{len(listener.data)} bytes")

    def test_a_silence_with_pings_every_second_ends_nothing(self):
        """A server that counts pings would send GOAWAY: too_many_pings."""
        pings = [("grpc.keepalive_time_ms", 1000), ("grpc.http2.max_pings_without_data", 0)]
        with grpc.insecure_channel(TARGET, options=pings) as channel:
            made = self.open(f"sleep {QUIET_S}; echo late; exit 4")
            listener = Listener(Stub(channel).Listen(alias=made.terminal.alias))
            listener.join(QUIET_S + HANGS_S)
            self.assertEqual(listener.end(), (4, Code.OK))
            self.assertIn(b"late\r\n", listener.data)


class ZWorkerKilled(WithStub):
    def test_a_listen_that_is_cut_has_no_exit_and_the_next_has_all_of_it(self):
        made = self.open("echo before; read x; echo after; exit 6")
        alias, cut = made.terminal.alias, self.listen(made.terminal.alias)
        cut.sees(b"before\r\n")
        self.stub.SetTitle(alias=alias, title="kept")
        os.kill(int(os.environ["WORKER_PID"]), 9)
        self.assertEqual(cut.end(), (None, Code.UNAVAILABLE))
        until(lambda: self.title_of(alias) == "kept", "the title by the next worker")
        again = self.listen(alias)
        again.sees(b"before\r\n")
        self.stub.Write(alias=alias, stdin=b"\n")
        self.assertEqual(again.end(), (6, Code.OK))
        self.assertTrue(again.data.endswith(b"after\r\n"), again.data)

    def title_of(self, alias):
        try:
            return self.stub.Get(alias=alias, options={"wait_for_ready": True}).title
        except grpc.RpcError as err:
            self.assertEqual(err.code(), Code.UNAVAILABLE)
            return None


if __name__ == "__main__":
    unittest.main()
