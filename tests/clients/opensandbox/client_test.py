# SPDX-License-Identifier: Apache-2.0
"""The OpenSandbox client from PyPI, unchanged, of 1.1 and of 0.1. The environment says where the daemon is."""

import asyncio
import grp
import os
import pwd
import shutil
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from importlib.metadata import version

from opensandbox import Sandbox, SandboxSync
from opensandbox.config import ConnectionConfig, ConnectionConfigSync
from opensandbox.exceptions import SandboxApiException, SandboxException
from opensandbox.models.execd import ExecutionHandlers, RunCommandOpts
from opensandbox.models.execd_sync import ExecutionHandlersSync
from opensandbox.models.filesystem import ContentReplaceEntry, MoveEntry, SearchEntry, SetPermissionEntry, WriteEntry
from opensandbox.models.sandboxes import NetworkPolicy, SandboxFilter
from opensandbox.sync.manager import SandboxManagerSync

try:
    from opensandbox.models.filesystem import DirectoryListEntry
except ImportError:  # before 1.0
    DirectoryListEntry = None

DOMAIN = os.environ["OPEN_SANDBOX_DOMAIN"]
MODERN = version("opensandbox") >= "1.1"  # it reads the body of each refusal
LIMIT = 30
SILENCE = int(os.environ["SILENCE"])


def config(kind=ConnectionConfigSync, seconds=LIMIT):
    return kind(domain=DOMAIN, api_key=os.environ["OPEN_SANDBOX_API_KEY"], request_timeout=timedelta(seconds=seconds))


def texts(messages):
    return [m.text for m in messages]


def until(ready, what, seconds=LIMIT):
    end = time.monotonic() + seconds
    while not (value := ready()):
        if time.monotonic() > end:
            raise AssertionError(f"gave up waiting for {what}")
        time.sleep(0.02)
    return value


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.sandbox = SandboxSync.connect("any", connection_config=config())
        cls.commands = cls.sandbox.commands

    @classmethod
    def tearDownClass(cls):
        cls.sandbox.close()

    def run_command(self, command, **options):
        return self.commands.run(command, opts=RunCommandOpts(**options))

    def refused(self, status, code=None):
        test = self

        class Refused:
            def __enter__(self):
                self.caught = test.assertRaises(SandboxApiException)
                self.caught.__enter__()
                return self

            def __exit__(self, *why):
                self.caught.__exit__(*why)
                err = self.caught.exception
                test.assertEqual(err.status_code, status, str(err))
                if code and MODERN:
                    test.assertEqual(err.error.code, code)
                return True

        return Refused()


class Text(Client):
    """What a program has written is what the client says it has."""

    def exact(self, command, output):
        done = self.run_command(command)
        self.assertEqual(done.text.rstrip("\n"), output.rstrip("\n"))
        return done

    def test_lines_and_blank_lines(self):
        done = self.exact("printf 'x\\ny\\n'", "x\ny\n")
        self.assertEqual(texts(done.logs.stdout), ["x", "y"])
        blank = self.exact("printf 'a\\n\\nb\\n\\n\\nc\\n'", "a\n\nb\n\n\nc\n")
        self.assertEqual([t.strip("\n") for t in texts(blank.logs.stdout)], ["a", "", "b", "", "", "c"])
        self.exact("printf '\\na\\n\\n'", "\na\n\n")

    def test_a_line_of_megabytes_is_whole(self):
        for size in (70_000, 3_000_000):
            done = self.exact(f"head -c {size} /dev/zero | tr '\\0' x; echo; echo end", "x" * size + "\nend\n")
            self.assertEqual(len(done.logs.stdout), 2)

    def test_a_pause_inside_a_line_puts_nothing_into_it(self):
        done = self.exact("printf 'no'; sleep 1.5; printf 'w'; sleep 1.5; echo", "now\n")
        self.assertEqual(len(done.logs.stdout), 1)

    def test_progress_is_seen_while_it_is_made(self):
        seen = []
        handlers = ExecutionHandlersSync(on_stdout=lambda m: seen.append((time.monotonic(), m.text)))
        self.commands.run("printf '10%%\\r'; sleep 4; printf '20%%\\r'; echo", handlers=handlers)
        self.assertEqual([t.strip() for _, t in seen if t.strip()], ["10%", "20%"])
        self.assertGreater(seen[1][0] - seen[0][0], 1)

    def test_characters_that_end_lines_only_in_unicode(self):
        self.exact("printf 'a\\302\\205b\\342\\200\\250c\\342\\200\\251d\\013e\\034f\\n'", "a\x85b\u2028c\u2029d\x0be\x1cf\n")

    def test_characters_in_two_writes_and_bytes_that_are_none(self):
        self.exact("printf '\\303'; sleep 0.3; printf '\\274\\n'", "ü\n")
        self.exact("printf 'a\\377b'", "a\ufffdb")

    def test_stderr_is_apart(self):
        done = self.run_command("echo out; echo err >&2")
        self.assertEqual([t.strip() for t in texts(done.logs.stdout)], ["out"])
        self.assertEqual([t.strip() for t in texts(done.logs.stderr)], ["err"])


