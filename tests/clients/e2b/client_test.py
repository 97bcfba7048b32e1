# SPDX-License-Identifier: Apache-2.0
"""The E2B client from PyPI, unchanged. The environment says where the daemon is."""

import os
import threading
import unittest

from e2b import CommandExitException, PtySize, Sandbox, TimeoutException

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


if __name__ == "__main__":
    unittest.main()
