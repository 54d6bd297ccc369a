"""A command with a limit of time, and with all that it starts: programs fork."""
import os
import signal
import subprocess


def limited(command, seconds, output="stderr", **more):
    """Exit status (negative: signal; None: it was stopped for its time) and what it wrote: to standard error, or with output="both" to
    standard output too."""
    both = output == "both"
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE if both else subprocess.DEVNULL,
                               stderr=subprocess.STDOUT if both else subprocess.PIPE, start_new_session=True, **more)
    status = None
    try:
        written = process.communicate(timeout=seconds)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        written = process.communicate()
    return status, written[0 if both else 1].decode("utf-8", "replace")
