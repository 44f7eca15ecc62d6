"""Mechanisms that the tests share."""

from __future__ import annotations

import numpy as np

import passivo as pv
from passivo.world.rotation import matrix_of
from world.scenes import point_of, random_inertia, random_turn


def random_tree(
    seed, links=5, kinds=("hinge", "slide", "ball"), free=False, gravity=(0, 0, 0), world=None, name="", **more
):
    """Links that hang on each other in a random tree, some by two joints; the first on the world, or free."""
    rng = np.random.default_rng(seed)
    world = world or pv.World(gravity=gravity)
    made = []
    for i in range(links):
        parent = made[int(rng.integers(len(made)))] if made else None
        place = rng.standard_normal(3) if parent is None else np.array(parent.position) + 0.4 * rng.standard_normal(3)
        kind = str(rng.choice(kinds))
        joints = [random_joint(rng, kind, f"{name}j{i}", place + 0.2 * rng.standard_normal(3), **more)]
        if i == 0 and free:
            joints = [pv.Free(f"{name}j0")]
        elif rng.random() < 0.3:
            another = random_joint(rng, "hinge", f"{name}k{i}", place + 0.2 * rng.standard_normal(3), **more)
            joints.insert(0 if kind == "ball" else 1, another)
        mass = float(10.0 ** rng.uniform(-0.5, 0.5))
        body = world.add_link(
            f"{name}l{i}",
            parent,
            joints,
            mass=mass,
            inertia=random_inertia(rng, mass),
            position=place,
            orientation=random_turn(rng),
        )
        made.append(body)
    return world


def random_joint(rng, kind, name, at, **more):
    match kind:
        case "hinge":
            return pv.Hinge(name, axis=rng.standard_normal(3), at=at, **more)
        case "slide":
            return pv.Slider(name, axis=rng.standard_normal(3), **more)
    return pv.Ball(name, at=at, **{key: value for key, value in more.items() if key in ("damping", "inertia")})


def random_start(world, seed, pace=2.0):
    """Coordinates and rates of all joints, as a start."""
    rng = np.random.default_rng(seed + 100)
    start = {}
    for name, joint in world.joints.items():
        for what in joint.coordinates:
            start[f"{name}.{what}"] = random_turn(rng) if what == "turn" else 0.5 * rng.standard_normal()
        for what in joint.rates:
            size = 0.3 if what == "speed" else 1.0
            start[f"{name}.{what}"] = pace * size * rng.standard_normal(joint.width if joint.width > 1 else None)
        if isinstance(joint, pv.Free):
            link = next(link.name for link in world.links.values() if link.joints[0] is joint)
            start[f"{link}.velocity"] = pace * rng.standard_normal(3)
            start[f"{link}.angular_velocity"] = pace * rng.standard_normal(3)
    return start


def busy_tree(seed, free=False):
    """A random tree under gravity with springs and dampers in its joints, ties to the world, a free body, an anchor and
    between two of its links, and ports."""
    rng = np.random.default_rng(seed)
    gravity = 3 * rng.standard_normal(3)
    world = random_tree(seed, free=free, gravity=gravity, damping=0.05, inertia=0.02)
    for name in world.joints:
        if f"{name}.stiffness" in world.params:
            world.params |= {f"{name}.stiffness": float(rng.uniform(0, 5)), f"{name}.reference": float(rng.normal())}
    links = list(world.links.values())
    mass = 0.7
    loose = world.add_body("loose", mass=mass, inertia=random_inertia(rng, mass), velocity=rng.standard_normal(3))
    hand = world.add_anchor("hand", position=rng.standard_normal(3), turns=True)
    world.add_spring("line", point_of(rng, links[1]), point_of(rng, loose), 40.0, 0.3, length=0.4)
    world.add_spring("rope", point_of(rng, links[2]), world.point(0, 0, 1), 20.0, 0.1, length=0.7)
    world.add_spring("band", point_of(rng, links[3]), point_of(rng, links[4]), 30.0, 0.1)
    world.add_pose_spring("hold", point_of(rng, links[0]), point_of(rng, hand), 30.0, 2.0, 0.1, 0.01)
    world.add_turn_spring("twist", links[4], loose, (3.0, 4.0, 5.0), 0.02, rest=random_turn(rng))
    world.add_ball("loop", links[2], loose, at=rng.standard_normal(3), stiffness=1e4, damping=0.2)
    world.add_port("tip", links[4], at=0.2 * rng.standard_normal(3))
    world.add_port("grip", links[3], at=0.2 * rng.standard_normal(3), wrench=True)
    world.params |= {"l1.drag": 0.2, "l2.spin_drag": 0.03}
    return world


