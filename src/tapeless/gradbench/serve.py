"""The suite's protocol: one JSON object a line, one answer for each, under the same id."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Mapping
from time import perf_counter_ns
from typing import Any, TextIO

from tapeless.gradbench import programs
from tapeless.gradbench.question import Module

Message = Mapping[str, Any]


def load(name: str) -> Module | None:
    """The module of that name, if there is one."""
    if name not in {info.name for info in pkgutil.iter_modules(programs.__path__)}:
        return None
    found: Module = importlib.import_module(f"{programs.__name__}.{name}").MODULE
    return found


def start(_: Message) -> Message:
    return {"tool": "tapeless"}


def define(message: Message) -> Message:
    name = message["module"]
    return {"success": True} if load(name) else {"success": False, "error": f"no module {name}"}


def evaluate(message: Message) -> Message:
    """Time calls one by one until there were enough of them and they took long enough. Reading the
    input, and a first call that compiles, come before; telling the result comes after."""
    module = load(message["module"])
    question = None if module is None else module.questions.get(message["function"])
    if module is None or question is None:
        name = f"{message['module']}.{message['function']}"
        return {"success": False, "error": f"no function {name}"}
    given = message["input"]
    settings = given if isinstance(given, dict) else {}
    began = perf_counter_ns()
    args = module.arguments(given)
    question.run(*args)
    timings = [{"name": "prepare", "nanoseconds": perf_counter_ns() - began}]
    result, taken = repeat(
        lambda: question.run(*args), settings.get("min_runs", 1), settings.get("min_seconds", 0.0)
    )
    timings += [{"name": "evaluate", "nanoseconds": nanoseconds} for nanoseconds in taken]
    return {"success": True, "output": question.tell(result), "timings": timings}


def repeat(call: Callable[[], Any], runs: int, seconds: float) -> tuple[Any, list[int]]:
    """The last result of `call`, and how many nanoseconds each call took."""
    taken: list[int] = []
    while True:
        began = perf_counter_ns()
        result = call()
        taken.append(perf_counter_ns() - began)
        if len(taken) >= runs and sum(taken) >= 1e9 * seconds:
            return result, taken


ANSWERS: dict[str, Callable[[Message], Message]] = {
    "start": start,
    "define": define,
    "evaluate": evaluate,
}


def serve(questions: TextIO, answers: TextIO) -> None:
    """Answer every line. What goes wrong in one evaluation is that one's answer."""
    for line in filter(str.strip, questions):
        message = json.loads(line)
        reply = ANSWERS.get(message["kind"])
        try:
            answer = reply(message) if reply else {}
        except Exception as error:  # noqa: BLE001  # whatever it was, the suite is told
            answer = {"success": False, "error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"id": message["id"], **answer}), file=answers, flush=True)
