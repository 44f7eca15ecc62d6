"""How a world lies in its table of whole numbers `t` and in the memory `m`. Names of places only.

One compiled core serves all worlds. What a world is made of stands in `t`: places in the memory, who hangs on whom, the
order of elimination. Points and directions in the axes of bodies are figures in the memory; masses, stiffnesses and the
like are parameters there and can be changed while it runs.

Carriers are what ties hang on: the bodies, then the anchors, whose velocity is an input; −1 is the world itself.
"""

# the table begins with these: numbers of things, choices, places in the memory (AT_...) and in the table (..._TABLE)
BODIES = 0
CARRIERS = 1
TIES = 2
TAPS = 3  # ports at points of bodies
INPUTS = 4
SCHEME = 5
PREDICTS = 6  # whether the moment of momentum is extrapolated to the middle of the step
RESOLVES = 7  # solutions beyond the first, with the turn of the one before
ITERATES = 8  # whether a tie wants the jacobian of the turn that really comes
ROW_COUNT = 9
AT_STATE = 10
AT_NEXT = 11
AT_STEP = 12
AT_PARAM = 13
AT_INPUT = 14
AT_USED = 15
AT_OUTPUT = 16
AT_MEAN = 17
AT_WORK = 18
AT_LOST = 19
AT_RECEIVED = 20
AT_CHANGE = 21
AT_DIFFERENCE = 22
AT_SCALE = 23
AT_ENERGY = 24
AT_HEIGHT = 25
AT_PASSES = 26  # of this step, and of all
AT_FRAMES = 27
AT_ROWS = 28
AT_BLOCKS = 29
AT_RIGHT = 30
BLOCKS = 31  # numbers in all blocks; those of bodies and of two that are tied come first, 6 × 6 each
CARRIER_TABLE = 32
TIE_TABLE = 33
TAP_TABLE = 34
ORDER_TABLE = 35
STATE_COUNT = 36
AT_RECORDED = 37
AT_NOISE = 38
CONTACTS = 39  # as many as there is room for; 0 where nothing touches
GEOMS = 40
AT_BRIDGE = 41  # figures: what of MuJoCo lies where
AT_SURFACES = 42  # figures: friction and restitution of each geom
AT_REACH = 43  # figures: how far each body reaches
AT_TOUCHES = 44
AT_PAST = 45
AT_TALLY = 46
AT_FREE = 47  # V̂ without contacts; then as much room for each vector of V_
AT_LABELS = 48
GEOM_TABLE = 49  # the body of each geom, −1 for the world
COMPONENT_TABLE = 50  # for each body: where those tied to it stand, each as place in the order and number; how many
SPAN = 51  # bodies of the largest component
TANK_STATE = 52
TANK_PARAM = 53
REPAIR_ROW = 54
IMPACT_ROW = 55
FRICTION_ROW = 56
TOLD_CONTACTS = 57  # within what is recorded
AT_EXACT = 58  # the problem of an exact solver
MOST_EXACT = 59  # contacts that it takes
DIRECTIONS = 60  # of its friction pyramid; 0 for the circle
AT_DEFECT = 61
TOLD_WRENCHES = 62
FIELDS = 63  # height fields
FIELD_TABLE = 64  # the figures of each
AT_CALLS = 65  # figures: by what functions each field and each geom find their contacts
PAIRS = 66  # two owners of geoms each, whose friction and restitution are told; owners stand behind GEOM_TABLE
PAIR_TABLE = 67
AT_PAIRS = 68  # figures: friction and restitution of each
AT_PROOF = 69  # whether this is an audit, which wants to know the rounding of what is recorded
ASSEMBLIES = 70  # mechanisms and the like, whose bodies move by unknowns of their own (`assemblies.py`)
ASSEMBLY_TABLE = 71
NODES = 72  # of the elimination: free bodies and assemblies
RESPOND_TABLE = 73  # for each body: where the nodes stand that hang together with it, and how many
LINKED = 74  # blocks of two bodies of which one is a member of an assembly
LINKED_TABLE = 75
SPRING_ROW = 76  # of the ledger
CORDS = 77  # tendons and stops of joints (`cord_table.py`)
CORD_TABLE = 78
COMMANDS = 79
COMMAND_TABLE = 80  # of each its state and its input
MECHANISMS = 81  # of the assemblies, the first ones; the others are beams (`bending.py`)
BEAMS = 82
BEAM_TABLE = 83
BEAM_ROW = 84  # of the ledger
AT_SPEEDS = 85  # as fast as each body may go when contacts are found
HEADER = 86