class Commands(Client):
    def test_exit_codes_and_signals(self):
        for command, code, trace in (("exit 3", 3, "exit status 3"), ("kill -9 $$", -1, "signal: killed"), ("/no/such", 127, "exit status 127")):
            done = self.run_command(command)
            self.assertEqual(done.exit_code, code)
            self.assertEqual(done.error.traceback, [trace])
            self.assertIsNone(done.complete)
        fine = self.run_command("true")
        self.assertEqual(fine.exit_code, 0)
        self.assertIsNotNone(fine.complete)

    if MODERN:  # older clients have no argv

        def test_a_program_that_does_not_exist_is_a_failed_command(self):
            done = self.commands.run(["/no/such/program", "x"])
            self.assertIsNone(done.exit_code)
            self.assertIn("/no/such/program", done.error.value)
            self.assertEqual(self.commands.run(["printf", "%s|", "a b", "$HOME"]).text, "a b|$HOME|")

    def test_directory_variables_and_user(self):
        done = self.run_command("pwd; echo $A", working_directory="/usr", envs={"A": "a b ü"})
        self.assertEqual(done.text, "/usr\na b ü")
        if os.getuid() == 0:
            self.assertEqual(self.run_command("id -u; id -g", uid=65534, gid=65533).text, "65534\n65533")

    def test_a_timeout_ends_it(self):
        done = self.run_command("echo a; sleep 60", timeout=timedelta(milliseconds=400))
        self.assertEqual((done.text, done.exit_code), ("a", -1))

    def test_what_cannot_be_asked_is_refused(self):
        with self.refused(400, "INVALID_REQUEST_BODY"):
            self.run_command("pwd", working_directory="/no/such")
        with self.refused(404):
            self.commands.get_command_status("nothing")
        with self.refused(500, "RUNTIME_ERROR"):
            self.commands.interrupt("nothing")
        with self.refused(400):
            self.commands.get_background_command_logs("nothing")

    def test_background_status_logs_and_interrupt(self):
        done = self.run_command("echo one; sleep 1000", background=True)
        self.assertIsNone(done.exit_code)
        logs = until(lambda: (x := self.commands.get_background_command_logs(done.id)).content and x, "its first line")
        self.assertEqual((logs.content, logs.cursor), ("one\n", 4))
        self.assertEqual(self.commands.get_background_command_logs(done.id, logs.cursor).content, "")
        status = self.commands.get_command_status(done.id)
        self.assertEqual((status.id, status.running, status.exit_code), (done.id, True, None))
        self.assertEqual(status.content, "echo one; sleep 1000")
        self.commands.interrupt(done.id)
        status = self.commands.get_command_status(done.id)
        self.assertEqual((status.running, status.exit_code, status.error), (False, -1, "signal: terminated"))
        self.assertLessEqual(status.started_at, status.finished_at)

    def test_handlers_are_called_in_order(self):
        calls = []
        handlers = ExecutionHandlersSync(
            on_init=lambda e: calls.append("init"),
            on_stdout=lambda e: calls.append(e.text.strip()),
            on_execution_complete=lambda e: calls.append("complete"),
        )
        self.commands.run("echo a; sleep 0.1; echo b", handlers=handlers)
        self.assertEqual(calls, ["init", "a", "b", "complete"])


