"""`python -m tapeless.gradbench` is asked as the suite asks; truths are computed apart."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.gradbench import truths


@pytest.fixture(scope="module")
def ask():
    """A process that answers one message at a time."""
    command = [sys.executable, "-m", "tapeless.gradbench"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def answer(**message):
            process.stdin.write(json.dumps({"id": 7, **message}) + "\n")
            process.stdin.flush()
            found = json.loads(process.stdout.readline())
            assert found.pop("id") == 7
            return found

        yield answer
        process.stdin.close()


@pytest.fixture
def output(ask):
    def evaluate(module, function, given, runs=1):
        assert ask(kind="define", module=module) == {"success": True}
        settings = {"min_runs": runs, "min_seconds": 0.0} if isinstance(given, dict) else {}
        asked = given | settings if settings else given
        answer = ask(kind="evaluate", module=module, function=function, input=asked)
        assert answer["success"], answer
        names = [timing["name"] for timing in answer["timings"]]
        assert names == ["prepare", *["evaluate"] * runs]
        assert all(isinstance(timing["nanoseconds"], int) for timing in answer["timings"])
        return answer["output"]

    return evaluate


def test_start_and_analysis(ask):
    assert ask(kind="start", eval="gmm") == {"tool": "tapeless"}
    assert ask(kind="analysis", of=3, valid=True) == {}
    assert ask(kind="something new") == {}


@pytest.mark.parametrize("name", ["no_such_module", "__init__", "../hello", ""])
def test_unknown_module(ask, name):
    assert ask(kind="define", module=name)["success"] is False
    assert ask(kind="evaluate", module=name, function="square", input=1.0)["success"] is False


def test_unknown_function(ask):
    answer = ask(kind="evaluate", module="hello", function="cube", input=1.0)
    assert answer == {"success": False, "error": "no function hello.cube"}


def test_bad_input_is_an_answer(ask):
    answer = ask(kind="evaluate", module="kmeans", function="cost", input={"points": [[1.0]]})
    assert answer == {"success": False, "error": "KeyError: 'centroids'"}


def test_repeats_until_enough_time_has_passed(ask):
    given = {"points": [[0.0], [1.0]], "centroids": [[0.5]], "min_runs": 3, "min_seconds": 0.01}
    answer = ask(kind="evaluate", module="kmeans", function="cost", input=given)
    taken = [t["nanoseconds"] for t in answer["timings"] if t["name"] == "evaluate"]
    assert len(taken) >= 3
    assert sum(taken) >= 1e7
    assert answer["output"] == 0.5


def test_hello(output):
    assert output("hello", "square", 3.0) == 9.0
    assert output("hello", "double", 3) == 6.0


def test_kmeans(output):
    points = np.random.default_rng(0).random((40, 3))
    centroids = points[-4:]
    given = {"points": points.tolist(), "centroids": centroids.tolist()}
    far = ((points[:, None] - centroids) ** 2).sum(axis=2)
    owned = np.eye(4)[far.argmin(axis=1)]
    count = owned.sum(axis=0)[:, None]
    assert output("kmeans", "cost", given, runs=2) == pytest.approx(far.min(axis=1).sum(), 1e-13)
    expected = (count * centroids - owned.T @ points) / count
    np.testing.assert_allclose(output("kmeans", "dir", given), expected, rtol=1e-11, atol=1e-14)


def test_gmm(output):
    rng = np.random.default_rng(1)
    n, d, k, m, gamma = 15, 3, 4, 2, 1.5
    x = rng.standard_normal((n, d))
    parameters = {
        "alpha": rng.standard_normal(k), "mu": rng.random((k, d)),
        "q": rng.standard_normal((k, d)), "l": rng.standard_normal((k, d * (d - 1) // 2)),
    }  # fmt: skip
    given = {name: value.tolist() for name, value in parameters.items()}
    given |= {"d": d, "k": k, "n": n, "m": m, "gamma": gamma, "x": x.tolist()}
    expected = truths.gmm(*parameters.values(), x, gamma, m)
    assert output("gmm", "objective", given) == pytest.approx(expected, rel=1e-12)
    gradient = output("gmm", "jacobian", given)
    assert list(gradient) == ["alpha", "mu", "q", "l"]
    for name, value in parameters.items():
        slopes = truths.complex_step(
            lambda v, name=name: truths.gmm(**(parameters | {name: v}), x=x, gamma=gamma, m=m),
            value,
        )
        np.testing.assert_allclose(gradient[name], slopes, rtol=1e-11, atol=1e-11)


def test_gmm_of_one_dimension(output):
    given = {
        "d": 1, "k": 1, "n": 2, "m": 0, "gamma": 1.0, "x": [[1.0], [2.0]],
        "alpha": [0.5], "mu": [[0.0]], "q": [[0.0]], "l": [[]],
    }  # fmt: skip
    gradient = output("gmm", "jacobian", given)
    assert gradient == {"alpha": [0.0], "mu": [[3.0]], "q": [[2.0 - 5.0 - 1.0]], "l": [[]]}


def test_lstm(output):
    rng = np.random.default_rng(2)
    layers, b, characters = 2, 5, 6
    main, extra = rng.random((2 * layers, 4 * b)), rng.random((3, b))
    state, sequence = rng.random((2 * layers, b)), rng.integers(0, 2, (characters, b)).astype(float)
    given = {
        "main_params": main.tolist(), "extra_params": extra.tolist(),
        "state": state.tolist(), "sequence": sequence.tolist(),
    }  # fmt: skip
    expected = truths.lstm(main, extra, state, sequence)
    assert output("lstm", "objective", given) == pytest.approx(expected, rel=1e-13)
    by_main = truths.complex_step(lambda p: truths.lstm(p, extra, state, sequence), main)
    by_extra = truths.complex_step(lambda p: truths.lstm(main, p, state, sequence), extra)
    slopes = [*by_main.ravel(), *by_extra.ravel()]
    np.testing.assert_allclose(output("lstm", "jacobian", given), slopes, rtol=1e-11, atol=1e-15)


CAMERA = [0.2, -0.3, 0.1, 0.5, -0.2, 8.0, 400.0, 3.0, -2.0, 0.05, 0.01]


@pytest.mark.parametrize("rotation", [CAMERA[:3], [0.0, 0.0, 0.0]])
def test_ba(output, rotation):
    n, m, p = 2, 3, 7
    camera, point, weight, feat = [*rotation, *CAMERA[3:]], [1.0, -0.5, 0.3], 0.4, [20.0, -7.0]
    given = {"n": n, "m": m, "p": p, "cam": camera, "x": point, "w": weight, "feat": feat}
    parameters = np.array([*camera, *point, weight])
    block = truths.complex_step(lambda v: truths.ba_residual(v, feat), parameters)
    expected = truths.ba_residual(parameters, feat)
    found = output("ba", "objective", given)
    assert found["reproj_error"] == {"elements": pytest.approx(expected, 1e-11), "repeated": p}
    assert found["w_err"] == {"element": pytest.approx(1 - weight**2), "repeated": p}
    matrix = output("ba", "jacobian", given)
    starts = [*range(0, 30 * p, 15), *range(30 * p, 31 * p + 1)]
    assert matrix["rows"] == [*starts[:30], 31 * p]
    first = [*range(11), *range(22, 25), 22 + 9]  # n cameras, m points, then weights
    assert matrix["cols"] == [*first, *first, 22 + 9 + p - 1]
    np.testing.assert_allclose(matrix["vals"][:30], block.ravel(), rtol=1e-9, atol=1e-10)
    assert matrix["vals"][30] == -2 * weight


def hand(rng, complicated):
    """A hand of 22 bones and 30 vertices, four bones each."""
    parents = [-1, *(0 if b % 4 == 1 else b - 1 for b in range(1, 21)), 0]
    relatives = []
    for _ in parents:
        relative = np.eye(4)
        relative[:3, :3] = truths.turn(rng.standard_normal(3))
        relative[:3, 3] = 0.3 * rng.standard_normal(3)
        relatives.append(relative)
    absolutes = []
    for parent, own in zip(parents, relatives, strict=True):
        absolutes.append(own if parent < 0 else absolutes[parent] @ own)
    weights = np.array([rng.permutation([*rng.random(4), *[0.0] * 18]) for _ in range(30)])
    model = {
        "bone_count": 22, "bone_names": [f"bone {b}" for b in range(22)], "parents": parents,
        "base_relatives": np.array(relatives).tolist(),
        "inverse_base_absolutes": np.linalg.inv(absolutes).tolist(),
        "base_positions": np.c_[rng.standard_normal((30, 3)), np.ones(30)].tolist(),
        "weights": (weights / weights.sum(axis=1, keepdims=True)).tolist(),
        "triangles": [rng.permutation(30)[:3].tolist() for _ in range(12)], "is_mirrored": False,
    }  # fmt: skip
    return {
        "theta": (0.5 * rng.standard_normal(26)).tolist(),
        "us": rng.random((8, 2)).tolist() if complicated else [],
        "data": {
            "model": model, "correspondences": rng.integers(0, 12, 8).tolist(),
            "points": rng.standard_normal((8, 3)).tolist(),
        },
    }  # fmt: skip


@pytest.mark.parametrize("complicated", [False, True])
@pytest.mark.parametrize("mirrored", [False, True])
def test_ht(output, complicated, mirrored):
    given = hand(np.random.default_rng(3), complicated)
    given["data"]["model"]["is_mirrored"] = mirrored
    data = given["data"]
    rest = data["model"], data["correspondences"], np.array(data["points"])
    theta, us = np.array(given["theta"]), np.array(given["us"])
    errors = truths.ht(theta, us, *rest)
    np.testing.assert_allclose(output("ht", "objective", given), errors.ravel(), rtol=1e-12)
    expected = truths.complex_step(lambda v: truths.ht(v, us, *rest), theta).reshape(-1, 26)
    if complicated:
        by_us = truths.complex_step(lambda v: truths.ht(theta, v, *rest), us)
        own = [by_us[i, r, i] for i in range(len(us)) for r in range(3)]
        expected = np.c_[np.array(own), expected]
    np.testing.assert_allclose(output("ht", "jacobian", given), expected, rtol=1e-11, atol=1e-13)


# Unusual inputs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [0, -3, 0.5, -0.0, 1e200, 2**40])
def test_hello_of_any_number(output, x):
    assert output("hello", "square", x) == float(x) * float(x)
    assert output("hello", "double", x) == 2.0 * x


@pytest.mark.parametrize(
    ("points", "centroids"),
    [
        ([[1]], [[3]]),  # one of everything, integers
        ([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0]]),  # nothing to do
        ([[0.0], [1.0], [5.0]], [[0.0], [1.0], [5.0]]),  # everyone owns itself
        ([[0, 1, 2], [3, 4, 5], [9, 9, 9], [0, 0, 1]], [[0, 1, 2], [9, 9, 8]]),
    ],
)
def test_kmeans_of_few_points(output, points, centroids):
    given = {"points": points, "centroids": centroids}
    far = ((np.array(points, float)[:, None] - np.array(centroids)) ** 2).sum(axis=2)
    owned = np.eye(len(centroids))[far.argmin(axis=1)]
    means = owned.T @ np.array(points, float) / owned.sum(axis=0)[:, None]
    assert output("kmeans", "cost", given) == pytest.approx(far.min(axis=1).sum(), abs=1e-14)
    np.testing.assert_allclose(output("kmeans", "dir", given), centroids - means, atol=1e-13)


def test_kmeans_of_a_centroid_without_points(output):
    """Its gradient and its part of the Hessian are zero: there is no direction."""
    given = {"points": [[0.0], [1.0]], "centroids": [[0.25], [100.0]]}
    found = output("kmeans", "dir", given)
    assert found[0] == [-0.25] and np.isnan(found[1][0])


@pytest.mark.parametrize(("n", "d", "k", "m"), [(1, 1, 1, 0), (1, 2, 3, 1), (3, 4, 1, 5)])
def test_gmm_of_few_points(output, n, d, k, m):
    rng = np.random.default_rng(n + d)
    shapes = {"alpha": (k,), "mu": (k, d), "q": (k, d), "l": (k, d * (d - 1) // 2)}
    parameters = {name: rng.standard_normal(shape) for name, shape in shapes.items()}
    x = rng.standard_normal((n, d))
    given = {name: value.tolist() for name, value in parameters.items()}
    given |= {"d": d, "k": k, "n": n, "m": m, "gamma": 1, "x": x.tolist()}
    expected = truths.gmm(**parameters, x=x, gamma=1.0, m=m)
    assert output("gmm", "objective", given) == pytest.approx(expected, rel=1e-12)
    gradient = output("gmm", "jacobian", given)
    for name, value in parameters.items():
        if value.size:
            slopes = truths.complex_step(
                lambda v, name=name: truths.gmm(**(parameters | {name: v}), x=x, gamma=1.0, m=m),
                value,
            )
            np.testing.assert_allclose(gradient[name], slopes, rtol=1e-11, atol=1e-11)


def test_gmm_far_from_all_means(output):
    """exp(−½·distance²) of every component underflows."""
    given = {
        "d": 1, "k": 2, "n": 1, "m": 0, "gamma": 1.0, "x": [[1000.0]], "alpha": [0.0, 0.0],
        "mu": [[0.0], [1.0]], "q": [[0.0], [0.0]], "l": [[], []],
    }  # fmt: skip
    assert np.isfinite(output("gmm", "objective", given))
    np.testing.assert_allclose(output("gmm", "jacobian", given)["mu"], [[0.0], [999.0]])


def test_lstm_of_two_characters_and_one_layer(output):
    rng = np.random.default_rng(5)
    main, extra = rng.random((2, 8)), rng.random((3, 2))
    state, sequence = rng.random((2, 2)), np.array([[0.0, 1.0], [1.0, 1.0]])
    given = {
        "main_params": main.tolist(), "extra_params": extra.tolist(),
        "state": state.tolist(), "sequence": [[0, 1], [1, 1]],
    }  # fmt: skip
    expected = truths.lstm(main, extra, state, sequence)
    assert output("lstm", "objective", given) == pytest.approx(expected, rel=1e-13)
    by_main = truths.complex_step(lambda p: truths.lstm(p, extra, state, sequence), main)
    by_extra = truths.complex_step(lambda p: truths.lstm(main, p, state, sequence), extra)
    slopes = [*by_main.ravel(), *by_extra.ravel()]
    np.testing.assert_allclose(output("lstm", "jacobian", given), slopes, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize(("n", "m", "p"), [(1, 1, 1), (5, 2, 1), (2, 3, 1)])
def test_ba_with_few_observations(output, n, m, p):
    camera, point, feat = [*CAMERA[:9], 0, 0], [1, -1, 0], [20, -7]
    given = {"n": n, "m": m, "p": p, "cam": camera, "x": point, "w": 1, "feat": feat}
    parameters = np.array([*camera, *point, 1.0])
    block = truths.complex_step(lambda v: truths.ba_residual(v, feat), parameters)
    matrix = output("ba", "jacobian", given)
    assert matrix["rows"] == [0, 15, 30, 31, 31]  # the first thirty, and the last
    first = [*range(11), *range(11 * n, 11 * n + 3), 11 * n + 3 * m]
    assert matrix["cols"] == [*first, *first, 11 * n + 3 * m]
    np.testing.assert_allclose(matrix["vals"][:30], block.ravel(), rtol=1e-9, atol=1e-10)
    assert matrix["vals"][30] == -2.0


@pytest.mark.parametrize("complicated", [False, True])
def test_ht_at_rest(output, complicated):
    """No rotation at all: it is the identity, whose derivative is taken to be zero."""
    given = hand(np.random.default_rng(6), complicated)
    given["theta"] = [0] * 26
    data = given["data"]
    rest = data["model"], data["correspondences"], np.array(data["points"])
    theta, us = np.zeros(26), np.array(given["us"])
    errors = truths.ht(theta, us, *rest)
    np.testing.assert_allclose(output("ht", "objective", given), errors.ravel(), rtol=1e-12)
    expected = truths.complex_step(lambda v: truths.ht(v, us, *rest), theta).reshape(-1, 26)
    found = np.array(output("ht", "jacobian", given))[:, -26:]
    assert not found[:, :3].any()
    np.testing.assert_allclose(found[:, 3:], expected[:, 3:], rtol=1e-11, atol=1e-13)


def test_ht_of_one_point(output):
    given = hand(np.random.default_rng(7), complicated=True)
    given["us"] = given["us"][:1]
    for name in ("correspondences", "points"):
        given["data"][name] = given["data"][name][:1]
    data = given["data"]
    rest = data["model"], data["correspondences"], np.array(data["points"])
    theta, us = np.array(given["theta"]), np.array(given["us"])
    by_us = truths.complex_step(lambda v: truths.ht(theta, v, *rest), us).reshape(3, 2)
    by_theta = truths.complex_step(lambda v: truths.ht(v, us, *rest), theta).reshape(3, 26)
    expected = np.c_[by_us, by_theta]
    np.testing.assert_allclose(output("ht", "jacobian", given), expected, rtol=1e-11, atol=1e-13)


def test_empty_lines_are_no_questions():
    done = subprocess.run(
        [sys.executable, "-m", "tapeless.gradbench"], input='\n{"id": 0, "kind": "start"}\n\n',
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == '{"id": 0, "tool": "tapeless"}\n'