def momentum(world, part):
    """Linear and angular momentum of all bodies about the origin of the world."""
    state = dict(zip(world.states, part.state))
    linear, angular = np.zeros(3), np.zeros(3)
    for name in world.bodies:
        read = lambda what: np.array([state[part] for part in world.vectors[f"{name}.{what}"]])  # noqa: E731, B023
        mass, *moments = (world.params[f"{name}.{w}"] for w in ("mass", "inertia_xx", "inertia_yy", "inertia_zz",
                                                                "inertia_xy", "inertia_xz", "inertia_yz"))  # fmt: skip
        xx, yy, zz, xy, xz, yz = moments
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        linear += mass * read("velocity")
        angular += np.cross(read("position"), mass * read("velocity"))
        angular += matrix_of(read("orientation")) @ inertia @ read("angular_velocity")
    return linear, angular


class Oracle:
    """The mechanisms of a world as a MuJoCo model: masses and bias of its unknowns, which are the same as ours."""

    def __init__(self, world, params=None):
        import mujoco

        self.mujoco, self.world, params = mujoco, world, params or world.params
        spec = mujoco.MjSpec()
        made = {}
        for name, link in world.links.items():
            frame = np.eye(3), np.zeros(3)
            base = spec.worldbody
            if link.parent is not None:
                parent = world.bodies[link.parent]
                base, frame = made[link.parent], (matrix_of(parent.orientation), np.array(parent.position))
            own = matrix_of(link.orientation)
            turn = frame[0].T @ own
            quaternion = np.zeros(4)
            mujoco.mju_mat2Quat(quaternion, turn.ravel())
            body = base.add_body(name=name, pos=frame[0].T @ (np.array(link.position) - frame[1]), quat=quaternion)
            body.mass, body.explicitinertial, body.ipos = params[f"{name}.mass"], True, [0, 0, 0]
            body.fullinertia = [params[f"{name}.inertia_{axes}"] for axes in ("xx", "yy", "zz", "xy", "xz", "yz")]
            for joint in link.joints:
                kinds = mujoco.mjtJoint
                kind = {pv.Hinge: kinds.mjJNT_HINGE, pv.Slider: kinds.mjJNT_SLIDE, pv.Ball: kinds.mjJNT_BALL,
                        pv.Free: kinds.mjJNT_FREE}[type(joint)]  # fmt: skip
                place = link.position if getattr(joint, "at", None) is None else joint.at
                options = {"pos": own.T @ (np.array(place) - link.position)} if not isinstance(joint, pv.Free) else {}
                if hasattr(joint, "axis"):
                    options["axis"] = own.T @ np.array(joint.axis)
                inertia = params.get(f"{joint.name}.inertia", 0.0)
                body.add_joint(name=joint.name, type=kind, armature=inertia, **options)
            made[name] = body
        spec.compiler.boundmass = 0
        spec.option.gravity = [0, 0, 0]
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)

    @property
    def unknowns(self):
        """MuJoCo's number of each of ours, mechanism after mechanism."""
        found = []
        for limbs in self.world.mechanisms:
            for limb in limbs:
                first = self.model.joint(limb.joint.name).dofadr[0]
                found += range(first, first + limb.joint.width)
        return found

    def put(self, part):
        """Coordinates and rates of a part; gives the rates in our order."""
        states = dict(zip(part.model.states, part.state))
        read = lambda name: np.array([states[each] for each in part.model.vectors.get(name, (name,))])  # noqa: E731
        for limb in (limb for limbs in self.world.mechanisms for limb in limbs):
            joint = self.data.joint(limb.joint.name)
            if isinstance(limb.joint, pv.Free):
                joint.qpos = [*read(f"{limb.body}.position"), *read(f"{limb.body}.orientation")]
                joint.qvel = [*read(f"{limb.body}.velocity"), *read(f"{limb.body}.angular_velocity")]
            else:
                joint.qpos = read(f"{limb.joint.name}.{next(iter(limb.joint.coordinates))}")
                joint.qvel = read(f"{limb.joint.name}.{next(iter(limb.joint.rates))}")
        return self.data.qvel[self.unknowns].copy()

    def masses(self, ahead=0.0):
        """M, `ahead` seconds on at the present rates."""
        kept = self.data.qpos.copy()
        if ahead:
            self.mujoco.mj_integratePos(self.model, self.data.qpos, self.data.qvel, ahead)
        self.mujoco.mj_fwdPosition(self.model, self.data)
        full = np.zeros((self.model.nv, self.model.nv))
        try:
            self.mujoco.mj_fullM(self.model, self.data, full)
        except TypeError:
            self.mujoco.mj_fullM(self.model, full, self.data.qM)
        self.data.qpos[:] = kept
        return full[np.ix_(self.unknowns, self.unknowns)]

    def bias(self):
        self.mujoco.mj_forward(self.model, self.data)
        return self.data.qfrc_bias[self.unknowns].copy()
