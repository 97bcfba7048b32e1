# SPDX-License-Identifier: Apache-2.0
"""Three Kubernetes clients from PyPI, unchanged: kubernetes, kubernetes_asyncio and kr8s."""

import asyncio
import os
import tempfile
import unittest

import kr8s
import kubernetes
import kubernetes_asyncio
import yaml
from kubernetes.stream import stream
from kubernetes_asyncio.stream import WsApiClient

SERVER, TOKEN = os.environ["KUBE_SERVER"], os.environ["KUBE_TOKEN"]
POD, NAMESPACE = "sandbox", "default"
LONG = "".join(f"{i}\n" for i in range(1, 200001))
CONFIG = {
    "apiVersion": "v1", "kind": "Config", "current-context": "x",
    "clusters": [{"name": "c", "cluster": {"server": SERVER}}],
    "users": [{"name": "u", "user": {"token": TOKEN}}],
    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": NAMESPACE}}],
}
BOTH = {"stderr": True, "stdin": False, "stdout": True, "tty": False}


def limited(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 100))


class Kubernetes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.core = kubernetes.client.CoreV1Api(kubernetes.config.new_client_from_config_dict(CONFIG))

    def exec(self, command, **options):
        return stream(self.core.connect_get_namespaced_pod_exec, POD, NAMESPACE, command=command, **{**BOTH, **options})

    def open(self, command, **options):
        return self.exec(command, _preload_content=False, **{"stdin": True, **options})

    def test_pods_are_listed_and_selected_as_the_original_does(self):
        pods = lambda **s: [p.metadata.name for p in self.core.list_namespaced_pod(NAMESPACE, **s).items]
        self.assertEqual(pods(), [POD])
        self.assertEqual(pods(field_selector="metadata.name=sandbox,status.phase!=Pending"), [POD])
        self.assertEqual(pods(field_selector="metadata.name!=sandbox"), [])
        self.assertEqual(pods(label_selector="!app"), [POD])
        self.assertEqual(pods(label_selector="app in (web)"), [])
        with self.assertRaises(kubernetes.client.ApiException) as caught:
            pods(field_selector="metadata.color=red")
        self.assertEqual(caught.exception.status, 400)

    def test_the_pod_is_watched(self):
        w = kubernetes.watch.Watch()
        seen = []
        for e in w.stream(self.core.list_namespaced_pod, NAMESPACE, timeout_seconds=60):
            names = [c.name for c in e["object"].spec.containers]
            seen.append(e["type"])
            if len(seen) == 1:
                before = set(names)
                self.exec(["true"])
            elif set(names) - before:
                w.stop()
        self.assertEqual((seen[0], set(seen[1:])), ("ADDED", {"MODIFIED"}))

    def test_reviews_tell_what_the_token_may_and_who_it_is(self):
        api = kubernetes.client.AuthorizationV1Api(self.core.api_client)
        def may(verb, resource, part=None):
            attributes = kubernetes.client.V1ResourceAttributes(namespace=NAMESPACE, verb=verb, resource=resource, subresource=part)
            spec = kubernetes.client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
            body = kubernetes.client.V1SelfSubjectAccessReview(api_version="authorization.k8s.io/v1", kind="SelfSubjectAccessReview", spec=spec)
            return api.create_self_subject_access_review(body).status.allowed
        self.assertEqual((may("create", "pods", "exec"), may("delete", "pods"), may("list", "secrets")), (True, False, False))
        me = kubernetes.client.AuthenticationV1Api(self.core.api_client).create_self_subject_review(
            kubernetes.client.V1SelfSubjectReview(api_version="authentication.k8s.io/v1", kind="SelfSubjectReview"))
        self.assertEqual(me.status.user_info.username, "holdfast:own")

    def test_exec_returns_all_output(self):
        self.assertEqual(self.exec(["sh", "-c", "echo out"]), "out\n")
        self.assertEqual(self.exec(["seq", "200000"]), LONG)

    def test_streams_come_apart_with_the_exit_code(self):
        c = self.open(["sh", "-c", "echo out; echo err >&2; exit 3"])
        c.run_forever(timeout=60)
        self.assertEqual((c.read_stdout(), c.read_stderr(), c.returncode), ("out\n", "err\n", 3))

    def test_input_as_text_and_as_bytes(self):
        c = self.open(["sh", "-c", "read a; read b; echo $a $b"])
        c.write_stdin("one ü\n")
        c.write_stdin(b"two\n")
        c.run_forever(timeout=60)
        self.assertEqual((c.read_stdout(), c.returncode), ("one ü two\n", 0))

    def test_a_terminal_is_resized(self):
        c = self.open(["sh"], tty=True)
        c.write_channel(4, '{"Width":99,"Height":33}')
        c.write_stdin("stty size; exit 4\n")
        c.run_forever(timeout=60)
        self.assertIn("33 99", c.read_stdout())
        self.assertEqual(c.returncode, 4)


class Asyncio(unittest.TestCase):
    async def client(self, make):
        configuration = kubernetes_asyncio.client.Configuration()
        await kubernetes_asyncio.config.load_kube_config_from_dict(CONFIG, client_configuration=configuration)
        return make(configuration=configuration)

    def test_exec_and_a_hundred_at_once(self):
        async def run():
            async with await self.client(WsApiClient) as ws:
                core = kubernetes_asyncio.client.CoreV1Api(api_client=ws)
                one = lambda text: core.connect_get_namespaced_pod_exec(POD, NAMESPACE, command=["echo", text], **BOTH)
                return await asyncio.gather(*(one(f"n{i}") for i in range(100)))

        self.assertEqual(limited(run()), [f"n{i}\n" for i in range(100)])

    def test_the_pod_is_read(self):
        async def run():
            async with await self.client(kubernetes_asyncio.client.ApiClient) as plain:
                return await kubernetes_asyncio.client.CoreV1Api(plain).read_namespaced_pod(POD, NAMESPACE)

        self.assertEqual(limited(run()).status.phase, "Running")


class Kr8s(unittest.TestCase):
    def test_version_pods_and_exec(self):
        async def run():
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(CONFIG, file)
                file.flush()
                api = await kr8s.asyncio.api(kubeconfig=file.name)
                version = await api.version()
                pods = [p async for p in api.get("pods", field_selector={"metadata.name": POD}, namespace=NAMESPACE)]
                done = await pods[0].exec(["sh", "-c", "echo out; echo err >&2"])
                return version, [p.name for p in pods], done

        version, names, done = limited(run())
        self.assertEqual((version["major"], names), ("1", [POD]))
        self.assertEqual((done.stdout, done.stderr, done.returncode), (b"out\n", b"err\n", 0))


if __name__ == "__main__":
    unittest.main()