class Sessions(Client):
    def test_state_stays_and_exit_does_not_end_it(self):
        s = self.commands.create_session(working_directory="/usr")
        run = lambda command, **more: self.commands.run_in_session(s, command, **more)
        self.assertEqual(run("pwd; export A=1; cd /").text, "/usr")
        self.assertEqual(run("pwd; echo $A; echo err >&2").text, "/\n1\nerr")
        self.assertEqual(run("exit 4").exit_code, 4)
        self.assertEqual(run("echo $A", working_directory="/tmp").text, "1")
        self.assertEqual(run("sleep 60", timeout=timedelta(milliseconds=400)).exit_code, -1)
        self.commands.delete_session(s)
        if MODERN:  # older clients ignore that answer
            with self.refused(404, "CONTEXT_NOT_FOUND"):
                self.commands.delete_session(s)
        with self.refused(500, "RUNTIME_ERROR"):
            run("true")


class Sandboxes(Client):
    def test_create_keeps_variables_and_metadata_and_says_what_it_cannot_do(self):
        env = {"FROM_CREATE": "a b ü", "OVER": "1"}
        made = SandboxSync.create("any", env=env, metadata={"team": "x-y", "gone": "1"}, timeout=None, connection_config=config())
        with made:
            self.assertEqual(made.commands.run("echo $FROM_CREATE").text, "a b ü")
            self.assertEqual(made.commands.run("echo $OVER", opts=RunCommandOpts(envs={"OVER": "2"})).text, "2")
            session = made.commands.create_session()
            self.assertEqual(made.commands.run_in_session(session, "echo $FROM_CREATE").text, "a b ü")
            made.commands.delete_session(session)
            info = made.get_info()
            self.assertEqual((info.id, info.status.state, info.metadata["team"]), (made.id, "Running", "x-y"))
            if MODERN:
                self.assertEqual(made.patch_metadata({"gone": None, "new": "2"}).metadata, {"team": "x-y", "new": "2"})
        with SandboxManagerSync.create(connection_config=config()) as manager:
            listed = lambda **by: [i.id for i in manager.list_sandbox_infos(SandboxFilter(**by)).sandbox_infos]
            self.assertEqual(listed(), [made.id])
            self.assertEqual(listed(metadata={"team": "x-y"}, states=["Running"]), [made.id])
            self.assertEqual(listed(metadata={"team": "z"}), [])
            self.assertEqual(listed(states=["Paused"]), [])
        for refused in ({"network_policy": NetworkPolicy(default_action="deny")}, {"secure_access": True}):
            with self.refused(501):
                SandboxSync.create("any", connection_config=config(), **refused)
        for call in (self.sandbox.pause, lambda: self.sandbox.renew(timedelta(minutes=5))):
            with self.refused(501):
                call()

    if MODERN:

        def test_set_env_is_seen_by_all_that_starts_later(self):
            before = self.commands.create_session()
            for value in ("plain", "two words", "it's", 'a"b\\c', "l1\nl2\n", "$HOME `x` ü", ""):
                self.commands.set_env("KEPT", value)
                if "'" not in value:
                    self.assertEqual(self.run_command("printf '<%s>' \"$KEPT\"").text, f"<{value}>")
            self.commands.set_env("KEPT", "it's")
            self.assertEqual(self.run_command("printenv KEPT").text, "it's")
            self.assertEqual(self.commands.run(["printenv", "KEPT"]).text, "it's")
            self.assertEqual(self.run_command("printenv KEPT", envs={"KEPT": "own"}).text, "own")
            session = self.commands.create_session()
            self.assertEqual(self.commands.run_in_session(session, "echo $KEPT").text, "it's")
            self.assertEqual(self.commands.run_in_session(before, "echo $KEPT").text, "")
            for s in (before, session):
                self.commands.delete_session(s)