EPSILON = 2.0**-52

# schemes
MIDPOINT = 0
SYMPLECTIC = 1
IMPLICIT = 2

# rows of the ledger; those of springs, joints, impact, friction and repair follow
KINETIC = 0
GRAVITY = 1

# the state: the sizes of the last step and of the one before, how many are known, then for each body
STEP_BEFORE = 1
KNOWN = 2
BODIES_FROM = 3
X = 0  # position
Q = 3  # quaternion w x y z
V = 7  # velocity, world axes
W = 10  # rate, axes of the body
U = 13  # V̂ of the last step
S = 19  # the rate of the last two steps together, in which what alternates cancels
A = 22  # how it changes, per second
BODY_STATES = 25
ANCHOR_STATES = 7

# of a carrier in the table
C_STATE = 0  # within the state
C_PARAM = 1  # within the parameters: mass, inertia, drags
C_INPUT = 2  # of an anchor, within the inputs
C_WIDTH = 3  # of an anchor: 3 moves it, 6 turns it too
C_MEMBER = 4  # of a member of an assembly its entry there, −1 of others
C_SIZE = 5

# parameters of a body; the first three of all are gravity
MASS = 0
INERTIA = 1  # xx, yy, zz, xy, xz, yz
DRAG = 7
SPIN_DRAG = 8
BODY_PARAMS = 9

# of a port at a point of a body in the table: carrier, figures, first input, width
TAP_SIZE = 4

# of a tie in the table
T_KIND = 0
T_A = 1
T_B = 2
T_STIFFNESS = 3  # within the parameters, −1 for none
T_DAMPING = 4
T_SHARE = 5  # figure by which both are multiplied
T_FIGURES = 6
T_EXACT = 7
T_ROW = 8
T_AB = 9  # blocks of the matrix, −1 where an end is no body
T_BA = 10
T_TOLD = 11  # within what is recorded: gap, force
T_SIZE = 12

# kinds of ties, and their figures
POINT = 0  # Ψ = xa + Ra ra − xb − Rb rb: ra, rb
DIRECTION = 1  # Ψ = Ra ra − Rb rb: two unit vectors
SLIDE = 2  # Ψ_j = Rb n_j · (xa + Ra ra − xb − Rb rb): ra, rb, three directions n_j, or zeros
LENGTH = 3  # as a point, elastic in |Ψ| − L alone: ra, rb, L
SPIN = 4  # no Ψ: a damper between two rates

# of an assembly in the table
A_WIDTH = 0  # unknowns
A_RATE = 1  # in the memory: the unknowns of the step, as far as they are known
A_ANSWER = 2  # right hand side and solution of the elimination
A_OWN = 3  # its own matrix, then its own right hand side
A_BLOCK = 4  # its block, behind AT_BLOCKS
A_MEMBERS = 5  # in the table
A_COUNT = 6
A_PARTS = 7  # its limbs, in the table
A_PART_COUNT = 8
A_ROOM = 9  # in the memory, see M_
A_WAY = 10  # how far a repair of contacts moves it, for each unknown
A_SIZE = 11

# of a member of an assembly in the table: V̂ = Σ columns · unknowns
G_BODY = 0
G_COLUMNS = 1  # in the memory: 6 numbers for each unknown that moves it
G_COUNT = 2
G_UNKNOWNS = 3  # in the table: which these are
G_SIZE = 4

# of a block of two bodies of which one is a member: body, body, block, where it goes to, how wide that is
LINKED_SIZE = 5

# of a limb in the table: a joint, and what it carries; bodies with several joints hang on limbs without a body
L_KIND = 0
L_PARENT = 1  # in the table, −1 for the world
L_BODY = 2  # −1 for none
L_AT = 3
L_FIGURES = 4
L_COORDINATES = 5  # within the state; of a free one the pose of the body, then its velocities
L_RATES = 6
L_MEANS = 7  # rates of the last step, and of the one before
L_EARLIER = 8
L_PARAM = 9  # damping, inertia, stiffness, reference; −1 for none
L_FIRST = 10  # its unknowns
L_WIDTH = 11
L_COUNT = 12  # of unknowns that move it: those of its parent, then its own
L_PATH = 13
L_COLUMNS = 14
L_SIZE = 15

# kinds of limbs
HINGE = 0
RAIL = 1
BALL = 2
FREE = 3

