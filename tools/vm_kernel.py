"""The kernel of tools/vm: Debian's packages, unpacked into a cache folder without installing anything.

The cache is $DEADHEAT_VM_CACHE, else $XDG_CACHE_HOME/deadheat/vm, else ~/.cache/deadheat/vm: one folder a kernel,
named after what was asked for; complete once it holds the file `release`.
"""
import fcntl
import lzma
import os
import re
import shutil
import subprocess
import tempfile

CANNOT_RUN = 77
IMAGE = "linux-image-amd64"


class CannotRun(Exception):
    """What is missing, with what to do about it on the second line."""


def cache_folder():
    if "DEADHEAT_VM_CACHE" in os.environ:
        return os.environ["DEADHEAT_VM_CACHE"]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "deadheat", "vm")


def depends(package):
    answer = subprocess.run(["apt-cache", "depends", "--important", package], capture_output=True, text=True,
                            check=False)
    return re.findall(r"^ +(?:Pre)?Depends: ([\w.+-]+)$", answer.stdout, re.MULTILINE)


def wanted_packages(image):
    """The image's real package, and all that the headers for it are made of."""
    packages, left = [], [image, image.replace("-image-", "-headers-", 1)]
    while left:
        name = left.pop()
        if name in packages or not re.match(r"linux-(image|headers|kbuild|compiler)-", name):
            continue
        packages.append(name)
        left += depends(name)
    return packages


def download(image, folder):
    packages = wanted_packages(image)
    if len(packages) < 4:
        subprocess.run(["apt-get", "update"], capture_output=True, check=False)
        packages = wanted_packages(image)
    # As root, apt wants the folder to belong to its own user; it works without, with a warning.
    got = subprocess.run(["apt-get", "download", *packages], cwd=folder, capture_output=True, text=True, check=False)
    if got.returncode != 0:
        said = (got.stderr.strip().splitlines() or ["apt-get says nothing"])[-1]
        raise CannotRun(f"the kernel's packages cannot be fetched: {said}",
                        f"apt-get update && apt-get download {' '.join(packages)}")
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".deb")]


def point_into(root, release):
    """Headers are made to lie in /usr/src: their absolute paths become those of the cache."""
    headers = os.path.join(root, "usr/src", "linux-headers-" + release)
    makefile = os.path.join(headers, "Makefile")
    with open(makefile, encoding="utf-8") as file:
        text = file.read()
    with open(makefile, "w", encoding="utf-8") as file:
        file.write(re.sub(r"(?<=include )/usr/src", os.path.join(root, "usr/src"), text))


def module_content(path):
    with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
        return file.read()


class Kernel:
    """An unpacked kernel; fetched first where it is not there yet."""

    def __init__(self, image=IMAGE, say=lambda text: None):
        self.root = os.path.join(cache_folder(), image)
        os.makedirs(cache_folder(), exist_ok=True)
        # Two that start at once must not unpack over each other.
        with open(self.root + ".lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.exists(os.path.join(self.root, "release")):
                say(f"fetching {image} and its headers (once) into {cache_folder()}")
                self._unpack(image)
        with open(os.path.join(self.root, "release"), encoding="ascii") as file:
            self.release = file.read().strip()
        self.vmlinuz = os.path.join(self.root, "boot/vmlinuz-" + self.release)
        self.modules = next(path for path in (os.path.join(self.root, top, "lib/modules", self.release)
                                              for top in ("", "usr")) if os.path.isdir(path))
        self.headers = os.path.join(self.root, "usr/src/linux-headers-" + self.release)

    def _unpack(self, image):
        for tool in ("apt-get", "dpkg"):
            if not shutil.which(tool):
                raise CannotRun(f"{tool} is not here, so Debian's kernel cannot be fetched", "a Debian system has it")
        shutil.rmtree(self.root, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=cache_folder()) as folder:
            for package in download(image, folder):
                subprocess.run(["dpkg", "-x", package, self.root], check=True)
        release = next(name[len("vmlinuz-"):] for name in os.listdir(os.path.join(self.root, "boot"))
                       if name.startswith("vmlinuz-"))
        point_into(self.root, release)
        with open(os.path.join(self.root, "release"), "w", encoding="ascii") as file:
            file.write(release + "\n")

    def module_files(self, name):
        """(name, content) of a module of the distribution and of what it depends on, in loading order."""
        wanted = name.replace("-", "_")
        for folder, _, files in os.walk(self.modules):
            for file in files:
                if re.sub(r"\.ko(\.xz)?$", "", file).replace("-", "_") == wanted:
                    content = module_content(os.path.join(folder, file))
                    found = []
                    for other in re.search(rb"\0depends=([^\0]*)\0", content).group(1).decode().split(","):
                        found += [one for one in self.module_files(other) if other and one not in found]
                    return found + [(wanted + ".ko", content)]
        return []  # built in

    def build(self, source, target, flags):
        """Compiles the kernel modules of a folder; they and all that the build leaves lie in `target`."""
        os.makedirs(target, exist_ok=True)
        for name in os.listdir(source):
            copy = os.path.join(target, name)
            original = os.path.join(source, name)
            # A copy keeps its time, so that only what changed is compiled again.
            if os.path.isfile(original) and (not os.path.exists(copy) or
                                             os.path.getmtime(copy) != os.path.getmtime(original)):
                shutil.copy2(original, copy)
        made = subprocess.run(["make", "-C", self.headers, "M=" + os.path.abspath(target), "modules",
                               "CONFIG_DEBUG_INFO_BTF_MODULES=", *flags],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0 or "warning:" in made.stderr.lower():
            raise CannotRun(f"{source} does not compile for {self.release}:\n{(made.stdout + made.stderr)[-3000:]}", "")
