"""YAML is read to plain data with lines; what is not plain data is refused with its line."""

import time

import pytest

from passivo.document import reader
from passivo.errors import ScenarioError


def data(text):
    return reader.read(text, "file.yaml").data


def refused(text):
    with pytest.raises(ScenarioError) as caught:
        data(text)
    return str(caught.value)


def test_numbers_are_read_as_people_write_them():
    found = data("{a: 1e4, b: -2, c: .5, d: 1e-3, e: 5., f: 12:30, g: on, h: true, i: null, j: '1', k: 0x10, l: 1_0}")
    expected = {"a": 1e4, "b": -2, "c": 0.5, "d": 1e-3, "e": 5.0, "f": "12:30", "g": "on", "h": True, "i": None}
    assert found == {**expected, "j": "1", "k": "0x10", "l": "1_0"}
    assert isinstance(found["a"], float) and isinstance(found["b"], int)


def test_a_long_number_is_a_number():
    assert data("9" * 5000) == float("inf") and data("1" * 30) == float("1" * 30)


def test_every_value_knows_its_line():
    document = reader.read("a: 1\nb:\n  c: 2\n  d: [3,\n    4]\n", "file.yaml")
    where = document.where
    assert where(("a",)) == "file.yaml:1"
    assert where(("b", "c")) == "file.yaml:3"
    assert where(("b", "d", 1)) == "file.yaml:5"
    assert where(("b", "missing")) == "file.yaml:2"
    assert where(("nothing", "at", "all")) == "file.yaml:1"


def test_a_value_put_in_names_its_origin_and_leaves_aliases_alone():
    document = reader.read("a: &x {k: 1}\nb: *x\n", "file.yaml")
    document.put(("a", "k"), 2, "--set k=2")
    assert document.data == {"a": {"k": 2}, "b": {"k": 1}}
    assert document.where(("a", "k")) == "--set k=2" and document.where(("b", "k")) == "file.yaml:1"


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("a: !!python/object/apply:os.system ['true']", 1, "tag"),
        ("a: 1\nb: !!binary aGk=", 2, "tag"),
        ("a: 1\n---\nb: 2", 2, "second document"),
        ("a: 1\na: 2", 2, "'a' stands here twice (first in line 1)"),
        ("a: 1\n? [1, 2]\n: 3", 2, "a key must be a name"),
        ("a: &x [*x]", 1, "alias *x"),
        ("a: *nothing", 1, "alias"),
        ("a:\n\t- 1", 2, "indent with spaces, not tabs"),
        ("a:\n  b: 1\n\tc: 2", 3, "indent with spaces, not tabs"),
        (
            "a: 1\n b: 2",
            2,
            "in 'b: 2': mapping values are not allowed in this context; check the indentation, and write",
        ),
        ("a: 1\nb\nc: 2", 2, "in 'b': could not find expected ':'; check the indentation, and write key: value"),
        ("a:\n  - 1\n - 2", 3, "check the indentation"),
        ("a: [1, 2\n", 1, "in 'a: [1, 2'"),
        ("? " + "x" * 9000 + "\n: 1\n? " + "x" * 9000 + "\n: 2\n", 3, "xxx... stands here twice (first in line 1)"),
        ("x" * 9000 + ": 1", 1, "xxx..."),
        ("a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 400)), 24, "nested more than 24"),
        ("a: &a {b: [[1]]}\nc: " + "[" * 21 + "*a" + "]" * 21, 2, "nested more than 24"),
        ("a: 'open", 1, "not YAML"),
        ("[" * 100, 1, "nested more than"),
        ("a: \x00", 1, "not YAML"),
        ("{" * 30 + "}" * 30, 1, "nested more than"),
    ],
)
def test_what_is_not_plain_data_is_refused(text, line, what):
    message = refused(text)
    assert what in message and len(message) < 300
    assert message.startswith((f"file.yaml:{line}:", "file.yaml: not YAML"))


def test_aliases_cannot_blow_up():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 20)]
    begin = time.perf_counter()
    assert "more than" in refused("\n".join(lines))
    assert time.perf_counter() - begin < 5  # 10^20 values would never end


def test_aliases_are_read():
    assert data("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


def test_large_and_binary_files_are_refused(tmp_path):
    large = tmp_path / "large.yaml"
    large.write_bytes(b"a: 1\n" * 2_200_000)
    with pytest.raises(ScenarioError, match="longer than 1 MiB"):
        reader.read_file(large)
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(bytes(range(256)))
    with pytest.raises(ScenarioError, match="not UTF-8"):
        reader.read_file(binary)
    many = tmp_path / "many.yaml"
    many.write_text("- 1\n" * 100_000)
    with pytest.raises(ScenarioError, match=r"many\.yaml:\d+: more than 50000 values"):
        reader.read_file(many)


def test_a_byte_order_mark_is_skipped(tmp_path):
    file = tmp_path / "marked.yaml"
    file.write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert reader.read_file(file).data == {"a": 1}
