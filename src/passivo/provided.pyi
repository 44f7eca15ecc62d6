"""The free names of all kernels, for readers and the type checker; the generated module provides each of them.

Every kernel works on one flat memory `m` of doubles. Capitals are offsets of sections in it, or sizes; functions in
small letters are leaves written for the model at hand, or other kernels. Nothing here exists at run time.
"""

# sizes
STATES: int  # n
WIDTH: int  # port components
SIGNALS: int  # inputs without power
STAGES: int  # inputs per step
ROWS: int  # ledger rows: parts and connections
ACCOUNTS_COUNT: int  # rows, and the total where there are several
ROW_OF_STATE: tuple[int, ...]
ROW_OF_INPUT: tuple[int, ...]
REPORT_SIZE: int
UNKNOWNS: int  # size of the Newton system
SOLVED: tuple[int, ...]  # the states in it
SOLVED_COUNT: int
AVERAGES: int
AVERAGE_COUNT: int
LEVELS: int
LEVEL_START: tuple[int, ...]
NODES: tuple[float, ...]
WEIGHTS: tuple[float, ...]
ADAPTIVE: bool  # the Gauss rule grows until the energy gap is rounding
HAS_DOMAIN: bool
KEEPS_BOOK: bool  # the method keeps a book of its own (`booked`)
EPSILON: float
TABLEAU: tuple[float, ...]
STAGE_WEIGHTS: tuple[float, ...]
PREDICTOR_STAGES: int
BOOK_COUNT: int  # books of the method: one, or one per state
BOOK_OF_STATE: tuple[int, ...]
ROW_OF_BOOK: tuple[int, ...]  # books × rows, 1 where a book owns a state of the row
IN_ENERGY: tuple[int, ...]  # 1 for states the energy depends on
ALPHA: float
BETA: float
CREDIT: bool
DEADLOCK_ABS: float
DEADLOCK_REL: float
SYMMETRIC: bool
FROM_OLD: bool
HALVINGS: int
RELEASE: int  # the signal that releases a unilateral spring, -1 without
TRUE_PORT: bool
WHOLE: int  # states, inputs and 1
FORM_COUNT: int  # powers that are integrated as quadratic forms
FORM_TARGET: tuple[int, ...]  # where each is booked
FORM_ROW: tuple[int, ...]

# sections of the memory
TIME: int
COUNT: int
STATUS: int
STATE: int
START: int
NEXT: int
STEP: int
GRADIENT: int
END_GRADIENT: int
POINT: int
SLOPE: int
SLOPES: int
MEAN_GRADIENT: int
INPUT: int
USED: int
OUTPUT: int
MEAN: int
WORK: int
LOST: int
RECEIVED: int
CHANGE: int
DIFFERENCE: int
SCALE: int
BOOKED: int
FAULTS: int
ENERGY: int
HEIGHT: int
COUNTERS: int
ACCOUNTS: int
PORT_WORK: int
REPORT: int
ACCOUNT_SIZE: int
SUMS: int
A_FAULTS: int
LEDGER_COLUMNS: int
UNKNOWN: int
RESIDUAL: int
MATRIX: int
CORRECTION: int
TRIAL: int
DIRECTION: int
PIVOT: int
MAGNITUDE: int
AVERAGE: int
ITERATION: int
ITERATIONS_ALL: int
CUTS: int
LEVEL: int
GAP: int
DEFECT: int
ORIGIN: int
OFFSET: int
AHEAD: int
LANDED: int
ABOVE: int
OLD: int
NEAR: int
DUE: int
GAIN: int
FAULT: int
BOOKS: int
BASE: int
UPHILL: int
TRAIL: int
PACE: int
CURVATURE: int
VECTORS: int
VALUES: int
COORDINATES: int
BRACKET: int
HELD_STEP: int
ALL: int
NOW: int
BALANCE: int
GENERATOR: int
READOUT: int
POWER: int
FLOW: int
INTEGRAL: int
MEANS: int
POWERED: int
SCRATCH: int

# statuses
OK: int
UNCONVERGED: int
OUTSIDE: int
NOT_FINITE: int
BAD_INPUT: int

# leaves of the model
def prepare(m) -> None: ...  # Constants that depend on parameters alone.
def energy(m) -> None: ...  # ENERGY of every row at STATE.
def heights(m) -> None: ...  # HEIGHT of every row at STATE: energy above that of the minimum.
def difference(m) -> None: ...  # DIFFERENCE: change of energy of every row from STATE to NEXT over STEP.
def end_gradient(m) -> None: ...  # END_GRADIENT at NEXT.
def output(m) -> None: ...  # OUTPUT at STATE with the inputs USED.
def inside(m) -> bool: ...  # Whether NEXT lies in the domain.

# leaves of the method
def expand(m, h) -> None: ...  # STEP from UNKNOWN.
def residual(m, h) -> None: ...  # RESIDUAL of the step's equation.
def jacobian(m, h) -> None: ...  # MATRIX of its derivatives by the unknowns.
def magnitude(m, h) -> None: ...  # MAGNITUDE: sum of |terms| of each residual.
def sample(m, tau, weight) -> None: ...  # Add one Gauss node to the averages.
def gather(m, h) -> None: ...  # GRADIENT of the step, and the inputs USED.
def weigh(m, h) -> None: ...  # Add WORK, MEAN, LOST, RECEIVED of a stage of weight h.
def weigh_node(m, h, tau, weight) -> None: ...  # One Gauss node of the same.
def stage(m) -> None: ...  # GRADIENT and SLOPE at POINT.
def held_stage(m) -> None: ...  # SLOPE at POINT, the inputs held.
def origin(m) -> None: ...  # ORIGIN: the minimum of the energy.
def above(m) -> None: ...  # ABOVE: the height of every book at OFFSET from the minimum.
def uphill(m) -> None: ...  # UPHILL: the gradient at OFFSET.
def curvature(m) -> None: ...  # CURVATURE: the matrix of a quadratic energy.
def gain(m) -> None: ...  # GAIN: change of every book's energy over the step.
def land(m, b, target, ahead) -> bool: ...  # The way onto the level set that was chosen.
def linear(m) -> None: ...  # GENERATOR, READOUT and POWER of a linear system.
def present(m) -> None: ...  # GRADIENT, USED and NOW at STATE.

# kernels
def advance(m, h) -> int: ...  # The method: one step of size h, state moved, work and loss added up.
def commit(m) -> int: ...  # Move the state by STEP.
def solve(m, h) -> int: ...  # Find STEP.
def book(m, h) -> None: ...  # Book the step.
def ready(m) -> None: ...  # What a method prepares whenever parameters were set.
def sinhc(x) -> float: ...
def add(m, at, value) -> None: ...  # Compensated sum.
