#!/usr/bin/python3
"""Threads of one process that share files, a queue and a pipe; then processes of a pool."""
import os
import queue
import subprocess
import tempfile
import threading
from concurrent.futures import ProcessPoolExecutor


def square(number):
    return number * number


def work(folder, jobs, results):
    while True:
        number = jobs.get()
        if number is None:
            return
        path = os.path.join(folder, f"part{number}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{number * number}\n")
        results.put(number)


def main():
    folder = tempfile.mkdtemp()
    jobs, results = queue.Queue(), queue.Queue()
    threads = [threading.Thread(target=work, args=(folder, jobs, results)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(40):
        jobs.put(number)
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()
    print(sum(results.get() for _ in range(40)))
    print(subprocess.run(["sh", "-c", f"cat {folder}/part* | sort -n | tail -1"], capture_output=True, text=True, check=True).stdout.strip())
    with ProcessPoolExecutor(2) as pool:
        print(sum(pool.map(square, range(20))))


main()
