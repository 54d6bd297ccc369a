"""One race is one finding in every recording, whatever names its temporary files were given.

usage: names_test.py DEADHEAT
"""
import json

from process_case import ProcessCase, main

# Two at one file, which was given a name before. The second is given some time: it goes well unless somebody interferes.
RACY = """
%s
: >$file &
(sleep 0.3; echo x >>$file) &
wait
[ -s $file ] || exit 3
rm -f $file
"""
RUNS = 2

# How the name is drawn, and what of it stays.
NAMES = {
    "file=$(mktemp /tmp/backup-XXXXXX.tar)": "/tmp/backup-*.tar",
    "file=$(mktemp -d)/list": "/tmp/tmp.*/list",
    "file=$(mktemp -u /tmp/now-XXXXXX).txt": "/tmp/now-*.txt",
    "file=$(/usr/bin/python3 -c 'import tempfile; print(tempfile.mkstemp(suffix=\".db\")[1])')": "/tmp/tmp*.db",
    "file=/tmp/log-$(date +%Y%m%d-%H%M%S).$$.$RANDOM.out": "/tmp/log-*-*.*.*.out",
}


class Names(ProcessCase):
    def test_the_same_in_every_recording(self):
        for drawn, stays in NAMES.items():
            with self.subTest(drawn):
                ids = set()
                for _ in range(RUNS):
                    done = self.or_skip(self.proc("check", "--verbose", "--time", "150", "--undisturbed", "1", "--branches", "12", "--findings", "f.json", "--",
                                                  "bash", "-c", RACY % drawn))
                    self.assertEqual(done.returncode, 66, done.stderr + done.stdout)
                    with open(self.path("f.json"), encoding="utf-8") as file:
                        findings = [one for one in json.load(file)["findings"] if one["verdict"]["state"] == "true_race"]
                    objects = {role["site"]["object"] for one in findings for role in one["roles"]}
                    self.assertEqual(objects, {stays}, done.stdout)
                    ids.add(tuple(sorted(one["id"] for one in findings)))
                self.assertEqual(len(ids), 1, ids)


if __name__ == "__main__":
    main()
