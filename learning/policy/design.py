"""Parameters of a policy (``Design``) and of its training (``Training``)."""

from __future__ import annotations

from dataclasses import dataclass

from galley.domain.options import more, option

OBSERVATIONS = ("state", "keypoints")
FRAMES = ("body", "world")
METHODS = ("diffusion", "cloning")


@dataclass(frozen=True)
class Design:
    """Observations, horizons and network size of a policy.

    Attributes:
        method: ``diffusion``, or ``cloning``, in which the same network predicts the actions in one
            step.
        observation: kind of the environment's observation, ``state`` or ``keypoints``.
        frame: ``body`` for the body's frame at the last observation, or ``world``; see ``views``.
        observation_horizon: number of last observations that are inputs.
        prediction_horizon: number of predicted actions; the first is that of the first observation.
        action_horizon: number of predicted actions that are executed, from that of the last
            observation on, before the next prediction. Fewer react faster, but cost more time.
        channels: of the U-Net at full length; twice as many at a half and a quarter of it. More are
            slower.
        width: of the layers that read the observations.
        noise_steps: of the diffusion.
        sampling_steps: of DDIM; more are slower.

    Raises:
        ValueError: a value out of its bounds; the message names it.
    """

    method: str = option(
        "diffusion", "Learn by diffusion, or by cloning: the same network without.", choices=METHODS
    )
    observation: str = option("state", "Set what the policy sees.", choices=OBSERVATIONS)
    frame: str = more("body", "Set the frame of what it sees and predicts.", choices=FRAMES)
    observation_horizon: int = more(2, "Let it see this many observations.", "N")
    prediction_horizon: int = more(16, "Let it predict this many actions.", "N")
    action_horizon: int = more(2, "Let it do this many of them before it observes again.", "N")
    channels: int = more(32, "Give the U-Net this many channels.", "N")
    width: int = 256
    noise_steps: int = 100
    sampling_steps: int = more(5, "Sample by this many steps of DDIM.", "N")

    def __post_init__(self) -> None:
        for name, known in (("method", METHODS), ("observation", OBSERVATIONS), ("frame", FRAMES)):
            if (value := getattr(self, name)) not in known:
                raise ValueError(f"{name} = {value!r}: must be one of {', '.join(known)}")
        ahead = self.prediction_horizon - self.observation_horizon + 1
        for name, low, high in (
            ("observation_horizon", 1, 16),
            ("prediction_horizon", 8, 64),
            ("action_horizon", 1, ahead),
            ("channels", 8, 512),
            ("width", 8, 2048),
            ("noise_steps", 2, 1000),
            ("sampling_steps", 1, self.noise_steps),
        ):
            value = getattr(self, name)
            if not isinstance(value, int) or not low <= value <= high:
                raise ValueError(f"{name} = {value}: must be a whole number from {low} to {high}")
        if self.prediction_horizon % 8:
            raise ValueError(f"prediction_horizon = {self.prediction_horizon}: must divide by 8")
        if self.channels % 8:
            raise ValueError(f"channels = {self.channels}: must divide by 8")


@dataclass(frozen=True)
class Training:
    """How to train.

    Attributes:
        steps: of the optimiser. batch: windows of a step.
        learning_rate: the highest.
        decay: of the weights, as AdamW's. average: the most that the moving average of the
            weights keeps of itself in a step.
        symmetric: whether the symmetries of the body make more episodes.
        validation: share of the episodes that are held out. seed: of all that is random.

    Raises:
        ValueError: a value out of its bounds; the message names it.
    """

    steps: int = option(12_000, "Train for this many steps.", "N")
    batch: int = more(256, "Take this many windows in a step.", "N")
    learning_rate: float = more(1e-3, "Set the highest learning rate.", "X")
    decay: float = 1e-4
    average: float = 0.9995
    symmetric: bool = more(True, "Learn from the episodes that the body's symmetries make too.")
    validation: float = 0.05
    seed: int = option(0, "Set the random seed.", "N")

    def __post_init__(self) -> None:
        for name, low, high in (
            ("steps", 2, 10**8),
            ("batch", 1, 2**16),
            ("learning_rate", 1e-8, 1.0),
            ("decay", 0.0, 1.0),
            ("average", 0.0, 1.0 - 1e-7),
            ("validation", 0.0, 0.9),
            ("seed", 0, 2**63 - 1),
        ):
            if not low <= (value := getattr(self, name)) <= high:
                raise ValueError(f"{name} = {value}: must be from {low} to {high}")
