"""Files that two write to: cut off, appended, written over; each with its safe twin.

usage: files_test.py DEADHEAT
"""
from process_case import ProcessCase, main

# Long enough that the second one comes second, unless somebody interferes.
SLOWLY = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done"

# The first one makes the file, so there was nothing to cut off; in the other order there is.
CUT_OFF = """
: %s log &
(""" + SLOWLY + """; echo entry >>log) &
wait
[ -s log ] || exit 3
"""
# Opened without O_TRUNC and O_APPEND (<>): it writes at the start, where the other's entry is in the other order.
APPENDED = """
: >log
echo first %s log &
(""" + SLOWLY + """; echo second >>log) &
wait
grep -q second log || exit 3
"""
# Nothing is cut off: the last one who writes wins.
WRITTEN_OVER = """
echo none >state
%s sh -c 'echo good 1<>state' %s
(""" + SLOWLY + """; echo last 1<>state) &
wait
read state <state
[ $state = last ] || exit 3
"""


class Files(ProcessCase):
    def check(self, text):
        return self.or_skip(self.proc("check", "--verbose", "--time", "150", "--", "sh", "-c", f"mkdir w; cd w\n{text}"))

    def assert_pair(self, racy, safe, calls):
        done = self.check(racy)
        self.assertEqual(done.returncode, 66, done.stderr + done.stdout)
        self.assertIn("Exit status 3 instead of 0", done.stdout)
        self.assertRegex(done.stdout, calls)
        done = self.check(safe)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn(" 0 harmful", done.stderr)

    def test_cutting_off_a_file_that_it_made(self):
        self.assert_pair(CUT_OFF % ">", CUT_OFF % ">>", r"between open\(\) by sh and write\(\) by sh")

    def test_an_append_and_a_write_at_the_start(self):
        self.assert_pair(APPENDED % "1<>", APPENDED % ">>", r"between write\(\) by sh and write\(\) by sh")

    def test_two_that_write_over(self):
        self.assert_pair(WRITTEN_OVER % ("", "&"), WRITTEN_OVER % ("", ""), r"between write\(\) by sh and write\(\) by sh")


if __name__ == "__main__":
    main()
