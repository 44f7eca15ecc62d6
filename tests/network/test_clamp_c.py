"""The C header against the kernels: the same forces and the same memory, to the last bit."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest

import passivo as pv
from attack import module
from passivo.network import clamp as K
from passivo.network.ledger_clamp import LedgerClamp, setup, size

GLUE = """
#include "passivo_clamp.h"

int start(passivo_clamp *guard, int width, double period, const double *mass, const double *each, const double *rest)
{
    passivo_clamp_options o = passivo_clamp_defaults(width, period);
    int i;
    for (i = 0; i < width * width; i++) o.mass[i] = mass[i];
    for (i = 0; i < width; i++) {
        o.hand[i] = each[i];
        o.limit[i] = each[width + i];
        o.encoder[i] = each[2 * width + i];
        o.device_damping[i] = each[3 * width + i];
    }
    o.hand_each = (int)rest[0];
    o.limit_each = (int)rest[1];
    o.longest = rest[2];
    o.watchdog = (int)rest[3];
    o.skew = rest[4];
    o.damping = rest[5];
    o.scale = (int)rest[6];
    return passivo_clamp_init(guard, &o);
}

void ticks(passivo_clamp *guard, int width, const double *x, const double *f, const double *t, double *out, int count)
{
    int k;
    for (k = 0; k < count; k++) passivo_clamp_tick(guard, x + k * width, f + k * width, t[k], out + k * width);
}

int of_width(int width)
{
    passivo_clamp guard;
    passivo_clamp_options o = passivo_clamp_defaults(width, 1e-3);
    int i;
    for (i = 0; i < PASSIVO_CLAMP_WIDEST; i++) o.mass[i * width + i < 64 ? i * width + i : 0] = 1.0;
    return passivo_clamp_init(&guard, &o);
}

