"""Peers outside the sandbox: kept while recording with --host-network, played in every other run.

The outside is an address of a network namespace of the test's own, so no network is needed and none is reached.

usage: peers_test.py DEADHEAT
"""
import http.server
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import unittest

from process_case import ProcessCase, main

OUTSIDE = "192.0.2.1"
PYTHON = "/usr/bin/python3"

FETCH = f"""
import http.client, sys
connection = http.client.HTTPConnection("{OUTSIDE}", int(sys.argv[1]), timeout=20)
for path in sys.argv[2:]:
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    print(answer.status, len(body), body[:20])
print(connection.sock.getpeername()[0])
"""
ASK = f"""
import socket, sys
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.settimeout(20)
if sys.argv[2] == "connected":
    asked.connect(("{OUTSIDE}", int(sys.argv[1])))
for word in (b"one", b"two"):
    asked.send(word) if sys.argv[2] == "connected" else asked.sendto(word, ("{OUTSIDE}", int(sys.argv[1])))
    answer, sender = asked.recvfrom(100)
    print(answer.decode(), sender[0], sender[1] == int(sys.argv[1]))
"""
# As a resolver does: a number of its own in every run.
NAME = f"""
import os, socket
asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
asked.settimeout(20)
asked.connect(("{OUTSIDE}", 53))
number = os.urandom(2)
asked.send(number + b" name?")
answer = asked.recv(100)
assert answer[:2] == number, (answer, number)
print(answer[2:].decode())
"""
# Both talk to the peer before; the second reads what the first makes, and only its long way there makes that come out well.
RACY = """
mkdir w; cd w
sh -c '{fetch} /hello > first.txt; echo 1 > made' &
first=$!
sh -c '{fetch} /hello > second.txt; i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; cat made' &
second=$!
wait $first; wait $second || exit 3
"""
SAFE = """
mkdir w; cd w
sh -c '{fetch} /hello > first.txt; echo 1 > made' &
wait $!
sh -c '{fetch} /hello > second.txt; cat made' &
wait $! || exit 3
"""
# In the other order the second asks for something else, for which no answer was recorded.
ASKS_ELSE = """
mkdir w; cd w
sh -c 'echo 1 > made' &
first=$!
sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; if test -e made; then path=/hello; else path=/other; fi; {fetch} $path' &
second=$!
wait $first; wait $second || exit 3
"""
CONNECTS_ELSE = """
mkdir w; cd w
sh -c 'echo 1 > made' &
first=$!
sh -c 'i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; test -e made || {fetch} /hello' &
second=$!
wait $first; wait $second || exit 3
"""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = b"big" * 400000 if self.path == "/big" else b"hello from outside\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Case(ProcessCase):
    def setUp(self):
        super().setUp()
        for name, text in (("fetch.py", FETCH), ("ask.py", ASK), ("name.py", NAME)):
            with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
                file.write(text)

    def serve(self, context=None):
        server = http.server.ThreadingHTTPServer((OUTSIDE, 0), Handler)
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        gone = []

        def close():
            if not gone:
                server.shutdown()
                server.server_close()
                gone.append(True)
        self.addCleanup(close)
        return server.server_address[1], close

    def answer_datagrams(self, port=0):
        answering = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        answering.bind((OUTSIDE, port))

        def answer():
            while True:
                word, sender = answering.recvfrom(100)
                if word == b"end":
                    return
                answering.sendto(word[:2] + word[2:].upper() if port == 53 else word.upper(), sender)
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        where = answering.getsockname()

        def close():
            answering.sendto(b"end", where)
            thread.join()
            answering.close()
        return where[1], close

    def record(self, *command, options=("--host-network",)):
        done = self.proc("record", *options, "-o", "rec", "--", *command)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder, "rec", "recording.json"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'"payload": *true')
        return done

    def replayed_alike(self, recorded):
        again = self.proc("replay", "rec")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(again.stdout, recorded.stdout)
        self.assertIn("the recording: reproduced", again.stderr)
        self.assertNotIn("warning: peer", again.stderr)

    def found(self, done):
        match = re.search(r"(\d+) branches: (\d+) harmful, (\d+) benign, (\d+) cannot happen, (\d+) not controlled", done.stderr)
        self.assertTrue(match, done.stderr)
        return [int(one) for one in match.groups()]

    def fetch(self, port):
        return f"{PYTHON} {self.folder}/fetch.py {port}"


