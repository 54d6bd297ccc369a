"""The real programs: where their sources come from, how their own build systems build them, what work they do.

A build is a list of shell commands in a fresh copy of the source, with $CC, $CXX and $WORK (the folder of this build) set; no
command knows which tool it builds for. A work is a function of Work (work.py): it starts the program under test with run() or
serve() and everything else (clients, input) as itself. What it does is fixed, not for how long: CPU times compare.
"""
import collections
import glob

Program = collections.namedtuple("Program", "name sources build work packages")
FLAGS = "-O2 -g"


def compress(work, *command):
    """Compresses the input and decompresses it again: it must come back the same."""
    work.run([*command, "-k", work.input])
    work.check(["sh", "-c", f"mv {work.input} {work.input}-before"])
    work.run([*command, "-d", *glob.glob(work.input + ".*")])
    work.check(["cmp", work.input, work.input + "-before"])


def pbzip2(work):
    compress(work, "./pbzip2", f"-p{work.threads}", "-b3")


def pigz(work):
    compress(work, "./pigz", f"-p{work.threads}")


def zstd(work):
    compress(work, "programs/zstd", "-q", "-9", "-B1M", f"-T{work.threads}")


def sqlite(work):
    work.run(["./sqlite_load", work.scratch + "/load.db", str(work.threads), str(60 * work.scale)])


def memcached(work):
    socket = work.scratch + "/memcached.socket"
    with work.serve(["./memcached", "-u", "root", "-s", socket, "-t", str(work.threads), "-m", "16", "-o",
                     "slab_reassign,slab_automove=1,lru_maintainer,lru_crawler"], socket):
        work.check([work.client("cache_load"), socket, "16", str(1500 * work.scale)])


def redis(work):
    socket = work.scratch + "/redis.socket"
    with work.serve(["src/redis-server", "--unixsocket", socket, "--port", "0", "--dir", work.scratch, "--io-threads",
                     str(work.threads), "--io-threads-do-reads", "yes", "--appendonly", "yes", "--lazyfree-lazy-user-del",
                     "yes", "--save", "1 100"], socket):
        work.check([work.client("redis-benchmark"), "-s", socket, "-n", str(2500 * work.scale), "-c", "32", "-P", "4", "-r",
                    "2000", "-q", "-t", "set,get,incr,lpush,rpop,sadd,hset,zadd,lrange_100,mset"])
        for command in ("BGREWRITEAOF", "BGSAVE", "FLUSHALL ASYNC"):
            work.check([work.client("redis-cli"), "-s", socket, *command.split()])


PROGRAMS = [
    # -std: its printf formats need C++ of before user-defined literals.
    # libbz2 is Debian's and not instrumented: calls into it are regions (clang) or nothing at all (gcc).
    Program("pbzip2", ["pbzip2"], [f'make pbzip2 CXX="$CXX" CXXFLAGS="{FLAGS} -std=gnu++98 -pthread -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64"'],
            pbzip2, ["libbz2-dev"]),
    # The same with libbz2 built along, by the Makefile's own target for it: all of the work is instrumented.
    Program("pbzip2-static", ["pbzip2", "bzip2"],
            [f'make -C bzip2 libbz2.a CC="$CC" CFLAGS="{FLAGS} -D_FILE_OFFSET_BITS=64"', "cp bzip2/libbz2.a bzip2/bzlib.h .",
             f'make pbzip2-static CXX="$CXX" CXXFLAGS="{FLAGS} -std=gnu++98 -I. -pthread -D_LARGEFILE64_SOURCE -D_FILE_OFFSET_BITS=64"'],
            pbzip2, []),
    Program("sqlite", ["sqlite3"],
            [f'./configure CC="$CC" CFLAGS="{FLAGS}" --enable-threadsafe --disable-tcl --disable-readline', "make sqlite3.c",
             f'$CC {FLAGS} -DSQLITE_THREADSAFE=1 -I. -o sqlite_load "$HERE/sqlite_load.c" sqlite3.c -lpthread -ldl -lm'],
            sqlite, ["tcl"]),
    Program("memcached", ["memcached"], [f'./configure CC="$CC" CFLAGS="{FLAGS}"', "make memcached"], memcached, ["libevent-dev"]),
    Program("redis", ["redis"],
            [f'make -C src redis-server CC="$CC" OPTIMIZATION=-O2 MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no CFLAGS=-g'], redis, []),
    Program("pigz", ["pigz"], [f'make pigz CC="$CC" CFLAGS="{FLAGS}"'], pigz, ["zlib1g-dev"]),
    Program("zstd", ["libzstd"], [f'make -C programs zstd CC="$CC" CFLAGS="{FLAGS}" HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0'], zstd, []),
]
