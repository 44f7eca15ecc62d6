"""The free names of all kernels, for readers and the type checker; the generated module provides each of them.

Every kernel works on one flat memory `m` of doubles. Capitals are offsets of sections in it, or sizes; functions in
small letters are leaves written for the model at hand, or other kernels. Nothing here exists at run time.
"""

# sizes
STATES: int  # n
KEEPS_ALL: bool  # a run records all states
KEPT: tuple[int, ...]  # ... or these
KEPT_COUNT: int
WIDTH: int  # port components
SIGNALS: int  # inputs without power
STAGES: int  # inputs per step
RECORDED_COUNT: int  # quantities of the method itself that a run records
ROWS: int  # ledger rows: parts and connections
ACCOUNTS_COUNT: int  # rows, and the total where there are several
ROW_OF_STATE: tuple[int, ...]
ROW_OF_INPUT: tuple[int, ...]
REPORT_SIZE: int
SIZE: int  # of the memory
UNKNOWNS: int  # size of the Newton system
SOLVED: tuple[int, ...]  # the states in it
SOLVED_COUNT: int
AVERAGES: int
AVERAGE_SLOPES: int
LEVELS: int
LEVEL_START: tuple[int, ...]
NODES: tuple[float, ...]
WEIGHTS: tuple[float, ...]
ADAPTIVE: bool  # the Gauss rule grows until the energy gap is rounding
HAS_DOMAIN: bool
KEEPS_BOOK: bool  # the method keeps a book of its own (`booked`)
EPSILON: float
STROKES: int  # of a step: how many, their shares and their kinds
COEFFICIENTS: tuple[float, ...]
KINDS: tuple[int, ...]
BACK_COUNTER: int  # counts the strokes that gave back a loss, -1 for none
TABLEAU: tuple[float, ...]
STAGE_WEIGHTS: tuple[float, ...]
PATH_STAGES: int  # increments of a step for each state, and their weights
PATH_WEIGHTS: tuple[float, ...]
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
RECORDED: int
RECORDED_SUM: int  # its integral since the last report, the mean that was reported, and over how long it goes
RECORDED_SHOWN: int
RECORDED_TIME: int
RECORDED_NOISE: int  # how much of them is rounding, in units of it
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
A_ROUNDOFF: int
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
AVERAGE_SLOPE: int
INCREMENTS: int  # of every stage: d, and the mean gradient
GRADIENTS: int
ITERATION: int
ITERATIONS_ALL: int
CUTS: int
LEVEL: int
GAP: int
PROOF: int  # 1: asked for; residual power; gap of the mean gradient
DEFECT: int
CONVERGED: float  # a correction that is as small as this
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
TILT: int  # of SAV: twice the slope of its variable r, and r
ROOT: int
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

# of a bouncing mass
PLACE_STATE: int
MOMENTUM_STATE: int
MOBILITY: int
PUSH: int
RESTITUTION: float
REACH: tuple[float, ...]

def flight(m) -> None: ...  # MOBILITY and PUSH.
def fall(q, v, a) -> float: ...

# of a model with constraints
BARS: int  # constraints
BRACE: int  # a matrix over them, and a right hand side
PULL: int
LAPSE: int  # g at NEAREST and its rounding, the rate f and its rounding
ASIDE: int  # g and f at STATE
ASTRAY: int
NEAREST: int
NU: int  # multipliers at the start and at the end of a step
MU: int
MISSED: int  # what is left of g or f at the end of a step, and its rounding
KICKS: int

def lapse(m) -> None: ...  # LAPSE at NEAREST.
def stiffen(m) -> None: ...  # BRACE = G W G' at NEAREST.
def back_r(m) -> None: ...  # Move NEAREST by PULL, in its positions or in its momenta.
def back_p(m) -> None: ...
def gauge(m) -> None: ...  # BRACE = G W G' at the start of the step.
def bend(m) -> None: ...  # The same between its end and its start.
def fly(m, h) -> None: ...  # STEP without μ, POINT, MISSED: g at the end.
def close(m) -> None: ...  # MISSED: f at the end; BRACE = G W G' there.
def lay(m) -> None: ...  # Add the kick of PULL to STEP.