class Replayed(Case):
    def test_a_fetch_whose_server_is_gone(self):
        port, close = self.serve()
        recorded = self.record(PYTHON, "fetch.py", str(port), "/hello", "/hello")
        close()
        self.assertIn("hello from outside", recorded.stdout)
        self.assertIn(OUTSIDE, recorded.stdout)
        self.replayed_alike(recorded)

    def test_much(self):
        port, close = self.serve()
        recorded = self.record(PYTHON, "fetch.py", str(port), "/big")
        close()
        self.assertIn("200 1200000", recorded.stdout)
        self.replayed_alike(recorded)

    @unittest.skipUnless(shutil.which("curl"), "no curl")
    def test_curl_which_does_not_block(self):
        port, close = self.serve()
        recorded = self.record("curl", "-sS", f"http://{OUTSIDE}:{port}/hello")
        close()
        self.assertEqual(recorded.stdout, "hello from outside\n")
        again = self.proc("replay", "rec")
        self.assertEqual((again.returncode, again.stdout), (0, recorded.stdout), again.stderr)

    def test_datagrams(self):
        for how in ("connected", "addressed"):
            with self.subTest(how):
                port, close = self.answer_datagrams()
                recorded = self.record(PYTHON, "ask.py", str(port), how)
                close()
                self.assertEqual(recorded.stdout, f"ONE {OUTSIDE} True\nTWO {OUTSIDE} True\n")
                self.replayed_alike(recorded)
                shutil.rmtree(os.path.join(self.folder, "rec"))

    def test_a_connection_that_was_refused(self):
        port, close = self.serve()
        close()
        for options in (["--host-network"], []):
            with self.subTest(options):
                recorded = self.record("sh", "-c", f"{self.fetch(port)} /hello 2> /dev/null || echo refused", options=options)
                self.assertEqual(recorded.stdout, "refused\n")
                self.replayed_alike(recorded)
                shutil.rmtree(os.path.join(self.folder, "rec"))

    @unittest.skipUnless(shutil.which("openssl") and shutil.which("curl"), "no openssl or no curl")
    def test_encrypted(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out", "cert.pem", "-days", "2",
                        "-subj", "/CN=peer", "-addext", f"subjectAltName=IP:{OUTSIDE}"], cwd=self.folder, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(self.folder, "cert.pem"), os.path.join(self.folder, "key.pem"))
        port, close = self.serve(context)
        recorded = self.record("curl", "-sS", "--cacert", "cert.pem", f"https://{OUTSIDE}:{port}/hello")
        close()
        self.assertEqual(recorded.stdout, "hello from outside\n")
        again = self.proc("replay", "rec")
        self.assertEqual((again.returncode, again.stdout), (0, recorded.stdout), again.stderr)


class Validated(Case):
    def assert_peers_answer_undisturbed_runs(self, done):
        """The race may go wrong by itself on a busy machine; a peer that does not answer fails all of them."""
        failed = re.search(r"(\d+) of (\d+) undisturbed runs failed", done.stderr)
        if failed is not None:
            self.assertLess(int(failed.group(1)), int(failed.group(2)), done.stderr)

    def test_a_race_of_two_who_talk_to_a_peer_that_is_gone(self):
        port, close = self.serve()
        self.record("sh", "-c", RACY.format(fetch=self.fetch(port)))
        close()
        done = self.proc("validate", "rec")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertIn("Exit status 3 instead of 0", done.stdout)
        self.assert_peers_answer_undisturbed_runs(done)
        self.assertEqual(self.found(done)[4], 0, done.stderr)

    def test_its_safe_twin(self):
        port, close = self.serve()
        self.record("sh", "-c", SAFE.format(fetch=self.fetch(port)))
        close()
        done = self.proc("validate", "rec")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("does not count", done.stdout + done.stderr)

    def test_numbers_of_name_queries_are_those_of_the_run(self):
        _, close = self.answer_datagrams(53)
        recorded = self.record("sh", "-c", RACY.format(fetch=f"{PYTHON} {self.folder}/name.py"))
        close()
        self.assertIn("1", recorded.stdout)
        done = self.proc("validate", "rec")
        self.assertEqual(done.returncode, 66, done.stderr)
        self.assertNotIn("does not count", done.stdout + done.stderr)
        self.assert_peers_answer_undisturbed_runs(done)

    def test_what_was_not_recorded_is_no_harm(self):
        port, close = self.serve()
        for script, says in ((ASKS_ELSE, f"peer {OUTSIDE}:{port}: the program sent something that was not recorded"),
                             (CONNECTS_ELSE, f"peer {OUTSIDE}:{port}: the connection was not recorded")):
            with self.subTest(says):
                self.record("sh", "-c", script.format(fetch=self.fetch(port)))
                done = self.proc("validate", "rec")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertEqual(self.found(done)[1], 0, done.stderr)
                self.assertGreater(self.found(done)[4], 0, done.stderr)
                self.assertIn(says, done.stdout + done.stderr)
                shutil.rmtree(os.path.join(self.folder, "rec"))
        close()


def enter_own_network():
    """Runs this test again in a network namespace in which an outside address is ours."""
    for tool in ("unshare", "ip"):
        if not shutil.which(tool):
            print(f"SKIPPED: no {tool} here: no outside can be made", file=sys.stderr)
            return 77
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    setup = f"ip link set lo up && ip addr add {OUTSIDE}/32 dev lo || exit 77; exec \"$@\""
    environment = dict(os.environ, DEADHEAT_OWN_NETWORK="1")
    done = subprocess.run([*unshare, "sh", "-c", setup, "sh", sys.executable, *sys.argv], env=environment, check=False)
    if done.returncode == 77:
        print("SKIPPED: no network namespace with an outside can be made here", file=sys.stderr)
    return done.returncode


if __name__ == "__main__":
    if "DEADHEAT_OWN_NETWORK" not in os.environ:
        sys.exit(enter_own_network())
    main()
