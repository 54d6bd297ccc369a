#!/usr/bin/python3
"""TLS and slow clients. (api_test.py: credentials, hostile messages, stored text; fleet_test.py: agents over TLS.)

usage: security_test.py DEADHEAT
"""
import http.client
import json
import resource
import socket
import ssl
import sys
import time
import unittest
import urllib.parse
import warnings

from hives import Hive, finding, findings


class Tls(Hive):
    def status(self, url, *options):
        return self.run_hive("status", "--hive", url, *options, DEADHEAT_HIVE_TOKEN=self.admin)

    def test_who_vouches_for_the_hive(self):
        url = self.serve(*self.make_certificate())
        self.assertTrue(url.startswith("https://"))
        done = self.status(url, "--ca", self.path("ca.pem"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("program: shop", done.stdout)
        self.make_certificate("other", authority="stranger")
        for options in ((), ("--ca", self.path("stranger.pem"))):
            refused = self.status(url, *options)
            self.assertEqual(refused.returncode, 77, refused.stdout)
            self.assertIn("no secure connection", refused.stderr)
        port = urllib.parse.urlparse(url).port
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        old.set_ciphers("ALL:@SECLEVEL=0")
        with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
            with self.assertRaises((ssl.SSLError, OSError)):
                old.wrap_socket(plain)
        in_the_clear = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with self.assertRaises((http.client.HTTPException, OSError)):
            in_the_clear.request("GET", "/healthz")
            in_the_clear.getresponse()
        in_the_clear.close()
        _, headers, _ = self.request("POST", "/signin", self.admin, headers={"X-Deadheat": "1"})
        self.assertIn("; Secure", headers["Set-Cookie"])

    def test_a_certificate_for_another_name(self):
        url = self.serve(*self.make_certificate(names="DNS:elsewhere.example"))
        refused = self.status(url, "--ca", self.path("ca.pem"))
        self.assertEqual(refused.returncode, 77, refused.stdout)
        self.assertIn("no secure connection", refused.stderr)

    def test_with_tls_it_listens_beyond_this_machine(self):
        tls = self.make_certificate()
        refused = self.run_hive("serve", "--listen", "0.0.0.0:0", *tls[:2])
        self.assertEqual(refused.returncode, 2, "a certificate without its key")
        self.make_certificate("other", authority="stranger")
        wrong = self.run_hive("serve", "--listen", "127.0.0.1:0", tls[0], tls[1], "--tls-key", self.path("other.key"))
        self.assertEqual(wrong.returncode, 77)
        url = self.serve(*tls, listen="0.0.0.0:0")
        self.url = url.replace("0.0.0.0", "127.0.0.1")
        self.assertEqual(self.request("GET", "/healthz")[0], 200)


class Slow(Hive):
    """A client that sends little and slowly is disconnected; others are not affected."""

    def ended(self, connection, drip):
        """The server closed the connection, however much came."""
        connection.settimeout(0.2)
        end = time.monotonic() + 100
        while time.monotonic() < end:
            try:
                if connection.recv(4096) == b"":
                    return True
            except TimeoutError:
                try:
                    connection.sendall(drip)
                except OSError:
                    return True
            except OSError:
                return True
        return False

    def test_slow_requests(self):
        self.serve("--patience", "1")
        place = urllib.parse.urlparse(self.url)
        token = "Authorization: Bearer " + self.admin + "\r\n"
        starts = {"nothing": (b"", b""), "a head": (b"GET /healthz HTTP/1.1\r\nX: ", b"y"),
                  "a body": (f"POST /api/v1/findings HTTP/1.1\r\nHost: x\r\n{token}Content-Length: 100000\r\n\r\n".encode(), b" "),
                  "chunks": (f"POST /api/v1/findings HTTP/1.1\r\nHost: x\r\n{token}Transfer-Encoding: chunked\r\n\r\n".encode(), b"1\r\n \r\n")}
        connections = {}
        for name, (first, _) in starts.items():
            connections[name] = socket.create_connection((place.hostname, place.port), timeout=60)
            self.addCleanup(connections[name].close)
            connections[name].sendall(first)
        self.assertEqual(self.request("GET", "/healthz")[0], 200, "others are served meanwhile")
        for name, (_, drip) in starts.items():
            self.assertTrue(self.ended(connections[name], drip), name)
        self.assertEqual(self.request("GET", "/healthz")[0], 200)

    def test_many_who_say_nothing(self):
        """More connections than the hive may have open files: those who wait longest without a credential go, and others are served."""
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))
        self.serve("--patience", "100", before=few_files)
        self.ask("POST", "/api/v1/findings", findings(finding(5)))
        place = urllib.parse.urlparse(self.url)
        # One that showed its token and waits for a job stays.
        agent = self.token("agent")
        poll = http.client.HTTPConnection(place.netloc, timeout=60)
        self.addCleanup(poll.close)
        job = self.ask("POST", "/api/v1/jobs", {"instance": "i"}, agent)["jobs"][0]["id"]
        poll.request("POST", "/api/v1/jobs", json.dumps({"instance": "i", "holding": [job], "build_id": "parked", "wait_s": 25}), {"Authorization": "Bearer " + agent})
        self.until(lambda: self.ask("GET", "/api/v1/fleet")["instances"][0]["build_id"] == "parked", "asked")
        silent = []
        for _ in range(600):
            silent.append(socket.create_connection((place.hostname, place.port), timeout=60))
            self.addCleanup(silent[-1].close)
            silent[-1].sendall(b"GET / HTTP/1.1\r\nX: ")
        for _ in range(20):
            self.assertEqual(self.request("GET", "/healthz")[0], 200)
        silent[0].settimeout(60)
        self.assertEqual(silent[0].recv(1), b"", "who came first went first")
        self.ask("POST", "/api/v1/findings", findings(finding(5, evidence=[{"id": "run/1", "execution": "run", "outcome": "race", "proof": "happens_before"}])),
                 self.token("developer", "--trusted"))
        self.assertEqual(json.loads(poll.getresponse().read())["drop"], [job])

    def test_slow_handshake(self):
        self.serve("--patience", "1", *self.make_certificate())
        place = urllib.parse.urlparse(self.url)
        with socket.create_connection((place.hostname, place.port), timeout=60) as silent:
            silent.sendall(b"\x16\x03")
            self.assertTrue(self.ended(silent, b""))
        self.assertEqual(self.request("GET", "/healthz")[0], 200)


if __name__ == "__main__":
    Hive.deadheat = sys.argv.pop(1)
    unittest.main()
