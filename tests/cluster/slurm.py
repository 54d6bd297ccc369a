"""A Slurm of this machine: munged, slurmctld and two slurmd on loopback, all in one folder of our own.

A node has one processor for Slurm, so that two workers run on two nodes."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch", "scontrol")


def missing():
    found = [name for name in NEEDED if shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin")]
    if len(found) < len(NEEDED):
        return "slurm-wlm and munge are not installed"
    return "" if os.geteuid() == 0 else "slurmd needs root"


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="dh-slurm-")
        os.chmod(self.folder, 0o755)
        self.daemons = {}
        self.environment = dict(os.environ, SLURM_CONF=self.folder + "/slurm.conf",
                                PATH=os.environ.get("PATH", "") + ":/usr/sbin")
        self.start()

    def start(self):
        munge = self.folder + "/munge"
        os.mkdir(munge, 0o755)
        with open(munge + "/key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(munge + "/key", 0o400)
        self.run_daemon("munged", "munged", "--foreground", "--force", "--socket", munge + "/socket", "--key-file", munge + "/key",
                        "--pid-file", munge + "/pid", "--log-file", munge + "/log", "--seed-file", munge + "/seed")
        ctld, one, two = free_ports(3)
        host = socket.gethostname().split(".")[0]
        for name in ("state", "spool1", "spool2"):
            os.mkdir(f"{self.folder}/{name}")
        with open(self.folder + "/slurm.conf", "w", encoding="utf-8") as file:
            file.write(f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=5
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd.%n.pid
SlurmctldLogFile={self.folder}/slurmctld.log
SlurmdLogFile={self.folder}/slurmd.%n.log
NodeName=1 NodeHostname={host} NodeAddr=127.0.0.1 Port={one} CPUs=1 State=UNKNOWN
NodeName=2 NodeHostname={host} NodeAddr=127.0.0.1 Port={two} CPUs=1 State=UNKNOWN
PartitionName=all Nodes=1,2 Default=YES State=UP
PartitionName=one Nodes=1 State=UP
""")
        self.run_daemon("slurmctld", "slurmctld", "-D", "-i")
        for node in ("1", "2"):
            self.run_daemon("slurmd" + node, "slurmd", "-D", "-N", node)
        self.await_nodes()

    def run_daemon(self, name, *command):
        with open(f"{self.folder}/{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                                  env=self.environment, start_new_session=True)

    def await_nodes(self):
        """Until both nodes are idle: the daemons say so when they are, nothing can be waited for instead."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for name, daemon in self.daemons.items():
                if daemon.poll() is not None:
                    raise RuntimeError(f"{name} ended: " + self.log(name))
            seen = subprocess.run(["sinfo", "-h", "-N", "-p", "all", "-o", "%t"], capture_output=True, text=True, check=False,
                                  env=self.environment)
            if seen.stdout.split() == ["idle", "idle"]:
                return
            time.sleep(0.2)
        raise RuntimeError("the nodes did not become idle: " + self.log("slurmctld"))

    def log(self, name):
        with open(f"{self.folder}/{name}.out", encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]

    def kill(self, name):
        """As a node that loses power: the daemon and what it started, which has left its tree."""
        daemon = self.daemons.pop(name)
        daemon.kill()
        daemon.wait()
        if name.startswith("slurmd"):
            self.kill_all("SLURMD_NODENAME=" + name[-1])

    def kill_all(self, mark):
        self.signal_all(mark, signal.SIGKILL)

    def signal_all(self, mark, number):
        """To processes of this Slurm with that word in their environment."""
        own = "SLURM_CONF=" + self.environment["SLURM_CONF"]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", encoding="utf-8", errors="replace") as file:
                    words = file.read().split("\0")
                if own in words and mark in words:
                    os.kill(int(pid), number)
            except OSError:
                pass

    def stop(self):
        subprocess.run(["scancel", "--user=root"], env=self.environment, capture_output=True, check=False, timeout=30)
        for name in list(self.daemons):
            self.kill(name)
        self.kill_all("SLURM_CONF=" + self.environment["SLURM_CONF"])
        shutil.rmtree(self.folder, ignore_errors=True)
