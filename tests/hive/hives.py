"""What the tests of the hive share: a hive of their own, its tokens, requests."""
import http.client
import json
import os
import ssl
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from contract import CONTRACT


def post(place, token, path, body):
    """Status and text of the answer of a hive that may be killed at any time; (None, b"") if there was none."""
    connection = http.client.HTTPConnection(place, timeout=30)
    try:
        connection.request("POST", path, json.dumps(body), {"Authorization": "Bearer " + token})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException, ValueError):
        return None, b""
    finally:
        connection.close()


class Hive(unittest.TestCase):
    deadheat = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.database = self.database_name()
        self.admin = self.command("init", "--program", "shop").strip()
        self.processes = []

    def database_name(self):
        return self.path("hive.db")

    def path(self, name):
        return os.path.join(self.folder, name)

    def environment(self, **more):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("DEADHEAT_OPTIONS", "DEADHEAT_HIVE"))}
        return {**kept, "HOME": self.folder, "XDG_DATA_HOME": "", "XDG_STATE_HOME": "", **more}

    def run_hive(self, *words, **more):
        return subprocess.run([self.deadheat, "hive", words[0], "--database", self.database, *words[1:]], cwd=self.folder,
                              env=self.environment(**more), capture_output=True, text=True, timeout=120, check=False)

    def command(self, *words):
        done = self.run_hive(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def token(self, role="agent", *options):
        return self.command("token", "--program", "shop", "--role", role, *options).strip()

    def serve(self, *options, listen="127.0.0.1:0", before=None):
        """Starts the hive, after a call in the new process; its URL. Its log goes to a file."""
        log = open(self.path("hive.log"), "a", encoding="utf-8")  # pylint: disable=consider-using-with
        self.addCleanup(log.close)
        hive = subprocess.Popen([self.deadheat, "hive", "serve", "--database", self.database, "--listen", listen,
                                 *options], stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment(),
                                preexec_fn=before)  # pylint: disable=subprocess-popen-preexec-fn
        self.addCleanup(hive.stdout.close)
        self.addCleanup(hive.wait)
        self.addCleanup(hive.kill)
        self.hive = hive
        self.url = hive.stdout.readline().strip()
        self.assertTrue(self.url.startswith("http"), self.log())
        return self.url

    def make_certificate(self, name="server", names="IP:127.0.0.1,DNS:localhost", authority="ca"):
        """An authority of the test's own, and a certificate from it: the options of `hive serve`."""
        def openssl(*words):
            subprocess.run(["openssl", *words], cwd=self.folder, capture_output=True, timeout=60, check=True)
        if not os.path.exists(self.path(authority + ".pem")):
            openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=test",
                    "-keyout", authority + ".key", "-out", authority + ".pem")
        with open(self.path("names"), "w", encoding="utf-8") as file:
            file.write("subjectAltName=" + names + "\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hive", "-keyout", name + ".key",
                "-out", name + ".csr")
        openssl("x509", "-req", "-in", name + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key", "-CAcreateserial", "-days", "2",
                "-extfile", "names", "-out", name + ".pem")
        return ["--tls-certificate", self.path(name + ".pem"), "--tls-key", self.path(name + ".key")]

    def log(self):
        with open(self.path("hive.log"), encoding="utf-8") as file:
            return file.read()

    def request(self, method, path, body=None, token=None, headers=None):
        """Status, headers and body."""
        place = urllib.parse.urlparse(self.url)
        if place.scheme == "https":
            connection = http.client.HTTPSConnection(place.netloc, timeout=60, context=ssl.create_default_context(cafile=self.path("ca.pem")))
        else:
            connection = http.client.HTTPConnection(place.netloc, timeout=60)
        try:
            sent = dict(headers or {})
            if token:
                sent["Authorization"] = "Bearer " + token
            if isinstance(body, (dict, list)):
                body = json.dumps(body)
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            status, said, text = answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()
        CONTRACT.check_answer(method, path, status, said, text)
        return status, said, text

    def ask(self, method, path, body=None, token=None, status=200):
        """The answer as JSON."""
        got, _, text = self.request(method, path, body, token or self.admin)
        self.assertEqual(got, status, text)
        return json.loads(text)

    def until(self, holds, what, seconds=150):
        """Waits for a condition, not for a time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = holds()
            if value:
                return value
            time.sleep(0.05)
        return self.fail("never " + what + "\n" + self.log()[-3000:])


def finding(line, variable="shared", evidence=()):
    return {"kind": "data_race", "found_by": ["scan"], "evidence": list(evidence), "roles": [
        {"name": name, "access": "write", "site": {
            "kind": "code", "function": f"work{line}()", "file": "/src/server.c", "line": line, "variable": variable,
            "source_text": variable + "++;"}} for name in ("first", "second")]}


def findings(*all_of_them):
    return {"format": "deadheat-findings", "version": 2, "origins": [], "findings": list(all_of_them)}