# where masses depend on positions
HALF: int  # positions
PREDICTS: int  # 1: the middle of the step is foretold
PLACE: int  # where masses are taken, and the momenta of GUESS there
GUESS: int  # the velocity v̂ that is expected
LATEST: int  # v̂ of the last step and of the one before
EARLIER: int
SPAN: int  # the sizes of both
KNOWN: int  # how many of them count
CARRIED: int  # L ν
LEVER: int  # L
SWAY: int  # Σ ∂W/∂q_k GUESS_k
SHEAR: int  # ∂(W p)/∂q
TURNING: int  # Q
INERTIA: int  # L L'
TWIST: int  # L Q L'

def spread(m) -> None: ...  # W at POINT, into ROOT.
def vary(m) -> None: ...  # SWAY and SHEAR at PLACE.

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
def sample(m, q) -> None: ...  # Add Gauss node q to the averages.
def sample_slopes(m, q) -> None: ...  # The same to their slopes.
def gather(m, h) -> None: ...  # GRADIENT of the step, and the inputs USED.
def weigh(m, h) -> None: ...  # Add WORK, MEAN, LOST, RECEIVED of a stage of weight h.
def revolve(m, h) -> None: ...  # STEP and GRADIENT of a part whose flow is known.
def weigh_node(m, h, tau, weight) -> None: ...  # One Gauss node of the same.
def stage(m) -> None: ...  # GRADIENT and SLOPE at POINT.
def held_stage(m) -> None: ...  # SLOPE at POINT, the inputs held.
def origin(m) -> None: ...  # ORIGIN: the minimum of the energy.
def above(m) -> None: ...  # ABOVE: the height of every book at OFFSET from the minimum.
def uphill(m) -> None: ...  # UPHILL: the gradient at OFFSET.
def curvature(m) -> None: ...  # CURVATURE: the matrix of a quadratic energy.
def gain(m) -> None: ...  # GAIN: change of every book's energy over the step.
def land(m, b, target, ahead) -> bool: ...  # The way onto the level set that was chosen.
def half_step(m, h) -> None: ...  # POINT: an explicit half step.
def tilt(m) -> None: ...  # TILT at POINT.
def roots(m) -> None: ...  # ROOT at STATE.
def linear(m) -> None: ...  # GENERATOR, READOUT and POWER of a linear system.
def present(m) -> None: ...  # GRADIENT, USED and NOW at STATE.

# kernels
def advance(m, h) -> int: ...  # The method: one step of size h, state moved, work and loss added up.
def step(m, h) -> int: ...  # One step with the inputs in the memory: advanced, booked.
def commit(m) -> int: ...  # Move the state by STEP.
def prove(m, h) -> None: ...  # Add what the balance of a solved stroke rests on to PROOF.
def finish(m, h) -> int: ...  # A solved stroke: weighed, committed.
def stroke(m, kind, h) -> int: ...  # A part of a step: solved, weighed, committed.
def solve(m, h) -> int: ...  # Find STEP.
def assess(m, h) -> None: ...  # Increments and residual at the present unknowns.
def derive(m, h) -> None: ...  # MATRIX at the unknowns that were assessed last.
def factor(m) -> bool: ...  # LU of MATRIX.
def relative(m) -> float: ...  # The largest CORRECTION as a share of its unknown.
def correct(m) -> None: ...  # CORRECTION from RESIDUAL.
def apply(m, share) -> None: ...  # Move the unknowns by CORRECTION.
def settled(m, h) -> bool: ...  # Whether RESIDUAL is small.
def book(m, h) -> None: ...  # Book the step.
def ready(m) -> None: ...  # What a method prepares whenever parameters were set.
def sinhc(x) -> float: ...
def add(m, at, value) -> None: ...  # Compensated sum.
def enter(m, at, change, work, lost, booked, scale, time) -> None: ...  # Book into one account.
def remember(m, at, count) -> None: ...  # Remember the bias at marked steps.
def show(m, account, at, stored) -> None: ...  # The columns of an account, for a report.
def show_rows(m, at) -> float: ...  # Those of every account of a part.
def report(m) -> None: ...  # Fill REPORT.