class Files(Client):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="osb-files-")
        self.addCleanup(shutil.rmtree, self.dir, True)
        self.files = self.sandbox.files

    def at(self, name):
        return os.path.join(self.dir, name)

    def test_what_is_written_is_read(self):
        every = bytes(range(256)) * 20000
        self.files.write_file(self.at("new/dir/ü ö.bin"), every)
        self.assertEqual(self.files.read_bytes(self.at("new/dir/ü ö.bin")), every)
        self.assertEqual(b"".join(self.files.read_bytes_stream(self.at("new/dir/ü ö.bin"))), every)
        with open(self.at("new/dir/ü ö.bin"), "rb") as f:
            self.assertEqual(f.read(), every)
        self.files.write_file(self.at("t"), "text ü\n", mode=640)
        self.assertEqual(self.files.read_file(self.at("t")), "text ü\n")
        self.assertEqual(os.stat(self.at("t")).st_mode & 0o777, 0o640)
        self.files.write_file(self.at("empty"), b"")
        self.assertEqual(self.files.read_bytes(self.at("empty")), b"")

    def test_many_files_in_one_form(self):
        entries = [WriteEntry(path=self.at(f"d/{i}"), data=f"{i}\n" * i, mode=600 if i % 2 else 644) for i in range(50)]
        self.files.write_files(entries)
        for i in range(50):
            self.assertEqual(self.files.read_file(self.at(f"d/{i}")), f"{i}\n" * i)
            self.assertEqual(os.stat(self.at(f"d/{i}")).st_mode & 0o777, 0o600 if i % 2 else 0o644)

    def test_ranges(self):
        self.files.write_file(self.at("r"), b"0123456789")
        for asked, got in (("bytes=2-4", b"234"), ("bytes=7-", b"789"), ("bytes=-3", b"789"), ("bytes=0-99", b"0123456789")):
            self.assertEqual(self.files.read_bytes(self.at("r"), range_header=asked), got)
        with self.assertRaises(SandboxException):
            self.files.read_bytes(self.at("r"), range_header="bytes=10-")

    def test_info_describes_each_file(self):
        self.files.write_file(self.at("a"), b"12345", mode=600)
        os.symlink("a", self.at("link"))
        info = self.files.get_file_info([self.at("a"), self.dir, self.at("link")])
        a = info[self.at("a")]
        self.assertEqual((a.path, a.size, a.mode), (self.at("a"), 5, 600))
        self.assertEqual((a.owner, a.group), (pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(os.getgid()).gr_name))
        self.assertLess(abs(a.modified_at.timestamp() - os.stat(self.at("a")).st_mtime), 0.01)
        if MODERN:
            self.assertEqual([info[p].entry_type for p in (self.at("a"), self.dir, self.at("link"))], ["file", "directory", "symlink"])
        with self.assertRaises(SandboxApiException) as caught:
            self.files.get_file_info([self.at("a"), self.at("none")])
        self.assertEqual(caught.exception.status_code, 404)

    def test_directories_are_made_listed_and_removed(self):
        self.files.create_directories([WriteEntry(path=self.at("x/y"), mode=700), WriteEntry(path=self.at("z"), mode=755)])
        self.assertEqual([os.stat(self.at(d)).st_mode & 0o777 for d in ("x/y", "z")], [0o700, 0o755])
        self.files.write_file(self.at("x/y/f"), b"1")
        if MODERN:
            listed = lambda depth: sorted(e.path for e in self.files.list_directory(DirectoryListEntry(path=self.dir, depth=depth)))
            self.assertEqual(listed(None), [self.at("x"), self.at("z")])
            self.assertEqual(listed(3), [self.at(p) for p in ("x", "x/y", "x/y/f", "z")])
            with self.refused(404, "FILE_NOT_FOUND"):
                self.files.list_directory(DirectoryListEntry(path=self.at("none")))
            with self.refused(400, "INVALID_REQUEST_BODY"):
                self.files.list_directory(DirectoryListEntry(path=self.at("x/y/f")))
        self.files.delete_directories([self.at("x"), self.at("none")])
        self.assertEqual(os.listdir(self.dir), ["z"])

    def test_files_are_moved_and_deleted(self):
        for name in ("a", "b"):
            self.files.write_file(self.at(name), name)
        self.files.move_files([MoveEntry(src=self.at("a"), dest=self.at("sub/c"))])
        self.assertEqual(self.files.read_file(self.at("sub/c")), "a")
        for src, dest in ((self.at("none"), self.at("d")), (self.at("b"), self.at("sub/c"))):
            with self.assertRaises(SandboxApiException):
                self.files.move_files([MoveEntry(src=src, dest=dest)])
        self.assertEqual(self.files.read_file(self.at("sub/c")), "a")
        self.files.delete_files([self.at("b"), self.at("none")])
        self.assertEqual(os.listdir(self.dir), ["sub"])
        with self.refused(500, "RUNTIME_ERROR"):
            self.files.delete_files([self.at("sub")])
        self.assertTrue(os.path.isdir(self.at("sub")))

    def test_permissions(self):
        self.files.write_file(self.at("a"), b"")
        mine = pwd.getpwuid(os.getuid()).pw_name
        self.files.set_permissions([SetPermissionEntry(path=self.at("a"), mode=604, owner=mine)])
        self.assertEqual(os.stat(self.at("a")).st_mode & 0o777, 0o604)
        if os.getuid() == 0:
            self.files.set_permissions([SetPermissionEntry(path=self.at("a"), owner="nobody", group="nogroup")])
            self.assertEqual(os.stat(self.at("a")).st_uid, pwd.getpwnam("nobody").pw_uid)
            self.files.write_file(self.at("b"), b"1", owner="nobody", mode=600)
            self.assertEqual(os.stat(self.at("b")).st_uid, pwd.getpwnam("nobody").pw_uid)
        with self.assertRaises(SandboxApiException):
            self.files.set_permissions([SetPermissionEntry(path=self.at("none"), mode=644)])

    if MODERN and os.getuid() == 0:

        def test_files_as_another_user(self):
            os.chmod(self.dir, 0o777)
            as_nobody = self.sandbox.files_with_identity(65534, 65534)
            as_nobody.write_file(self.at("n"), b"1", mode=600)
            self.assertEqual((os.stat(self.at("n")).st_uid, os.stat(self.at("n")).st_gid), (65534, 65534))
            self.files.write_file(self.at("secret"), b"1", mode=600)
            with self.assertRaises(SandboxException):
                as_nobody.read_bytes(self.at("secret"))

    def test_search_finds_files_by_name(self):
        for name in ("a.py", "sub/b.py", "sub/c.txt", "d.py/e.txt"):
            self.files.write_file(self.at(name), name)
        found = self.files.search(SearchEntry(path=self.dir, pattern="*.py"))
        self.assertEqual(sorted(e.path for e in found), [self.at("a.py"), self.at("sub/b.py")])
        self.assertEqual({e.size for e in found}, {4, 8})
        self.assertEqual(self.files.search(SearchEntry(path=self.dir, pattern="none*")), [])
        with self.assertRaises(SandboxApiException):
            self.files.search(SearchEntry(path=self.at("none"), pattern="*"))

    def test_replace_changes_every_occurrence(self):
        self.files.write_file(self.at("a"), "x.x ü x", mode=640)
        self.files.write_file(self.at("b"), "x")
        self.files.replace_contents([ContentReplaceEntry(path=self.at("a"), old_content="x", new_content="y'\n")])
        self.assertEqual(self.files.read_file(self.at("a")), "y'\n.y'\n ü y'\n")
        self.assertEqual(os.stat(self.at("a")).st_mode & 0o777, 0o640)
        if MODERN:
            done = self.files.replace_contents_detailed([ContentReplaceEntry(path=self.at("b"), old_content="x", new_content="")])
            self.assertEqual([(r.path, r.replaced_count) for r in done], [(self.at("b"), 1)])
            self.assertEqual(self.files.read_file(self.at("b")), "")
        with self.assertRaises(SandboxApiException):
            self.files.replace_contents([ContentReplaceEntry(path=self.at("none"), old_content="x", new_content="y")])

    def test_a_missing_file_is_not_found(self):
        with self.assertRaises(SandboxException) as caught:
            self.files.read_bytes(self.at("none"))
        self.assertEqual(getattr(caught.exception, "status_code", 404), 404)

    def test_fifty_megabytes_there_and_back(self):
        data = os.urandom(1 << 20) * 50
        self.files.write_file(self.at("big"), data)
        self.assertEqual(self.files.read_bytes(self.at("big")), data)


