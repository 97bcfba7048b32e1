# SPDX-License-Identifier: Apache-2.0
"""The E2B client from PyPI, unchanged. The environment says where the daemon is."""

import hashlib
import os
import threading
import unittest

from e2b import (
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxException,
    SandboxNotFoundException,
    SandboxQuery,
    TimeoutException,
)
from e2b.exceptions import SandboxNotRunningException

HANGS_S = 60


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = Sandbox.create(validate_api_key=False)

    def pids(self):
        return [p.pid for p in self.sandbox.commands.list()]

    def test_run_returns_both_streams(self):
        result = self.sandbox.commands.run("echo out; echo err >&2")
        self.assertEqual((result.stdout, result.stderr, result.exit_code), ("out\n", "err\n", 0))

    def test_a_failing_command_raises_with_its_exit_code(self):
        with self.assertRaises(CommandExitException) as caught:
            self.sandbox.commands.run("echo last; exit 3")
        self.assertEqual((caught.exception.exit_code, caught.exception.stdout), (3, "last\n"))

    def test_environment_and_directory(self):
        result = self.sandbox.commands.run("echo $A; pwd", envs={"A": "a b ü"}, cwd="/usr")
        self.assertEqual(result.stdout, "a b ü\n/usr\n")

    def test_no_output_is_lost_at_the_exit(self):
        result = self.sandbox.commands.run("seq 200000")
        self.assertEqual(result.stdout, "".join(f"{i}\n" for i in range(1, 200001)))

    def test_output_arrives_while_the_command_runs(self):
        first = threading.Event()
        handle = self.sandbox.commands.run("echo first; read line; echo $line", background=True, stdin=True)
        seen = []

        def on_stdout(text):
            seen.append(text)
            if not first.is_set():
                first.set()
                self.sandbox.commands.send_stdin(handle.pid, "second\n")

        result = handle.wait(on_stdout=on_stdout)
        self.assertEqual(("".join(seen), result.stdout), ("first\nsecond\n",) * 2)

    def test_connect_to_a_running_command(self):
        handle = self.sandbox.commands.run("read line; echo got $line", background=True, stdin=True)
        self.assertIn(handle.pid, self.pids())
        handle.disconnect()
        again = self.sandbox.commands.connect(handle.pid)
        self.sandbox.commands.send_stdin(handle.pid, "it\n")
        self.assertEqual(again.wait().stdout, "got it\n")

    def test_kill(self):
        handle = self.sandbox.commands.run("sleep 1000", background=True)
        self.assertTrue(handle.kill())
        with self.assertRaises(CommandExitException):
            handle.wait()
        self.assertNotIn(handle.pid, self.pids())
        self.assertFalse(self.sandbox.commands.kill(handle.pid))

    def test_input_of_any_size(self):
        """More than 3 MB was refused, and the client called it a rate limit."""
        data = "0123456789abcde\n" * 640_000
        handle = self.sandbox.commands.run("md5sum", background=True, stdin=True)
        self.sandbox.commands.send_stdin(handle.pid, data)
        self.sandbox.commands.close_stdin(handle.pid)
        self.assertEqual(handle.wait().stdout.split()[0], hashlib.md5(data.encode()).hexdigest())

    def test_a_time_out_raises(self):
        with self.assertRaises(TimeoutException):
            self.sandbox.commands.run("sleep 1000", timeout=0.5)


class Terminals(unittest.TestCase):
    def test_size_input_and_exit(self):
        sandbox = Sandbox.create(validate_api_key=False)
        handle = sandbox.pty.create(PtySize(rows=30, cols=100), timeout=HANGS_S)
        sandbox.pty.resize(handle.pid, PtySize(rows=40, cols=120))
        sandbox.pty.send_stdin(handle.pid, b"stty size; exit 4\n")
        seen = bytearray()
        with self.assertRaises(CommandExitException) as caught:
            handle.wait(on_pty=seen.extend)
        self.assertEqual(caught.exception.exit_code, 4)
        self.assertIn(b"40 120", seen)