# -- a part in a network
DT: int
PHASE: int  # ticks into the period, and their number
FEED: int  # where its last outside inputs stand in the table, how far apart they are, and where the last ones stand
FREE: tuple[int, ...]  # the inputs that come from outside
FREE_COUNT: int
IS_OPAQUE: bool  # nothing is known of the part's energy
IS_FREE: tuple[bool, ...]  # for each port component
TAKEN: int  # work since the last exchange of the junction at a port, sum and sum of sizes
TAKEN_SIZE: int
MOVED: int  # integral of the output since then
WAIT: int
EVERY: int
CURSOR: int
NOMINAL: int  # against the clock: the step it was given, and in how many pieces the last period was stepped
PIECES: int
BEGIN: int  # its memory, without what belongs to the schedule
FINISH: int
BESIDE: int  # 1: it is stepped beside the loop; how that went, and by how many seconds
BESIDE_STATUS: int
BESIDE_STEP: int

# -- a junction; FAST and SLOW are the same sides by their steps
LINK_WIDTH: int
EFFORT_OUTPUT: int
EFFORT_INPUT: int
EFFORT_STRIDE: int
EFFORT_STAGES: int
EFFORT_TAKEN: int
EFFORT_SIZE: int
EFFORT_MOVED: int
EFFORT_DT: int
FLOW_OUTPUT: int
FLOW_INPUT: int
FLOW_STRIDE: int
FLOW_STAGES: int
FLOW_TAKEN: int
FLOW_SIZE: int
FLOW_MOVED: int
FLOW_DT: int
FAST_SIGN: int
FAST_OUTPUT: int
FAST_INPUT: int
FAST_STRIDE: int
FAST_STAGES: int
FAST_MOVED: int
SLOW_SIGN: int
SLOW_OUTPUT: int
SLOW_INPUT: int
SLOW_STRIDE: int
SLOW_STAGES: int
LINK_CHANGE: int
LINK_LOST: int
LINK_BOOKED: int
LINK_ASIDE: int  # what a sensor made of the energy, with a bound that grows by SLACK and may stand out by REST
LINK_SLACK: int
LINK_REST: int
LINK_ENTRIES: int
LINK_ROWS: int
LINK_RECEIVED: int  # with an opaque side: what its port was given, and the most by which that fell below 0
LINK_BEYOND: int
OPAQUE: bool  # the port is judged, not the balance; the side behind may itself be opaque
SIDE_IS_OPAQUE: bool
OPAQUE_TAKEN: int
LINK_STORED: int
LINK_COUNT: int
LINK_PERIOD: int
LINK_TIME: int
LINK_ACCOUNT: int
LINK_REPORT: int
LINK_REPORT_SIZE: int
LINK_WAIT: int
LINK_EVERY: int
LINK_CURSOR: int
SEEN: int  # what a junction shows
SEEN_COUNT: int
ERROR: int  # HE
POWER: int
READ: int
SENT: int
ROOM: int
STAGGERED: bool
MEASURED: int
INCREMENT: int
PLACE: int
LINE: int
RANDOM: int
TURN: int
HELD: int
BOUND: int
VELOCITY: int
RATE: int
LAG: int
SENSES: bool
ENCODER: tuple[float, ...]
GONE: int  # 1: the last sample was lost
ELAPSED: int
LIMITED: int  # how often a clamp limited, and how often its assumptions were broken
BROKEN: int
CLAMP: int  # the block of a clamp
WATCHDOG: bool
DELAY: int
JITTER: float
DROPPED: float
FILTER: float
CLASSIC: bool
DAMPS: bool
JUMP: int
STIFFNESS: tuple[int, ...]  # of a coupling, for each component
ELONGATION: int  # the states of a coupling's spring
MOST_DAMPING: float
DAMPING: int
CAME: int  # waves that came in at the effort end and at the flow end
DEBT: int
LEFTWARD: int  # waves on their way: when due, and how large
RIGHTWARD: int
LINE_LENGTH: int
VARYING: int
IMPEDANCE: float
PRINTED_BOUND: bool

def give(m, at, stride, stages, value) -> None: ...  # Hold a value at an input.
def account(m, work) -> None: ...  # What a junction stores, loses and books of a period.
def oppose(m, k, effort) -> None: ...  # A device holds an effort.
def sense(m) -> None: ...  # What is seen of a device's motion.
def link_report(m) -> None: ...

