"""How cords lie in the table and in the memory of a world (`table.py`); names of places only."""

# of a cord in the table; parameters, states and inputs by number, −1 for none
D_BOTH = 0  # whether it pushes too
D_STIFFNESS = 1
D_DAMPING = 2
D_REST = 3
D_SIGN = 4  # of the rest in the stretch
D_ROW = 5
D_ASSEMBLY = 6  # the entry of its mechanism
D_COUNT = 7  # joints
D_TERMS = 8  # these, in the table
D_FIGURES = 9  # its arms, or those of its nodes
D_NODES = 10  # in the table, where arms depend on joints
D_NODE_COUNT = 11
D_DRIVE = 12  # the state of its drive: place, then rate
D_DRIVE_PARAM = 13  # mass, stiffness, damping
D_COMMAND = 14
D_COMMAND_INPUT = 15
D_GAIN = 16
D_FORCE = 17  # the input that is its tension
D_STOP = 18
D_TOLD = 19  # within what is recorded
D_MEMORY = 20
D_SIZE = 21

# of a joint of a cord: its coordinate and its rate within the state, its unknown
D_TERM = 3

# of a cord in the memory
D_E = 0  # stretch at the start
D_LAG = 1  # and that of the spring of its drive
D_RATE = 2  # of its drive, or of what the command pulls
D_SPEED = 3  # of the stretch
D_ELASTIC = 4  # mean tension of the spring, of the damper
D_BRAKE = 5
D_SLOPE = 6
D_BASE = 7  # what the joints see: tension = base + firm · Σ a û
D_FIRM = 8
D_FREE = 9  # the rate of the drive = free − follows · Σ a û
D_FOLLOWS = 10
D_NEW = 11  # stretch at the end
D_OWN = 12  # for each joint: arms; how far they move; where they are; then nodes