class Files(unittest.TestCase):
    def test_write_read_list_remove(self):
        sandbox = Sandbox.create(validate_api_key=False)
        folder = os.path.join(os.environ["HOME"], "files")
        sandbox.files.make_dir(folder)
        data = bytes(range(256)) * 1000
        sandbox.files.write(f"{folder}/a.bin", data)
        self.assertEqual(bytes(sandbox.files.read(f"{folder}/a.bin", format="bytes")), data)
        self.assertEqual([e.name for e in sandbox.files.list(folder)], ["a.bin"])
        sandbox.files.remove(f"{folder}/a.bin")
        self.assertFalse(sandbox.files.exists(f"{folder}/a.bin"))


class Errors(unittest.TestCase):
    def setUp(self):
        self.sandbox = Sandbox.create(validate_api_key=False, metadata={"app": "x"})

    def test_a_killed_sandbox_is_gone_for_every_call(self):
        """The client looks for words of E2B's proxy, and without them the state was unknown."""
        gone = os.path.join(os.environ["HOME"], "gone")
        handle = self.sandbox.commands.run("sleep 1000", background=True)
        self.assertTrue(self.sandbox.kill())
        with self.assertRaises(TimeoutException):
            handle.wait()
        for call in (
            lambda s: s.commands.run("true"),
            lambda s: s.commands.list(),
            lambda s: s.commands.send_stdin(handle.pid, "x"),
            lambda s: s.pty.create(PtySize(rows=24, cols=80)),
            lambda s: s.files.write(gone, "x"),
            lambda s: s.files.read(gone),
            lambda s: s.files.list("/"),
            lambda s: s.files.make_dir(gone),
            lambda s: s.files.exists("/"),
        ):
            with self.assertRaisesRegex(SandboxNotRunningException, "was not found: The sandbox was killed"):
                call(self.sandbox)
        self.assertFalse(os.path.exists(gone))
        self.assertFalse(self.sandbox.is_running())
        self.assertFalse(self.sandbox.kill())
        with self.assertRaises(SandboxNotFoundException):
            self.sandbox.get_info()
        self.assertEqual(Sandbox.list(validate_api_key=False).next_items(), [])

    def test_a_call_that_one_sandbox_cannot_carry_out_does_not_say_that_it_is_gone(self):
        for call in (self.sandbox.pause, self.sandbox.create_snapshot):
            with self.assertRaisesRegex(SandboxException, "^501: .* not supported") as caught:
                call()
            self.assertNotIsInstance(caught.exception, NotFoundException)
        self.assertTrue(self.sandbox.is_running())

    def test_a_wrong_token(self):
        with self.assertRaisesRegex(AuthenticationException, "X-API-KEY"):
            Sandbox.connect(self.sandbox.sandbox_id, api_key="wrong-wrong-wrong-wrong", validate_api_key=False)

    def test_arguments(self):
        commands = self.sandbox.commands
        with self.assertRaisesRegex(InvalidArgumentException, "cwd '/not/there' does not exist"):
            commands.run("true", cwd="/not/there")
        with self.assertRaisesRegex(AuthenticationException, "invalid username: 'nobody-at-all'"):
            commands.run("true", user="nobody-at-all")
        with self.assertRaises(NotFoundException):
            commands.connect(4000000000)
        with self.assertRaisesRegex(SandboxException, "stdin: true"):
            commands.send_stdin(commands.run("sleep 1000", background=True).pid, "x")

    def test_the_list_has_its_filters(self):
        info = self.sandbox.get_info()

        def ids(**query):
            return [s.sandbox_id for s in Sandbox.list(query=SandboxQuery(**query), validate_api_key=False).next_items()]

        self.assertEqual(ids(metadata={"app": "x"}, template=info.template_id), [info.sandbox_id])
        self.assertEqual(ids(started_after=info.started_at), [info.sandbox_id])
        self.assertEqual(ids(started_after=info.end_at), [])
        self.assertEqual(ids(template="another"), [])
        self.assertEqual(ids(metadata={"app": "y"}), [])


if __name__ == "__main__":
    unittest.main()
