"""How a linear system of sparse matrices lies in its table of whole numbers `t` and in the memory `m`. Names of places.

Symmetric matrices lie diagonal by diagonal, from the main one up. Rows of D, of its transpose and of ports are lists of
equal length: entry j of row k at `j rows + k`, the values in the memory, the columns in the table.
"""

# the table begins with these: sizes, the scheme, places in the memory (AT_...) and in the table (..._TABLE)
COORDINATES = 0
STRAINS = 1  # rows of D and E; as many as coordinates where there is no D
BAND = 2  # diagonals above the main one, of the matrix that is factorised
MASS_BAND = 3
ELASTIC_BAND = 4
STIFF_BAND = 5
DAMPING_BAND = 6  # −1 without a matrix B
STRETCHED = 7  # the longest row of D, 0 without D
PULLED = 8  # ... and of its transpose
INPUTS = 9
TAPPED = 10  # the longest column of a port
SIGHTS = 11  # coordinates, or mixtures of them, that are recorded
SEEN = 12
SCHEME = 13
AT_STATE = 14
AT_NEXT = 15
AT_STEP = 16
AT_PARAM = 17
AT_INPUT = 18
AT_USED = 19
AT_OUTPUT = 20
AT_MEAN = 21
AT_WORK = 22
AT_LOST = 23
AT_RECEIVED = 24
AT_CHANGE = 25
AT_DIFFERENCE = 26
AT_SCALE = 27
AT_ENERGY = 28
AT_HEIGHT = 29
AT_RECORDED = 30
AT_NOISE = 31
AT_MASS = 32
AT_ELASTIC = 33
AT_STIFF = 34  # D'ED, for the factors alone
AT_DAMPING = 35
AT_STRETCH = 36  # D, then what of its entries rounds
AT_ROUNDS = 37
AT_PULL = 38  # D'
AT_TAPS = 39
AT_SIGHTS = 40
AT_FACTORS = 41
AT_MADE = 42  # the step and the parameters that the factors were made for
AT_SOLVED = 43  # as many vectors as are named below, of ROOM numbers each
STRETCH_TABLE = 44
PULL_TABLE = 45
TAP_TABLE = 46
SIGHT_TABLE = 47
ROOM = 48
HEADER = 49

# vectors, ROOM numbers each; past their end they hold zeros
HAT = 0  # the velocity of the step
REST = 1  # what is left of its equation
RIGHT = 2
FORCE = 3  # of the ports
MOMENTUM = 4  # M v
MASS_HAT = 5
DRAG_HAT = 6
STRAIN = 7  # D x
STRAIN_ROUGH = 8  # sizes of the sums it was made by
RATE = 9  # D v̂
SIGMA = 10  # E D x
TAU = 11  # E D v̂
PULLS = 12  # D'E D x
BRAKES = 13  # D'E D v̂
STRAINED = 14  # D Δx
STRAINED_ROUGH = 15
SPARE = 16
SPARE_TOO = 17
VECTORS = 18

# parameters: factors of M, K and B; what of M and K damps
MASS = 0
STIFFNESS = 1
DAMPING = 2
MASS_DAMPING = 3
STIFFNESS_DAMPING = 4

# rows of the ledger
KINETIC = 0
ELASTIC = 1

# schemes, as `world/table.py` numbers them
MIDPOINT = 0
SYMPLECTIC = 1
IMPLICIT = 2
