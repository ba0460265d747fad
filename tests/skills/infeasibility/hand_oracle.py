"""Oracle for the hand alone: its meshes as convex bodies in Bullet, held against boxes."""

from __future__ import annotations

import numpy as np
import pybullet as pb
from scipy.spatial.transform import Rotation

from galley.collision.solids import of_shape
from galley.domain.frames import inverse, transform
from galley.robots.urdf_reader import link_shapes, read_tree

_FAR = 0.05  # m, looked for within this


class BulletHand:
    """The hand with the arm's last link, to be put anywhere, and what stands in a scene.

    Shares neither the polyhedra nor the separating axes with ``skills.manipulation.hand``.
    """

    def __init__(self, robot, scene, state):
        self.client = pb.connect(pb.DIRECT)
        self.robot = robot
        self.tree = read_tree(robot.urdf, robot.joints)
        self.links = []
        for shape in link_shapes(robot.urdf):
            if shape.link in (robot.palm, *robot.fingers, "panda_link7"):  # rigid with the palm
                self.links.append((shape, self._mesh(shape.hull.vertices)))
        self.things = []
        poses = [(b.name, b.shapes, scene.body_pose(b.name, state.scene_q)) for b in scene.bodies]
        placed = zip(scene.items, state.items, strict=True)
        poses += [(i.name, i.shapes, at.X_PI) for i, at in placed]
        for name, shapes, X in poses:
            for shape in shapes:
                solid = of_shape(shape)
                if shape.kind == "box":
                    made = pb.createCollisionShape(
                        pb.GEOM_BOX, halfExtents=solid.size, physicsClientId=self.client
                    )
                elif shape.kind == "sphere":
                    made = pb.createCollisionShape(
                        pb.GEOM_SPHERE, radius=solid.size[0], physicsClientId=self.client
                    )
                else:
                    made = pb.createCollisionShape(
                        pb.GEOM_CYLINDER,
                        radius=solid.size[0],
                        height=2 * solid.size[1],
                        physicsClientId=self.client,
                    )
                body = pb.createMultiBody(0, made, physicsClientId=self.client)
                self._put(body, X @ shape.X_BS)
                self.things.append((name, body))

    def _mesh(self, vertices):
        made = pb.createCollisionShape(
            pb.GEOM_MESH, vertices=vertices.tolist(), physicsClientId=self.client
        )
        body = pb.createMultiBody(0, made, physicsClientId=self.client)
        # The margin that Bullet puts around meshes would make the hand larger.
        pb.changeDynamics(body, -1, collisionMargin=0.0, physicsClientId=self.client)
        return body

    def _put(self, body, X):
        turned = Rotation.from_matrix(X[:3, :3]).as_quat()
        pb.resetBasePositionAndOrientation(body, X[:3, 3], turned, physicsClientId=self.client)

    def distances(self, X_WT, opening, touched, but=()):
        """(distance, link, thing) of pairs within 5 cm; fingers against ``touched`` left out."""
        q = np.zeros(self.robot.size)
        q[self.robot.slice("fingers")] = opening
        X_WW = X_WT @ inverse(
            self.tree.link_pose(self.robot.palm, q) @ transform(None, self.robot.p_HT)
        )
        found = []
        for shape, body in self.links:
            self._put(body, X_WW @ self.tree.link_pose(shape.link, q) @ shape.X_LS)
            for name, thing in self.things:
                if name in but or (name == touched and shape.link in self.robot.fingers):
                    continue
                near = pb.getClosestPoints(body, thing, _FAR, physicsClientId=self.client)
                found += [(point[8], shape.link, name) for point in near]
        return sorted(found)

    def close(self):
        pb.disconnect(self.client)
