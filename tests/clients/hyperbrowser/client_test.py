# SPDX-License-Identifier: Apache-2.0
"""The Hyperbrowser client from PyPI, unchanged. The environment says where the daemon is."""

import os
import time
import unittest
from datetime import datetime, timezone

from hyperbrowser import Hyperbrowser
from hyperbrowser.exceptions import HyperbrowserError
from hyperbrowser.models import CreateSandboxParams

LONG = "".join(f"{i}\n" for i in range(1, 200001))


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.client = Hyperbrowser(api_key=os.environ["HYPERBROWSER_API_KEY"], base_url=os.environ["HYPERBROWSER_BASE_URL"])
        cls.sandbox = cls.client.sandboxes.get("local")

    def run_command(self, command, **options):
        return self.sandbox.processes.exec(command, **options)


class Control(Client):
    def test_get_create_and_list_describe_this_machine(self):
        made = self.client.sandboxes.create(CreateSandboxParams(image_name="node"))
        for found in (self.sandbox, made, self.client.sandboxes.connect("local")):
            self.assertEqual((found.id, found.status), ("local", "active"))
        listed = self.client.sandboxes.list().sandboxes
        self.assertEqual([s.id for s in listed], ["local"])
        self.assertEqual(listed[0].cpu, os.cpu_count())
        self.assertEqual(listed[0].memory_mib, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20)
        disk = os.statvfs("/")
        self.assertEqual(listed[0].disk_mib, disk.f_blocks * disk.f_frsize >> 20)
        age = (datetime.now(timezone.utc) - listed[0].created_at).total_seconds()
        self.assertLess(abs(age - listed[0].duration), 5)

    def test_the_creation_does_not_move(self):
        first = self.client.sandboxes.list().sandboxes[0].created_at
        time.sleep(0.05)
        self.assertEqual(self.client.sandboxes.list().sandboxes[0].created_at, first)

    def test_another_sandbox_is_not_found(self):
        with self.assertRaises(HyperbrowserError) as caught:
            self.client.sandboxes.get("other")
        self.assertEqual(caught.exception.status_code, 404)


class Processes(Client):
    def test_both_streams_and_the_exit_code(self):
        r = self.run_command("echo out; echo err >&2; exit 3")
        self.assertEqual((r.stdout, r.stderr, r.exit_code, r.status), ("out\n", "err\n", 3, "exited"))

    def test_environment_and_directory(self):
        self.assertEqual(self.run_command("echo $A; pwd", env={"A": "a b ü"}, cwd="/usr").stdout, "a b ü\n/usr\n")

    def test_no_output_is_lost_at_the_exit(self):
        self.assertEqual(self.run_command("seq 200000").stdout, LONG)

    def test_a_character_in_two_writes_arrives_whole(self):
        self.assertEqual(self.run_command(r"printf '\303'; sleep 0.3; printf '\274\n'").stdout, "ü\n")

    def test_bytes_that_are_no_text_are_replaced_once_each(self):
        self.assertEqual(self.run_command(r"printf 'a\377b'").stdout, "a\ufffdb")

    def test_a_timeout_ends_it(self):
        self.assertEqual(self.run_command("sleep 60", timeout_ms=300).status, "timed_out")

    def test_silence_of_many_seconds_does_not_end_the_stream(self):
        self.assertEqual(self.run_command("sleep 8; echo late").stdout, "late\n")

    def test_a_program_that_does_not_exist_fails(self):
        self.assertEqual(self.run_command("/no/such/program").exit_code, 127)

    def test_start_stream_write_and_result(self):
        p = self.sandbox.processes.start("read x; echo got $x")
        p.write_stdin("one\n", eof=True)
        events = list(p.stream())
        self.assertEqual([(e.type, e.seq, e.data) for e in events[:-1]], [("stdout", 1, "got one\n")])
        self.assertEqual((events[-1].result.exit_code, p.result().stdout), (0, "got one\n"))

    def test_a_disconnected_process_keeps_running_and_is_found_again(self):
        p = self.sandbox.processes.start("echo first; read x; echo $x")
        p.disconnect()
        again = self.sandbox.processes.get(p.id)
        self.assertEqual(again.refresh().status, "running")
        again.write_stdin("second\n", eof=True)
        self.assertEqual(again.wait().stdout, "first\nsecond\n")
        self.assertIn(p.id, [x.id for x in self.sandbox.processes.list().data])

    def test_kill_and_signal(self):
        for act in (lambda p: p.kill(), lambda p: p.signal("TERM")):
            p = self.sandbox.processes.start("sleep 60")
            act(p)
            self.assertEqual(p.wait().status, "killed")

    def test_bad_requests_are_refused(self):
        with self.assertRaises(HyperbrowserError) as caught:
            self.run_command("true", cwd="/no/such/directory")
        self.assertLess(caught.exception.status_code, 500)
        with self.assertRaises(HyperbrowserError) as caught:
            self.sandbox.processes.get("proc_missing")
        self.assertEqual(caught.exception.status_code, 404)


