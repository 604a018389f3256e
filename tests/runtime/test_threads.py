"""Threads, forks and signals."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from tapeless.runtime import threads
from tests.runtime.kernels import kernel
from tests.runtime.processes import output

needs_openmp = pytest.mark.skipif(threads.openmp_library() is None, reason="no OpenMP runtime")


@pytest.fixture(autouse=True)
def _restore():
    yield
    threads.set_num_threads(None)


def team(size: int = 8) -> list[int]:
    x = np.zeros(size, np.int64)
    (count,) = kernel("team")(x)
    assert list(x) == [*range(1, count + 1)] + [0] * (size - count)
    return [int(v) for v in x if v]


@needs_openmp
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_every_thread_works(count: int):
    threads.set_num_threads(count)
    assert threads.get_num_threads() == count
    assert team() == list(range(1, count + 1))


@needs_openmp
def test_regions_run_alone_for_a_while_where_others_are_late():
    """Regions that wait long for little work, then some without the others, then one with them."""
    threads.set_num_threads(2)
    teams = []
    for _ in range(60):
        x = np.zeros(2, np.int64)
        kernel("late")(x)
        teams.append(int(x[1] > 0) + 1)
    assert teams[:2] == [2, 2]
    assert 2 in teams[teams.index(1) :]
    threads.set_num_threads(2)
    assert team() == [1, 2]


def test_number_of_threads_is_positive():
    with pytest.raises(ValueError, match="at least 1"):
        threads.set_num_threads(0)


def test_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3,2")
    assert threads.default_threads() == 3
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "5")
    assert threads.default_threads() == 5
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "many")
    assert threads.default_threads() == 3


def test_without_openmp_it_is_serial():
    program = (
        "import numpy as np\n"
        "from tests.runtime.kernels import kernel\nfrom tapeless.runtime import threads\n"
        "x = np.zeros(4, np.int64)\n"
        "print(kernel('team')(x), list(map(int, x)), threads.openmp_library())\n"
    )
    assert output(program, TAPELESS_OPENMP="none") == "[1] [1, 0, 0, 0] None"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_while_the_native_part_is_being_made(tmp_path):
    program = (
        "import os\n"
        "from tapeless.runtime import support\n"
        "support.fetch()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    support.trim_memory()\n"
        "    os._exit(7)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert output(program, TAPELESS_CACHE_DIR=str(tmp_path)) == "7"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_serial_and_works():
    threads.set_num_threads(2)
    team()
    child = os.fork()
    if child == 0:
        good = team() == [1] and kernel("scale")(3, 2.0, np.ones(3))[1] == 6.0
        os._exit(0 if good else 1)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        pytest.fail("the child hangs")
    if threads.openmp_library():
        assert team() == [1, 2]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Python's own handler of Ctrl-C: a shell starts what runs behind with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_a_long_call():
    long = 1 << 40
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        kernel("spin")(long)
    assert time.monotonic() - began < 5
    assert kernel("spin")(10) == [10]


def test_a_handler_that_raises_nothing_lets_the_call_go_on():
    heard: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda *_: heard.append(1))
    try:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        assert kernel("spin")(200_000_000) == [200_000_000]
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert heard == [1]


def test_other_threads_run_during_a_call():
    ticks: list[float] = []
    stop = threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    began = time.monotonic()
    kernel("spin")(300_000_000)
    ended = time.monotonic()
    stop.set()
    ticker.join()
    during = [t for t in ticks if began < t < ended]
    assert len(during) >= 5


def test_calls_nest():
    """A signal handler that calls a kernel runs inside another call."""
    inner: list[float] = []
    before = signal.signal(
        signal.SIGUSR1, lambda *_: inner.append(kernel("scale")(4, 1.0, np.ones(4))[1])
    )
    try:
        timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
        timer.start()
        assert kernel("spin")(200_000_000) == [200_000_000]
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert inner == [4.0]
