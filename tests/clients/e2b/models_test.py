# SPDX-License-Identifier: Apache-2.0
"""Every reply of the control API has each key that E2B's own models require, and no other.

The models come with the client. They raise KeyError if a required key is missing, and keep what
they do not know in additional_properties.
"""

import os
import unittest

import httpx
from e2b.api.client import models

API = httpx.Client(
    base_url=os.environ["E2B_API_URL"],
    headers={"X-API-KEY": os.environ["E2B_API_KEY"]},
)


def reply(method, path, status, **more):
    response = API.request(method, path, **more)
    assert response.status_code == status, (path, response.status_code, response.text)
    return response.json()


class Models(unittest.TestCase):
    def setUp(self):
        self.id = reply("POST", "/v2/sandboxes", 201, json={"templateID": "base", "metadata": {"a": "b"}})["sandboxID"]

    def check(self, model, body):
        decoded = model.from_dict(body)
        self.assertEqual(decoded.additional_properties, {}, body)
        times = {key for key in body if key.endswith("At")}  # written in another form
        self.assertEqual(*({k: v for k, v in d.items() if k not in times} for d in (decoded.to_dict(), body)))
        return decoded

    def test_create_and_connect(self):
        for path, status in [
            ("/v2/sandboxes", 201),
            ("/sandboxes", 201),
            (f"/sandboxes/{self.id}/connect", 200),
            (f"/v2/sandboxes/{self.id}/connect", 200),
        ]:
            body = reply("POST", path, status, json={"templateID": "base", "timeout": 60})
            self.assertEqual(self.check(models.Sandbox, body).envd_access_token, os.environ["E2B_API_KEY"])

    def test_detail(self):
        detail = self.check(models.SandboxDetail, reply("GET", f"/sandboxes/{self.id}", 200))
        self.assertEqual(detail.state, models.SandboxState.RUNNING)
        self.assertGreater(detail.end_at, detail.started_at)
        self.assertGreater(min(detail.cpu_count, detail.memory_mb, detail.disk_size_mb), 0)

    def test_list(self):
        for path in ("/sandboxes", "/v2/sandboxes"):
            (body,) = reply("GET", path, 200)
            self.check(models.ListedSandbox, body)

    def test_errors(self):
        for method, path, status, more in [
            ("GET", "/sandboxes/other", 404, {}),
            ("POST", "/v2/sandboxes", 400, {"json": {"metadata": 1}}),
            ("POST", f"/sandboxes/{self.id}/pause", 501, {}),
            ("GET", f"/v2/sandboxes/{self.id}/logs", 501, {}),
            ("GET", "/nothing/like/this", 404, {}),
            ("PATCH", f"/sandboxes/{self.id}", 405, {}),
            ("GET", "/sandboxes", 401, {"headers": {"X-API-KEY": "wrong-wrong-wrong-wrong"}}),
        ]:
            error = self.check(models.Error, reply(method, path, status, **more))
            self.assertEqual(error.code, status, path)
            self.assertTrue(error.message, path)


if __name__ == "__main__":
    unittest.main()
