# SPDX-License-Identifier: Apache-2.0
"""The Daytona client from PyPI, unchanged, sync and async. The environment says where the daemon is."""

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
    FileDownloadRequest,
    FileUpload,
    PtySize,
    SessionExecuteRequest,
)

CONFIG = DaytonaConfig(api_key=os.environ["DAYTONA_API_KEY"], api_url=os.environ["DAYTONA_API_URL"], target="us")
LONG = "".join(f"{i}\n" for i in range(1, 200001))


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daytona = Daytona(CONFIG)
        cls.sandbox = cls.daytona.get("local")
        cls.process = cls.sandbox.process


class Control(Client):
    def test_get_create_and_list_describe_this_machine(self):
        found = [self.sandbox, self.daytona.create(), *self.daytona.list()]
        self.assertEqual([s.id for s in found], ["local"] * 3)
        for s in found:
            self.assertEqual((s.cpu, s.gpu, str(s.state.value)), (os.cpu_count(), 0, "started"))
            self.assertEqual(s.memory, round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30) or 1)
            self.assertEqual(s.created_at, self.sandbox.created_at)

    def test_variables_and_labels_of_create_are_kept(self):
        made = self.daytona.create(CreateSandboxFromSnapshotParams(language="javascript", env_vars={"DT_MADE": "yes"}, labels={"mine": "1"}))
        self.assertEqual(made.process.exec("echo $DT_MADE").result, "yes\n")
        self.assertEqual(made.process.code_run("console.log(6 * 7)").result, "42\n")
        self.assertEqual(made.env["DT_MADE"], "yes")
        self.sandbox.refresh_data()
        self.assertEqual(self.sandbox.labels["mine"], "1")
        self.sandbox.set_labels({"other": "2"})
        self.sandbox.refresh_data()
        self.assertEqual(self.sandbox.labels, {"other": "2"})
        self.daytona.create(CreateSandboxFromSnapshotParams(language="python"))

    def test_what_one_sandbox_cannot_do_is_refused_with_the_reason(self):
        for act in (lambda s: s.set_autostop_interval(5), lambda s: s.stop(), lambda s: s.get_preview_link(3000)):
            with self.assertRaisesRegex(DaytonaError, "this daemon"):
                act(self.sandbox)
        self.sandbox.refresh_activity()
        with self.assertRaises(DaytonaNotFoundError):
            self.daytona.get("other")


class Processes(Client):
    def test_exec_returns_the_output_and_the_exit_code(self):
        r = self.process.exec("echo out; echo err >&2; exit 3", env={"A": "1"}, cwd="/usr")
        self.assertEqual((r.exit_code, sorted(r.result.split())), (3, ["err", "out"]))
        self.assertEqual(self.process.exec("echo $A; pwd", env={"A": "a b ü"}, cwd="/usr").result, "a b ü\n/usr\n")

    def test_no_output_is_lost_at_the_exit(self):
        self.assertEqual(self.process.exec("seq 200000").result, LONG)

    def test_code_runs(self):
        self.assertEqual(self.process.code_run("import sys; print(sys.argv[0] != '', 6 * 7)").result, "True 42\n")

    def test_a_timeout_is_an_error(self):
        with self.assertRaises(DaytonaError):
            self.process.exec("sleep 60", timeout=1)

    def test_a_session_keeps_its_state_and_splits_its_output(self):
        self.process.create_session("py")
        try:
            self.process.execute_session_command("py", SessionExecuteRequest(command="cd /usr; X=1"))
            r = self.process.execute_session_command("py", SessionExecuteRequest(command="echo $X; pwd; echo err >&2"))
            self.assertEqual((r.stdout, r.stderr, r.exit_code), ("1\n/usr\n", "err\n", 0))
            self.assertEqual(len(self.process.get_session("py").commands), 2)
        finally:
            self.process.delete_session("py")

    def test_logs_are_followed_and_input_is_delivered(self):
        self.process.create_session("logs")
        try:
            request = SessionExecuteRequest(command="echo first; read x; echo got $x; echo err >&2", run_async=True)
            command = self.process.execute_session_command("logs", request).cmd_id
            out, err = [], []

            async def follow():
                following = asyncio.ensure_future(
                    self.process.get_session_command_logs_async("logs", command, out.append, err.append))
                while "first" not in "".join(out):
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(self.process.send_session_command_input, "logs", command, "two")
                await following

            asyncio.run(asyncio.wait_for(follow(), 60))
            self.assertIn("got two\n", "".join(out))
            self.assertEqual("".join(err), "err\n")
            self.assertEqual(self.process.get_session_command("logs", command).exit_code, 0)
        finally:
            self.process.delete_session("logs")

    def test_a_terminal_is_sized_resized_and_ends_with_its_exit_code(self):
        seen = []
        pty = self.process.create_pty_session(id="py-pty", pty_size=PtySize(rows=30, cols=100))
        pty.resize(PtySize(rows=33, cols=99))
        pty.send_input("stty size; exit 4\n")
        result = pty.wait(on_data=lambda data: seen.append(data), timeout=60)
        self.assertEqual(result.exit_code, 4)
        self.assertIn(b"33 99", b"".join(seen))


