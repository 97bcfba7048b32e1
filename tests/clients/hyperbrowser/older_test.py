# SPDX-License-Identifier: Apache-2.0
"""The Hyperbrowser client of before 1.0, unchanged: exec in one reply, models instead of dictionaries."""

import os
import unittest
from concurrent.futures import ThreadPoolExecutor

from hyperbrowser import Hyperbrowser
from hyperbrowser.exceptions import HyperbrowserError
from hyperbrowser.models import CreateSandboxParams, SandboxTerminalCreateParams

URL = os.environ["HYPERBROWSER_BASE_URL"]
LONG = "".join(f"{i}\n" for i in range(1, 200001))


class WithSandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Hyperbrowser(api_key=os.environ["HYPERBROWSER_API_KEY"], base_url=URL)
        cls.sandbox = cls.client.sandboxes.connect("local")
        cls.processes = cls.sandbox.processes


class Sandboxes(WithSandbox):
    def test_create_get_connect_and_list(self):
        made = self.client.sandboxes.create(CreateSandboxParams(image_name="node"))
        for found in (made, self.client.sandboxes.get("local"), self.sandbox):
            self.assertEqual((found.id, found.status), ("local", "active"))
        self.assertEqual([s.id for s in self.client.sandboxes.list().sandboxes], ["local"])
        self.assertEqual(made.processes.exec("echo made").stdout, "made\n")

    def test_errors(self):
        for call, status in (
            (lambda: self.client.sandboxes.get("other"), 404),
            (lambda: self.processes.get("proc_missing"), 404),
            (lambda: Hyperbrowser(api_key="wrong-wrong-wrong-wrong", base_url=URL).sandboxes.get("local"), 401),
        ):
            with self.assertRaises(HyperbrowserError) as caught:
                call()
            self.assertEqual(caught.exception.status_code, status)


class Processes(WithSandbox):
    def test_both_streams_and_the_exit_code(self):
        done = self.processes.exec("echo $A; pwd; echo err >&2; exit 3", env={"A": "a b ü"}, cwd="/usr")
        self.assertEqual((done.stdout, done.stderr, done.exit_code, done.status), ("a b ü\n/usr\n", "err\n", 3, "exited"))
        self.assertEqual(self.processes.exec("seq 200000").stdout, LONG)
        self.assertEqual(self.processes.exec("sleep 1000", timeout_ms=300).status, "timed_out")
        self.assertEqual(self.processes.exec("/no/such/program").exit_code, 127)

    def test_start_stream_input_and_result(self):
        p = self.processes.start("read x; echo got $x")
        p.write_stdin("one\n", eof=True)
        events = list(p.stream())
        self.assertEqual([(e.type, e.seq, e.data) for e in events[:-1]], [("stdout", 1, "got one\n")])
        self.assertEqual((events[-1].result.exit_code, p.result().stdout), (0, "got one\n"))
        self.assertIn(p.id, [x.id for x in self.processes.list().data])

    def test_kill_and_signal(self):
        for act in (lambda p: p.kill(), lambda p: p.signal("TERM")):
            p = self.processes.start("sleep 1000")
            act(p)
            self.assertEqual(p.wait().status, "killed")

    def test_a_hundred_at_once(self):
        with ThreadPoolExecutor(100) as pool:
            done = list(pool.map(lambda i: self.processes.exec(f"echo {i}; exit {i % 7}"), range(100)))
        self.assertEqual([(r.stdout, r.exit_code) for r in done], [(f"{i}\n", i % 7) for i in range(100)])


class Terminals(WithSandbox):
    def test_a_terminal_is_resized_and_ends_with_its_exit_code(self):
        terminal = self.sandbox.terminal.create(SandboxTerminalCreateParams(command="sh", rows=24, cols=80))
        connection = terminal.attach()
        try:
            connection.resize(33, 99)
            connection.write("stty size; exit 4\n")
            events = list(connection.events())
        finally:
            connection.close()
        self.assertIn(b"33 99", b"".join(e.raw for e in events[:-1]))
        self.assertEqual(events[-1].status.exit_code, 4)


class Files(WithSandbox):
    def test_files_are_written_read_moved_and_removed(self):
        files, folder = self.sandbox.files, os.path.join(os.environ["HOME"], "older")
        at = lambda name: os.path.join(folder, name)
        data = os.urandom(1 << 20)
        files.write(at("a"), data)
        self.assertEqual(files.read_bytes(at("a")), data)
        files.move(source=at("a"), destination=at("b"))
        self.assertEqual([(e.name, e.size) for e in files.list(folder)], [("b", len(data))])
        files.remove(at("b"))
        self.assertFalse(files.exists(at("b")))


if __name__ == "__main__":
    unittest.main()
