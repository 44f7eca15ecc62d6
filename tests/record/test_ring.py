"""Every row that was pushed is received once and in order, or counted as dropped; nothing waits."""

import inspect
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from passivo.errors import InputError
from passivo.kernel.atomics import load_acquire, store_release
from passivo.record.ring import Ring, push

WIDTH = 5
compiled_push = njit(nogil=True)(push)


@njit(nogil=True)
def produce(data, marks, row, count):
    """`count` rows as fast as can be; each number of row k tells k and its own place."""
    for k in range(count):
        for i in range(WIDTH):
            row[i] = 10.0 * k + i
        compiled_push(data, marks, row, WIDTH)


@pytest.mark.parametrize("capacity", [1, 7, 256, 4096])
def test_at_full_speed_every_row_arrives_once_or_is_counted(capacity):
    ring, count = Ring(WIDTH, capacity), 2_000_000
    produce(ring.data, ring.marks, np.zeros(WIDTH), 0)  # compiled before the race starts
    producer = threading.Thread(target=produce, args=(ring.data, ring.marks, np.zeros(WIDTH), count))
    producer.start()
    taken = []
    while producer.is_alive():
        taken.append(ring.take())
    producer.join()
    taken.append(ring.take())
    rows = np.concatenate(taken)
    assert len(rows) + ring.dropped == count and ring.marks[0] == len(rows)
    assert np.array_equal(rows, rows[:, :1] + np.arange(WIDTH))  # none is torn
    assert (np.diff(rows[:, 0]) > 0).all()  # none came twice, none out of order


def test_a_consumer_that_keeps_up_loses_nothing():
    ring = Ring(2, 16)
    received = []
    for k in range(100):
        compiled_push(ring.data, ring.marks, np.array([k, -k], dtype=float), 2)
        if k % 16 == 15:
            received.append(ring.take())
    received.append(ring.take())
    assert np.array_equal(np.concatenate(received)[:, 0], np.arange(100)) and ring.dropped == 0


@given(st.lists(st.one_of(st.just("take"), st.integers(1, 9)), max_size=30), st.integers(1, 8))
def test_it_is_a_queue_that_drops_what_finds_no_place(actions, capacity):
    ring, kept, dropped, k = Ring(1, capacity), [], 0, 0
    for action in [*actions, "take"]:
        if action == "take":
            assert ring.take()[:, 0].tolist() == kept
            kept = []
            continue
        for _ in range(action):
            push(ring.data, ring.marks, [float(k)], 1)  # the same source in plain Python
            if len(kept) < capacity:
                kept.append(float(k))
            else:
                dropped += 1
            k += 1
        assert len(ring) == len(kept) and ring.dropped == dropped


def test_counters_far_on_still_find_their_place():
    ring = Ring(1, 3)
    ring.marks[:2] = 2**62
    for k in range(4):
        compiled_push(ring.data, ring.marks, np.array([float(k)]), 1)
    assert ring.take()[:, 0].tolist() == [0.0, 1.0, 2.0] and ring.dropped == 1


def test_pushing_allocates_nothing_and_orders_its_stores():
    ring = Ring(WIDTH, 2)
    compiled_push(ring.data, ring.marks, np.zeros(WIDTH), WIDTH)
    text = "\n".join(compiled_push.inspect_llvm().values())
    assert "NRT_MemInfo_alloc" not in text and "NRT_Allocate" not in text
    assert text.count("load atomic i64") >= 2 and "store atomic i64" in text
    assert all("release" in line for line in text.splitlines() if "store atomic" in line)


@pytest.mark.parametrize("width, capacity", [(0, 4), (4, 0), (-1, 4)])
def test_a_ring_without_room_is_refused(width, capacity):
    with pytest.raises(InputError, match="at least 1"):
        Ring(width, capacity)


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_what_was_written_before_a_release_is_seen_after_an_acquire(kind):
    @njit(nogil=True)
    def send(mail, flag, count):
        for k in range(1, count + 1):
            while load_acquire(flag, 1) != k - 1:
                pass
            mail[0] = k
            mail[7] = -k
            store_release(flag, 0, k)

    @njit(nogil=True)
    def receive(mail, flag, count):
        wrong = 0
        for k in range(1, count + 1):
            while load_acquire(flag, 0) != k:
                pass
            wrong += mail[0] != k or mail[7] != -k
            store_release(flag, 1, k)
        return wrong

    mail, flag = np.zeros(8), np.zeros(2, dtype=kind)
    send(mail, flag, 0)
    assert receive(mail, flag, 0) == 0
    sender = threading.Thread(target=send, args=(mail, flag, 300), daemon=True)
    sender.start()
    assert receive(mail, flag, 300) == 0
    sender.join()


def test_atomics_refuse_other_arrays():
    read = njit(lambda array: load_acquire(array, 0))
    for array in (np.zeros(2, dtype=np.int32), np.zeros((2, 2)), np.zeros(2, dtype=np.complex128)):
        with pytest.raises(Exception, match="int64 or float64 array of one dimension"):
            read(array)


def test_a_generated_module_finds_its_compiled_code_again(tmp_path):
    """`push` pasted by source beside the imported atomics, compiled with cache=True, in two processes."""
    source = f"from numba import njit\nfrom {load_acquire.__module__} import load_acquire, store_release\n\n\n"
    source += f"@njit(nogil=True, error_model='numpy', cache=True)\n{inspect.getsource(push)}"
    (tmp_path / "generated.py").write_text(source)
    script = (
        "import numpy as np, generated\n"
        "data, marks = np.zeros((2, 3)), np.zeros(3, dtype=np.int64)\n"
        "for k in range(3): generated.push(data, marks, np.full(3, k + 1.0), 3)\n"
        "assert marks.tolist() == [2, 0, 1] and data.tolist() == [[1.0] * 3, [2.0] * 3]\n"
        "print(sum(generated.push.stats.cache_hits.values()))\n"
    )
    here = os.pathsep.join([str(tmp_path), *sys.path])
    for hits in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": here}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip() == hits