class Together(unittest.TestCase):
    def test_a_hundred_commands_at_once_by_the_async_client(self):
        async def run():
            async with AsyncDaytona(CONFIG) as daytona:
                sandbox = await daytona.get("local")
                return await asyncio.gather(*(sandbox.process.exec(f"echo {i}; exit {i % 7}") for i in range(100)))

        results = asyncio.run(asyncio.wait_for(run(), 120))
        self.assertEqual([(r.result, r.exit_code) for r in results], [(f"{i}\n", i % 7) for i in range(100)])


class Files(Client):
    def at(self, name):
        return os.path.join(os.environ["HOME"], "python-files", name)

    def test_files_go_up_and_down_and_are_described(self):
        fs = self.sandbox.fs
        data = os.urandom(1 << 20)
        fs.upload_file(data, self.at("one"))
        self.assertEqual(fs.download_file(self.at("one")), data)
        fs.upload_files([FileUpload(source=f"text {i}".encode(), destination=self.at(f"many/{i}")) for i in range(20)])
        got = fs.download_files([FileDownloadRequest(source=self.at(f"many/{i}")) for i in range(20)] + [FileDownloadRequest(source=self.at("none"))])
        self.assertEqual([r.result for r in got[:20]], [f"text {i}".encode() for i in range(20)])
        self.assertIn("none", got[20].error)
        info = fs.get_file_info(self.at("one"))
        self.assertEqual((info.name, info.size, info.is_dir, info.permissions), ("one", len(data), False, "0644"))
        self.assertEqual([f.name for f in fs.list_files(self.at("."))], ["many", "one"])
        with self.assertRaises(DaytonaNotFoundError):
            fs.get_file_info(self.at("none"))

    def test_folders_moves_permissions_and_text(self):
        fs = self.sandbox.fs
        fs.create_folder(self.at("folder/deep"), "755")
        fs.upload_file(b"a\nTODO b\n", self.at("folder/x"))
        fs.move_files(self.at("folder/x"), self.at("folder/y"))
        fs.set_file_permissions(self.at("folder/y"), mode="600")
        self.assertEqual(fs.get_file_info(self.at("folder/y")).mode, "-rw-------")
        self.assertEqual([(m.line, m.content) for m in fs.find_files(self.at("folder"), "TODO")], [(2, "TODO b")])
        with self.assertRaises(DaytonaError):
            fs.delete_file(self.at("folder"))
        fs.delete_file(self.at("folder"), recursive=True)
        self.assertFalse(os.path.exists(self.at("folder")))


if __name__ == "__main__":
    unittest.main()
