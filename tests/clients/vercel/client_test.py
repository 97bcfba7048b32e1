# SPDX-License-Identifier: Apache-2.0
"""The Vercel Sandbox client from PyPI, unchanged. The environment says where the daemon is."""

import os
import subprocess
import unittest
from concurrent.futures import ThreadPoolExecutor

from vercel.sandbox.sync import SandboxServiceOptions
from vercel.sandbox.sync.client import SyncSandboxClient
from vercel.sandbox._internal.options import SandboxCredentials

LONG = "".join(f"{i}\n" for i in range(1, 200001))


def credentials():
    return SandboxCredentials(token=os.environ["VERCEL_TOKEN"], team_id="team", project_id="project")


class Processes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        options = SandboxServiceOptions(base_url=os.environ["VERCEL_URL"], credentials_factory=credentials)
        cls.client = SyncSandboxClient.create(options=options)
        cls.sandbox, _ = cls.client.get_or_create_sandbox(name="python")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def run_process(self, *words, **options):
        return self.sandbox.run_process(words[0], list(words[1:]), capture_output=True, **options)

    def test_both_streams_and_the_exit_code(self):
        r = self.run_process("sh", "-c", "echo out; echo err >&2; exit 3", env={"A": "1"})
        self.assertEqual((r.stdout, r.stderr, r.returncode), ("out\n", "err\n", 3))

    def test_no_output_is_lost_at_the_exit(self):
        self.assertEqual(self.run_process("seq", "200000").stdout, LONG)

    def test_input_of_a_whole_run_arrives_whole(self):
        self.assertEqual(self.run_process("cat", input="ü\n").stdout, "ü\n")
        self.assertEqual(self.run_process("cat", input=b"").stdout, "")
        r = self.run_process("sh", "-c", "sleep 0.5; sha256sum", input=LONG.encode() * 3)
        import hashlib
        self.assertEqual(r.stdout.split()[0], hashlib.sha256(LONG.encode() * 3).hexdigest())

    def test_a_program_that_does_not_read_its_input_still_ends(self):
        self.assertEqual(self.run_process("true", input=b"x" * 1000000).returncode, 0)

    def test_processes_of_the_session_are_listed(self):
        p = self.sandbox.create_process("sh", ["-c", "read x; exit 4"], stdin=subprocess.PIPE)
        found = [q for q in self.sandbox.query_processes() if q.id == p.id]
        self.assertEqual([(q.returncode) for q in found], [None])
        p.communicate(b"\n")
        self.assertEqual(p.wait(), 4)
        self.assertIn((p.id, 4), [(q.id, q.returncode) for q in self.sandbox.query_processes()])

    def test_update(self):
        from datetime import timedelta
        self.sandbox.update(execution_time_limit=timedelta(minutes=50), tags={"a": "b"}, env={"SET": "later"})
        self.assertEqual(dict(self.sandbox.tags), {"a": "b"})
        self.assertEqual(self.run_process("printenv", "SET").stdout, "later\n")

    def test_input_while_it_runs(self):
        p = self.sandbox.create_process("sh", ["-c", "read a; echo got $a; cat"], stdin=subprocess.PIPE)
        p.stdin.write(b"one\n")
        out, _ = p.communicate(b"two\n")
        self.assertEqual((out, p.wait()), ("got one\ntwo\n", 0))

    def test_without_stdin_a_program_sees_the_end_of_input(self):
        self.assertEqual(self.run_process("cat").stdout, "")

    def test_forty_at_once_with_input(self):
        with ThreadPoolExecutor(20) as pool:
            got = list(pool.map(lambda i: self.run_process("cat", input=f"{i}\n").stdout, range(40)))
        self.assertEqual(got, [f"{i}\n" for i in range(40)])


if __name__ == "__main__":
    unittest.main()