# figures of a limb
PIN = 0  # the place of the joint in the axes of the parent
OWN_PIN = 3  # and in its own
AXIS = 6  # in its own axes
REST = 9  # its orientation in the axes of the parent where the joint is at 0
LIMB_FIGURES = 13

# parameters of a joint
JOINT_DAMPING = 0
JOINT_INERTIA = 1
JOINT_STIFFNESS = 2
JOINT_REFERENCE = 3

# of a limb in the memory, where it is looked at
P_COORDINATES = 0
P_X = 7
P_Q = 10
P_TURN = 14
P_W = 23  # its rate, and the velocity of its origin, in world axes
P_V = 26
P_PIN = 29  # the place of its joint
P_SPEED = 32
P_START = 35  # R at the start of the step
P_BACK = 44  # R' of its own times R of its parent, then
P_HAT = 53  # V̂
P_BENT = 59  # the mean turn of the step
P_COSINE = 68  # of half of its angle
P_SHARE = 69  # the sine of that, by the angle
P_SIZE = 70

# of a mechanism in the memory: three n × n matrices (masses, what turns motion, scratch), then for each unknown
M_RATE = 0  # where inertias are made
M_NU = 1
M_AXES = 2  # whether it turns, its axis, how that changes, its place, how that changes
AXIS_SIZE = 13
M_COLUMNS = 15  # velocity of a body, its change, axis, moment, its change
COLUMN_SIZE = 15
M_FROM = 30  # unknowns that a pass began with, what came out, how far off that was, and how both changed
M_CAME = 31
M_OFF = 32
M_CAME_ON = 33
M_OFF_LESS = 34
M_ROOM = 35

# of a beam in the table; E_OWN and what follows it are places in the memory
E_TABLE = 0  # its own table, as `method/banded_table.py` has it
E_STATE = 1  # its coordinates within the state, then their rates
E_COORDINATES = 2
E_PARAM = 3  # mass, bending, mass_damping, stiffness_damping
E_POINTS = 4
E_POINT_TABLE = 5
E_ROWS = 6  # unknowns of its points
E_FIGURES = 7  # the orientation of its axes, the middle of its line at rest, the way that it bends
E_OWN = 8  # its parameters, as its own kernels have them
E_USED = 9  # forces at its points, then its weight
E_MEAN = 10
E_WORK = 11
E_JOULES = 12
E_IMPEDANCE = 13  # S, then S g: what its assembly has as its own
E_LOOSE = 14  # g
E_APART = 15  # scratch, as many numbers as unknowns
E_ANSWERS = 16  # A⁻¹ P', column by column
E_HAT = 17  # vectors of its own kernels
E_RIGHT = 18
E_FORCE = 19
E_MASS_HAT = 20
E_DRAG_HAT = 21
E_RATE = 22
E_SIZE = 23

# of the joules of a beam: of its motion, then of its bending
E_LOST = 0
E_RECEIVED = 2
E_SCALE = 4
E_CLEARED = 6  # those up to here are cleared in every step
E_CHANGE = 6
E_DIFFERENCE = 8
E_ENERGY = 10
E_HEIGHT = 12
E_JOULES_SIZE = 14

# of a point of a beam in the table
O_BODY = 0
O_ROW = 1  # its first unknown
O_ROWS = 2
O_REST = 3  # its place where the beam is straight, among the figures
O_WAYS = 4  # E, six numbers for each of its unknowns
O_SIZE = 5

# of a carrier in the memory
F_TURN = 0  # R at the start
F_BENT = 9  # R (a I + b S(θ)), the mean turn of the step
F_NEXT = 18  # R at its end
F_HAT = 27  # V̂
F_SPIN = 33  # J w*
F_PULL = 36  # of an anchor: what pulls at it
F_SIZE = 42

# of a tie in the memory
R_PSI = 0
R_NEW = 3  # Ψ at the end of the step
R_A = 6  # jacobians, 3 × 6
R_B = 24
R_K = 42  # stiffness: of a length the secant one
R_C = 43  # damping, 3 × 3
R_KAPPA = 52  # what multiplies J V̂
R_FORCE = 61
R_SLOPE_A = 64  # how Ψ changes at the end of the step with V̂: of a jacobian that is made anew for every turn
R_SLOPE_B = 82
R_SIZE = 100

