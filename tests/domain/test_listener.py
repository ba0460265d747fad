"""Who hears of what: a method that does nothing need not be called."""

from galley.domain.listener import Listener, is_heard
from galley.results.report import ReportRecorder


class Follower(Listener):
    def moved(self, q, scene_q, items):
        pass


def test_only_a_method_of_its_own_is_heard_also_through_a_recorder():
    for listener, heard in ((Listener(), False), (Follower(), True)):
        assert is_heard(listener.moved) is heard
        assert is_heard(ReportRecorder(None, listener=listener).moved) is heard
        assert not is_heard(listener.stage)
    listener = Listener()
    listener.moved = lambda *row: None
    assert is_heard(listener.moved)
