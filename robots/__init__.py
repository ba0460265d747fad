"""Kinematics: what a robot is, where its links are, which joints reach a pose."""