class Async(unittest.IsolatedAsyncioTestCase):
    async def test_commands_run_side_by_side(self):
        sandbox = await Sandbox.connect("any", connection_config=config(ConnectionConfig))
        lines = []

        async def on_stdout(message):
            lines.append(message.text)

        done = await asyncio.gather(*(sandbox.commands.run(f"echo {i}; exit {i}") for i in range(20)))
        self.assertEqual([(d.text, d.exit_code) for d in done], [(str(i), i) for i in range(20)])
        await sandbox.commands.run("seq 1000", handlers=ExecutionHandlers(on_stdout=on_stdout))
        self.assertEqual([int(x) for x in lines], list(range(1, 1001)))
        session = await sandbox.commands.create_session()
        self.assertEqual((await sandbox.commands.run_in_session(session, "echo in")).text, "in")
        await sandbox.commands.delete_session(session)
        await sandbox.close()


class Stress(Client):
    def test_a_hundred_commands_at_once(self):
        with ThreadPoolExecutor(100) as pool:
            done = list(pool.map(lambda i: self.run_command(f"seq {i} {i + 200}; exit {i % 100}"), range(100)))
        for i, d in enumerate(done):
            self.assertEqual(d.text, "\n".join(str(n) for n in range(i, i + 201)))
            self.assertEqual(d.exit_code, i % 100)

    def test_fifty_megabytes_arrive_whole(self):
        got = [0, 0]

        def count(message):
            got[0] += len(message.text.rstrip("\n"))
            got[1] += 1

        line = "0123456789" * 100
        done = self.commands.run(f"yes {line} | head -n 50000", handlers=ExecutionHandlersSync(on_stdout=count))
        self.assertEqual(done.exit_code, 0)
        self.assertEqual(got, [50_000_000, 50_000])


