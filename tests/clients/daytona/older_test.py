# SPDX-License-Identifier: Apache-2.0
"""The Daytona client of half a year ago, unchanged: other routes, other models, and exec by a shell in a shell."""

import asyncio
import os
import unittest

from daytona import (
    AsyncDaytona,
    CreateSandboxFromSnapshotParams,
    Daytona,
    DaytonaConfig,
    DaytonaError,
    DaytonaNotFoundError,
    PtySize,
    SessionExecuteRequest,
)

URL = os.environ["DAYTONA_API_URL"]
CONFIG = DaytonaConfig(api_key=os.environ["DAYTONA_API_KEY"], api_url=URL, target="us")
HANGS_S = 60
LONG = "".join(f"{i}\n" for i in range(1, 200001))


class WithSandbox(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daytona = Daytona(CONFIG)
        cls.sandbox = cls.daytona.get("local")
        cls.process = cls.sandbox.process


class Sandboxes(WithSandbox):
    def test_create_get_and_list_describe_this_machine(self):
        page = self.daytona.list()
        self.assertEqual((page.total, page.page, page.total_pages), (1, 1, 1))
        for s in [self.sandbox, self.daytona.create(), *page.items]:
            self.assertEqual((s.id, str(s.state.value), s.cpu), ("local", "started", os.cpu_count()))

    def test_variables_and_labels_of_create_are_kept(self):
        made = self.daytona.create(CreateSandboxFromSnapshotParams(env_vars={"DT_OLDER": "yes"}, labels={"older": "1"}))
        self.assertEqual(made.process.exec("echo $DT_OLDER").result, "yes")
        self.assertEqual(self.daytona.find_one(labels={"older": "1"}).id, "local")
        self.assertEqual(self.sandbox.set_labels({"older": "2"}), {"older": "2"})
        self.assertEqual([s.id for s in self.daytona.list({"older": "2"}).items], ["local"])
        self.assertEqual(self.daytona.list({"older": "1"}).items, [])

    def test_errors(self):
        with self.assertRaises(DaytonaNotFoundError):
            self.daytona.get("other")
        for call in (lambda: self.sandbox.set_autostop_interval(5), self.sandbox.stop, self.sandbox.archive):
            with self.assertRaisesRegex(DaytonaError, "this daemon"):
                call()
        with self.assertRaises(DaytonaError):
            Daytona(DaytonaConfig(api_key="wrong-wrong-wrong-wrong", api_url=URL, target="us")).get("local")


class Processes(WithSandbox):
    def test_exec_and_code(self):
        done = self.process.exec("echo $A; pwd; echo err >&2; exit 3", env={"A": "a-ü"}, cwd="/usr")
        self.assertEqual((done.exit_code, done.result), (3, "a-ü\n/usr\nerr"))
        self.assertEqual(self.process.exec("seq 200000").result, LONG.rstrip("\n"))
        self.assertEqual(self.process.code_run("print(6 * 7)").result, "42")
        with self.assertRaises(DaytonaError):
            self.process.exec("sleep 1000", timeout=1)

    def test_a_session_keeps_its_state_and_follows_its_logs(self):
        self.process.create_session("older")
        try:
            run = lambda command, **more: self.process.execute_session_command("older", SessionExecuteRequest(command=command, **more))
            run("cd /usr; X=1")
            done = run("echo $X; pwd; echo err >&2")
            self.assertEqual((done.stdout, done.stderr, done.exit_code), ("1\n/usr\n", "err\n", 0))
            command = run("echo first; read x; echo got $x", run_async=True).cmd_id
            out = []

            async def follow():
                following = asyncio.ensure_future(
                    self.process.get_session_command_logs_async("older", command, out.append, lambda _: None))
                while "first" not in "".join(out):
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(self.process.send_session_command_input, "older", command, "two")
                await following

            asyncio.run(asyncio.wait_for(follow(), HANGS_S))
            self.assertIn("got two\n", "".join(out))
            self.assertEqual(self.process.get_session_command("older", command).exit_code, 0)
        finally:
            self.process.delete_session("older")

    def test_a_terminal_is_sized_connected_to_and_killed(self):
        seen = []
        pty = self.process.create_pty_session(id="older-pty", pty_size=PtySize(rows=30, cols=100))
        self.assertEqual(self.process.resize_pty_session("older-pty", PtySize(rows=33, cols=99)).rows, 33)
        pty.send_input("stty size; exit 4\n")
        self.assertEqual(pty.wait(on_data=seen.append, timeout=HANGS_S).exit_code, 4)
        self.assertIn(b"33 99", b"".join(seen))
        self.process.create_pty_session(id="older-two")
        self.assertTrue(self.process.get_pty_session_info("older-two").active)
        again = self.process.connect_pty_session("older-two")
        self.process.kill_pty_session("older-two")
        self.assertNotEqual(again.wait(timeout=HANGS_S).exit_code, 0)

    def test_a_hundred_at_once_by_the_asynchronous_client(self):
        async def all_of_them():
            async with AsyncDaytona(CONFIG) as daytona:
                process = (await daytona.get("local")).process
                return await asyncio.gather(*(process.exec(f"echo {i}; exit {i % 7}") for i in range(100)))

        done = asyncio.run(asyncio.wait_for(all_of_them(), HANGS_S * 2))
        self.assertEqual([(r.result, r.exit_code) for r in done], [(str(i), i % 7) for i in range(100)])


class Files(WithSandbox):
    def test_files_go_up_and_down(self):
        fs, folder = self.sandbox.fs, os.path.join(os.environ["HOME"], "older")
        data = os.urandom(1 << 20)
        fs.create_folder(folder, "755")
        fs.upload_file(data, f"{folder}/a")
        self.assertEqual(fs.download_file(f"{folder}/a"), data)
        fs.move_files(f"{folder}/a", f"{folder}/b")
        self.assertEqual([(f.name, f.size) for f in fs.list_files(folder)], [("b", len(data))])
        fs.delete_file(f"{folder}/b")
        with self.assertRaises(DaytonaNotFoundError):
            fs.get_file_info(f"{folder}/b")


if __name__ == "__main__":
    unittest.main()