class Terminals(Client):
    def test_output_of_a_terminal_is_included_if_asked_for(self):
        t = self.sandbox.terminal.create({"command": "sh", "rows": 24, "cols": 80})
        c = t.attach()
        try:
            c.resize(33, 99)
            c.write("stty size; exit 4\n")
            events = list(c.events())
        finally:
            c.close()
        self.assertIn(b"33 99", b"".join(e.raw for e in events[:-1]))
        self.assertEqual(events[-1].status.exit_code, 4)
        self.assertIsNone(t.refresh().current.output)
        chunks = t.refresh(include_output=True).current.output
        self.assertIn("33 99", "".join(c.data for c in chunks))


class Files(Client):
    def setUp(self):
        self.files = self.sandbox.files
        self.dir = os.path.join(os.environ["HOME"], "python-files")

    def at(self, name):
        return os.path.join(self.dir, name)

    def test_files_are_written_read_listed_and_described(self):
        self.assertTrue(self.files.exists("/etc/passwd"))
        self.assertFalse(self.files.exists(self.at("none")))
        self.assertEqual(self.files.write(self.at("a"), "text").name, "a")
        self.files.write([{"path": self.at("b"), "data": b"\x00\xff"}, {"path": self.at("c"), "data": "c", "mode": "0600"}])
        self.files.write_text(self.at("a"), "!", append=True)
        self.assertEqual(self.files.read(self.at("a")), "text!")
        self.assertEqual(self.files.read_bytes(self.at("b")), b"\x00\xff")
        self.assertEqual(self.files.read_text(self.at("a"), offset=1, length=2), "ex")
        info = self.files.stat(self.at("c"))
        self.assertEqual((info.type, info.size, info.mode, info.permissions), ("file", 1, 0o600, "-rw-------"))
        self.assertLess(abs((datetime.now(timezone.utc) - info.modified_time).total_seconds()), 3600)
        self.assertEqual([e.name for e in self.files.list(self.dir)], ["a", "b", "c"])

    def test_files_are_uploaded_moved_copied_and_removed(self):
        data = os.urandom(1 << 20)
        self.assertEqual(self.files.upload_stream(self.at("m/up"), iter([data, b"end"])).bytes_written, len(data) + 3)
        self.assertEqual(b"".join(self.files.download_stream(self.at("m/up"))), data + b"end")
        self.assertEqual(self.files.move(source=self.at("m/up"), destination=self.at("m/to")).path, self.at("m/to"))
        self.assertEqual(self.files.copy(source=self.at("m/to"), destination=self.at("m/copy")).size, len(data) + 3)
        self.assertTrue(self.files.mkdir(self.at("m/dir")))
        self.files.chmod(path=self.at("m/dir"), mode="0700")
        self.assertEqual(self.files.stat(self.at("m/dir")).mode, 0o700)
        self.files.remove(self.at("m"), recursive=True)
        self.assertFalse(self.files.exists(self.at("m")))
        with self.assertRaises(HyperbrowserError) as caught:
            self.files.upload_url(self.at("x"))
        self.assertEqual(caught.exception.status_code, 501)


if __name__ == "__main__":
    unittest.main()