void again(passivo_clamp *guard) { passivo_clamp_reset(guard); }
int numbers(void) { return (int)(sizeof(passivo_clamp) / sizeof(double)); }
"""


def compiled(folder, *flags, source=GLUE, suffix=".c", compiler="cc"):
    path = folder / f"glue{suffix}"
    path.write_text(source)
    target = folder / "glue.so"
    include = f"-I{pv.include()}"
    command = [compiler, *flags, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", include, str(path)]
    subprocess.run([*command, "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("c"), "-O2", "-std=c99", "-pedantic", "-ffp-contract=off")


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


class InC:
    """The C clamp with the options of a LedgerClamp."""

    def __init__(self, library, options: LedgerClamp, width: int, period: float):
        self.library, self.width = library, width
        self.memory = np.full(library.numbers(), np.nan)
        mass = np.asarray(options.mass, dtype=float)
        mass = np.ascontiguousarray(mass * np.eye(width) if mass.ndim == 0 else mass)
        limit = 0.0 if options.limit is None else options.limit
        spread = [np.broadcast_to(v, width) for v in (options.hand, limit, options.encoder, options.device_damping)]
        each = np.concatenate(spread)
        rest = [np.ndim(options.hand), np.ndim(limit), options.longest or 0.0, options.watchdog, options.skew]
        rest += [-1.0 if options.damping is None else options.damping, options.mode == "scale"]
        rest = np.array(rest, dtype=float)
        self.status = library.start(
            address(self.memory), width, ctypes.c_double(period), address(mass), address(each), address(rest)
        )

    def run(self, positions, wanted, times):
        out = np.empty_like(positions)
        self.library.ticks(
            address(self.memory),
            self.width,
            address(positions),
            address(wanted),
            address(times),
            address(out),
            len(times),
        )
        return out

    @property
    def block(self):
        return self.memory[: size(self.width)]


def spd(rng, width):
    root = rng.standard_normal((width, width))
    return 0.2 * (root @ root.T / width + 0.2 * np.eye(width))


def record(rng, width, count=400):
    """A rough ride: pushes, jumps, NaN, infinities, late and absurd times."""
    positions = np.cumsum(rng.standard_normal((count, width)) * rng.choice([1e-6, 1e-4, 3e-3], (count, 1)), axis=0)
    wanted = rng.standard_normal((count, width)) * 10.0 ** rng.integers(-3, 3, (count, 1))
    wanted[rng.random(count) < 0.1] = 0.0
    times = np.where(rng.random(count) < 0.2, rng.uniform(1e-4, 6e-3, count), 1e-3)
    for k in np.flatnonzero(rng.random(count) < 0.03):
        [positions, wanted][int(rng.integers(2))][k, int(rng.integers(width))] = rng.choice(
            [np.nan, np.inf, -np.inf, 1e80]
        )
    times[rng.random(count) < 0.01] = rng.choice([np.nan, 0.0, -1.0, np.inf])
    return positions, wanted, times


def options_of(rng, width, seed):
    mass = float(rng.uniform(0.05, 1.0)) if seed % 3 == 0 else spd(rng, width)
    each = seed % 2 == 1
    return LedgerClamp(
        mass=mass,
        hand=rng.uniform(5.0, 30.0, width) if each else 22.0,
        encoder=rng.uniform(0.0, 1e-5, width) if seed % 4 else 0.0,
        watchdog=seed % 5 == 0,
        longest=3e-3 if seed % 7 == 0 else None,
        skew=1e-4 if seed % 3 == 1 else 0.0,
        limit=None if seed % 3 == 0 else rng.uniform(5.0, 30.0, width) if each else 30.0,
        damping=None if seed % 2 else 40.0,
        device_damping=2.0 if seed % 4 == 3 else 0.0,
        mode="scale" if seed % 6 == 5 else "project",
    )


def same(a, b):
    """Bit for bit; any NaN counts as any other."""
    return a.shape == b.shape and ((a.view(np.int64) == b.view(np.int64)) | (np.isnan(a) & np.isnan(b))).all()


@pytest.mark.parametrize("width", [1, 2, 3, 6, 8])
def test_same_forces_to_the_last_bit(library, width):
    """C, Numba and plain Python, over random options and rough records; the whole memory, not the forces alone."""
    for seed in range(24):
        rng = np.random.default_rng([width, seed])
        options = options_of(rng, width, seed)
        positions, wanted, times = record(rng, width)
        in_c = InC(library, options, width, 1e-3)
        block = setup(options, width, 1e-3)
        assert in_c.status == 0 and same(in_c.block, block)
        forces = np.empty_like(positions)
        module().tick_many(block, 0, positions, wanted, times, forces)
        assert same(in_c.run(positions, wanted, times), forces) and same(in_c.block, block)
        assert forces.any() and block[K.CLAMP_LIMITED] > 0 and block[K.CLAMP_REFUSED] > 0
        if seed < 3:
            guard = options.alone(width, 1e-3)
            plain = [guard.tick(*([float(x[0]), float(f[0])] if width == 1 else [x, f]), float(t))
                     for x, f, t in zip(positions, wanted, times)]  # fmt: skip
            assert same(np.array(plain).reshape(forces.shape), forces) and same(np.array(guard.memory), block)
            generated = module("python")
            block, again = setup(options, width, 1e-3), np.empty_like(forces)
            with np.errstate(all="ignore"):
                generated.tick_many(block, 0, positions, wanted, times, again)
            assert same(again, forces)


def test_reset_is_a_fresh_start(library):
    rng = np.random.default_rng(1)
    options = LedgerClamp(mass=spd(rng, 3), encoder=1e-6)
    guard = InC(library, options, 3, 1e-3)
    ride = record(rng, 3)
    first = guard.run(*ride)
    library.again(address(guard.memory))
    assert guard.memory[K.CLAMP_TICKS] == 0.0 and same(guard.run(*ride), first)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"mass": [[1.0, 0.0], [0.0, -1.0]]}, 2),
        ({"mass": [[1.0, 2.0], [2.0, 1.0]]}, 2),
        ({"encoder": -1e-6}, -1),
        ({"skew": -1e-4}, -1),
        ({"skew": 1e-4}, -1),
        ({"hand": np.nan}, -1),
        ({"longest": np.inf}, -1),
    ],
)
def test_init_refuses_what_python_refuses(library, change, status):
    options = LedgerClamp(mass=np.eye(2))
    for name, value in change.items():
        object.__setattr__(options, name, value)  # past the checks of Python
    assert InC(library, options, 2, 1e-3).status == status
    with pytest.raises(pv.InputError):
        setup(LedgerClamp(**{"mass": np.eye(2), **change}), 2)


def test_init_refuses_widths(library):
    assert [library.of_width(width) for width in (0, 1, 8, 9)] == [-1, 0, 0, -1]


def test_the_header_is_plain_c(tmp_path):
    compiled(tmp_path, "-O0", "-std=c99", "-pedantic-errors", "-Wconversion", "-Wno-sign-conversion")
    header = (pv.include() / "passivo_clamp.h").read_text()
    assert 'extern "C"' in header and set(re.findall(r"#include (\S+)", header)) == {"<math.h>", '"passivo_clamp.h"'}
    assert "malloc" not in header


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler on this machine")
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_the_header_is_cpp_too(tmp_path, standard):
    source = GLUE.replace("int start(", 'extern "C" int start(')
    flags = (f"-std={standard}", "-pedantic-errors")
    assert compiled(tmp_path, *flags, source=source, suffix=".cpp", compiler="c++").start


def test_numbers_of_the_header_are_those_of_the_kernels():
    """Layout and constants by name."""
    header = (pv.include() / "passivo_clamp.h").read_text()
    found = {name: float(value) for name, value in re.findall(r"#define PASSIVO_(CLAMP_\w+) ([\d.e+-]+)\n", header)}
    for listed in re.findall(r"enum \{(.*?)\}", header, re.DOTALL):
        names = re.findall(r"PASSIVO_(CLAMP_\w+)", re.sub(r"/\*.*?\*/", "", listed, flags=re.DOTALL))
        found.update({name: float(i) for i, name in enumerate(names)})
    mine = {name: float(value) for name, value in vars(K).items() if name.startswith("CLAMP_")}
    assert found == mine


EXAMPLE = """
#include <stdio.h>
#include "passivo_clamp.h"
static double v, x;
static double read_position(void) { return x; }
static double simulator(double at) { return at > 0.0 ? 20000.0 * at : 0.0; }
static void write_force(double force) { double a = (force + 5.0) / 0.1; x += 1e-3 * (v + 5e-4 * a); v += 1e-3 * a; }
#define seconds_since_last_tick 1e-3
#define stop() return 1
int main(void)
{
    int k = 0;
%s
    printf("%%g", x);
    return 0;
}
"""


def test_the_example_in_the_header_runs(tmp_path):
    """As written there, against a wall of 20 kN/m: the handle comes to rest at 5 N/(20 kN/m) = 0.25 mm."""
    header = (pv.include() / "passivo_clamp.h").read_text()
    shown = re.findall(r"^ \*     (.*)$", header, re.MULTILINE)
    lines = [re.sub(r"  +\S.*", "", line) if line.endswith(("period", "least", "  m")) else line for line in shown[1:]]
    code = "\n".join(lines).replace("for (;;)", "for (; k < 3000; k++)")
    (tmp_path / "example.c").write_text(EXAMPLE % code)
    command = [
        "cc",
        "-std=c99",
        f"-I{pv.include()}",
        str(tmp_path / "example.c"),
        "-o",
        str(tmp_path / "example"),
        "-lm",
    ]
    subprocess.run(command, check=True)
    done = subprocess.run([tmp_path / "example"], check=True, capture_output=True, text=True)
    assert float(done.stdout) == pytest.approx(0.25e-3, rel=0.02)