# of the bridge to MuJoCo: addresses, and strides of what is read there
B_KINEMATICS = 0
B_COLLISION = 1
B_MODEL = 2
B_DATA = 3
B_QPOS = 4
B_MARGINS = 5  # of geoms
B_BODY_MARGINS = 6
B_COUNT = 7  # of contacts, a whole number of 4 bytes; as the next one
B_DROPPED = 8  # contacts for which MuJoCo had no room
B_CONTACTS = 9
B_STRIDE = 10  # of contacts, in doubles
B_DIST = 11  # within a contact, in doubles; geoms in halves of them
B_POS = 12
B_FRAME = 13
B_PAIR = 14
B_SHARE = 15  # by which margins of two geoms count together
B_GEOM_PLACES = 16  # of geoms, as they are now
B_GEOM_TURNS = 17
B_BOUNDS = 18  # of geoms, how far they reach
B_SIZES = 19
B_BUFFER = 20  # where functions of pairs put what they find
B_PRE_STRIDE = 21
B_PRE_POS = 22
B_PRE_NORMAL = 23
B_SIZE = 24

# of a height field among the figures: its place and its axes, then
H_TURN = 3
H_ROWS = 12
H_COLUMNS = 13
H_DX = 14
H_DY = 15
H_FLOOR = 16
H_GEOM = 17  # of the plane that helps; that of the capsule is the next one
H_NORMAL = 18  # scratch, all up to the heights
H_PLACE = 21
H_POINT = 24
H_EDGE = 27
H_SIDES = 30
H_WAY = 36
H_HEIGHTS = 39

# of a height field and a geom among the figures: functions that find contacts, 0 for none
C_FACE = 0  # with the plane
C_EDGE = 1  # with the capsule
C_EDGE_TOO = 2  # where that is not enough
C_SIGN = 3  # −1 where the capsule comes second
C_CALLS = 4

# of a contact in the memory; impulses and velocities of its second body: along the normal and two tangents
K_A = 0  # body, −1 for the world
K_B = 1
K_FIRST = 2  # geoms
K_SECOND = 3
K_GAP = 4
K_MU = 5
K_BOUNCE = 6  # c of the law of impact
K_ARMED = 7
K_P = 8  # impulse
K_U = 11
K_FRAME = 14  # normal, two tangents
K_LOCAL = 23  # its place in the axes of body b, or a
K_JA = 26  # 3 × 6
K_JB = 44
K_D = 62  # how u answers p
K_INVERSE = 71
K_STICKS = 80
K_LAMBDA = 81  # largest eigenvalue of the tangential part of D
K_REPAIR = 82  # pseudo impulse that parts what overlaps, and how far
K_WAY = 83
K_RESTS = 84  # whether it does not bounce
K_RUBS = 85  # whether friction acts already: of one that is new not in the first sweeps
K_LAID = 86  # whether its columns are there
K_OTHER = 87  # b, or −1 where b hangs together with a and moves with it
K_FIRM = 88  # whether what is sought brings its velocity along the normal to 0, and its slip
K_SOUGHT = 90  # impulses that do so, what they leave, their next way, and what that answers
K_LEFT = 93
K_ALONG = 96
K_SOFT = 99
K_BENDS = 102  # whether it hangs together with a beam
K_CALM = 103  # how free bodies give way where all are equally heavy: 6 numbers for a, then for b
K_CALM_NORMAL = 115
K_AFTER = 116  # how fast a contact that bounces parts at the end of the step
K_PLACE = 117
K_COLUMNS = 120  # how V̂ of a's component answers p, for each of its bodies 6 numbers for each direction; then of b's
COLUMN = 18

# vectors of 6 numbers for each body behind AT_FREE
V_ANSWER = 1
V_ENDS = 2  # velocities at the end of the step
VECTORS = 3
SPARE = 18  # numbers behind them: two 3 × 3 matrices

# of a contact of the last step
PAST_SIZE = 9  # two geoms, place, impulse in world axes, whether there was one

# counts and joules of a step
N_TOUCHES = 0
N_PAST = 1
N_SWEEPS = 2
N_GUARDED = 3
N_REPAIR = 4  # joules the tank paid
N_DEPTH = 5
N_SLIP = 6
N_FORCE = 7
N_IMPACT = 8  # joules
N_FRICTION = 9
N_LIVE = 10  # contacts with an impulse
N_DEBIT = 11  # joules of leaks of joints that were settled
N_FOUND = 12  # where the last contact stood that was known again
N_SETTLED = 13  # whether the sweeps came to rest
N_SIZE = 14