# -- a whole network
TICK: int
FAILED: int
ALL_CHANGE: int  # since the last common tick
ALL_WORK: int
ALL_LOST: int
ALL_BOOKED: int
ALL_SCALE: int
COMMON_PERIOD: int
TOTAL: int
TOTAL_COUNT: int
TOTAL_TIME: int
TOTAL_REPORT: int
TOTAL_REPORT_SIZE: int
TOTAL_WAIT: int
TOTAL_EVERY: int
TOTAL_CURSOR: int

def total_report(m) -> None: ...
def begin(m, table, out) -> bool: ...  # Inputs and exchanges of the periods that begin at tick t.
def end(m, out) -> bool: ...  # Steps and books of the periods that end there.

# -- a guard in front of a device
EFFORT_STATE: int  # the states of the part at the effort end
MODE: int  # what a guard does, why, and for how long
REASON: int
AGE: int
SILENCE: int  # seconds without a good reading, without a force that is a number
DEAF: int
ALARM: int  # what is wrong, as the loop says
RAMPED: int
OWED: int  # joules that a dropped force may have given out
SHAPED: int
WANTED: int
SAFETY: int
COUNTS: int
CLAMPS: bool
KEEPS: bool  # a force stays until the next reading

# -- a device in a loop
READ: int  # the last reading, and what the device shall feel, over all axes
SAY: int
TOLD: int  # the signals of the handle
HANDLE_STATE: int
CHOSEN: tuple[int, ...]  # the axes in use
CHOSEN_COUNT: int
AXES_COUNT: int
LAST_SEQUENCE: int
LAST_TIME: int
REFUSED_OLD: int
REFUSED_TIME: int
REFUSED_VALUE: int
REFUSED_PLACE: int
LAST_HOST: int
GUARD_SAFETY: int
DEAD_MAN: int  # buttons that must be held
STOP_ALARM: int
AT_WORST: int  # 1: the work of the last period is not known, and counts at worst
HAS_WATCHDOG: bool
GUARD_GONE: int  # sections of the device's guard
GUARD_ALARM: int
GUARD_MEASURED: int
GUARD_ELAPSED: int
GUARD_CLAMP: int
GUARD_OWED: int
GUARD_HELD: int
FLAG_UNPLUGGED: int
FLAG_NO_HAND: int
FLAG_OVER: int
FLAG_ERROR: int
FLAGS_FAULTY: int
FINE: int
SIM: int  # a simulated device
AXES: int
PUSH: int
SIM_DELAY: int
FAULT_LIST: int
BOX: int  # a driver in Python
BOXED_SIZE: int
BOXED_AXES: int
HEARD: int
PLAY: int  # a recording that is played
STRIDE: int

# -- a loop
DEAD: int  # 1: a part could not step
ROW_ELAPSED: int  # of a recorded row: its parts
ROW_LATE: int
ROW_WIDTH: int
LEADING_COUNT: int

def tick(m, h) -> int: ...
def stretch(m, elapsed) -> None: ...  # A tick took so long.
def postpone_all(m, period) -> None: ...  # Periods as long as this one, or longer, are prolonged.
def paced(m) -> bool: ...  # Whether a device tells the time.
def unready(m, orders) -> float: ...  # The longest period of a part beside the loop that should be done, and is not.
def lend_all(m, w) -> None: ...  # Parts beside the loop, as their periods begin.
def order_all(m, orders) -> None: ...
def regain_all(m, w) -> None: ...  # As their periods end.
def toil_all(m, w) -> None: ...
def toil_part(w, i) -> None: ...
def greet(m, box, tape, now) -> None: ...  # The first reading of every device.
def place_all(m) -> bool: ...
def listen(m, box, tape, now) -> float: ...  # A reading of every device that is due.
def reckon_all(m, elapsed) -> None: ...
def speak(m, box, now) -> None: ...
def hush(m, box, now) -> None: ...
def alarm_all(m, reason) -> None: ...
def all_latched(m) -> bool: ...
def await_tick(m, box, book, deadline, spec) -> float: ...
def note(m, book, row) -> None: ...  # The row of a tick.
def made(m, last, now) -> float: ...  # When the reading was made, after `last` and up to `now`.
def recall(m, rows, i) -> None: ...