class Silence:
    """Started before all tests: a command without output for more than twice the time-out of its client."""

    @classmethod
    def begin(cls):
        cls.sandbox = SandboxSync.connect("any", connection_config=config(seconds=SILENCE * 3 // 7))
        cls.pool = ThreadPoolExecutor(1)
        cls.future = cls.pool.submit(cls.sandbox.commands.run, f"sleep {SILENCE}; echo late")

    @classmethod
    def result(cls):
        done = cls.future.result(timeout=120)
        cls.sandbox.close()
        return done


def setUpModule():
    Silence.begin()


class Wait(unittest.TestCase):
    def test_silence_longer_than_the_client_waits_for_a_reply(self):
        self.assertEqual(Silence.result().text, "late")


class WorkerKilled(Client):
    def test_a_stream_that_is_cut_has_no_invented_end_and_the_command_goes_on(self):
        seen = []
        handlers = ExecutionHandlersSync(on_init=lambda e: seen.append(e.id), on_stdout=lambda e: os.kill(int(os.environ["WORKER_PID"]), 9))
        with self.assertRaises(SandboxException):
            self.commands.run("echo on; while sleep 0.05; do :; done", handlers=handlers)
        status = until(lambda: self.alive(seen[0]), "the next worker")
        self.assertEqual((status.running, status.exit_code), (True, None))
        self.commands.interrupt(seen[0])
        self.assertFalse(self.commands.get_command_status(seen[0]).running)
        self.assertEqual(self.run_command("echo again").text, "again")

    def alive(self, command):
        try:
            return self.commands.get_command_status(command)
        except SandboxException as err:
            if isinstance(err, SandboxApiException) and err.status_code == 404:
                raise
            return None
