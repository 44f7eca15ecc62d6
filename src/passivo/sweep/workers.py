"""Tasks on several threads: whoever is free takes the next one."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import count

LOOK = 0.05  # seconds after which the waiting thread looks up: Ctrl-C is heard by it alone


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """`work(k, place, stopping)` for k = 0 .. total − 1, each by one of `threads` threads.

    `place` is the number of the thread. `work` should raise, or return, soon after `stopping()` turns true. The first
    exception of a task ends all.
    """

    def __init__(self, work: Callable[[int, int, Callable[[], bool]], None], total: int, threads: int):
        self.work, self.total = work, total
        self.next, self.done, self.over = count(), 0, 0
        self.stop, self.news, self.lock = threading.Event(), threading.Event(), threading.Lock()
        self.error: BaseException | None = None
        self.threads = [
            threading.Thread(target=self._serve, args=(place,), daemon=True) for place in range(max(threads, 1))
        ]

    def go(self, progress: Callable[[int, int], None] | None) -> None:
        """Until all is done; raises what a task, or `progress`, raised. No task goes on afterwards."""
        try:
            for thread in self.threads:
                thread.start()
            ended, told = False, 0
            while not ended:
                self.news.wait(LOOK)
                self.news.clear()
                ended, done = self.over == len(self.threads), self.done
                if progress is not None and done > told:
                    progress(done, self.total)
                    told = done
        finally:
            self.stop.set()
            for thread in self.threads:
                if thread.ident is not None:
                    thread.join()
        if self.error is not None:
            raise self.error

    def _serve(self, place: int) -> None:
        try:
            while not self.stop.is_set() and (k := next(self.next)) < self.total:
                self.work(k, place, self.stop.is_set)
                with self.lock:
                    self.done += 1
                self.news.set()
        except BaseException as error:
            with self.lock:
                self.error = self.error or error
            self.stop.set()
        finally:
            with self.lock:
                self.over += 1
            self.news.set()
