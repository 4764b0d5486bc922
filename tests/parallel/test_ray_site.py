"""What the threads of Ray's client fall over is told by us; what ours do is told as ever."""

import threading

import pytest

from polyclinic.parallel.ray_site import without_client


@pytest.mark.parametrize(("of", "told"), [("ray.util.client.dataclient", 0), ("grpc._channel", 0), ("raymond", 1)])
def test_only_errors_of_the_clients_threads_are_left_to_us(of, told, monkeypatch):
    heard = []
    monkeypatch.setattr(threading, "excepthook", without_client(heard.append))
    made = {"__name__": of}
    exec("def fall():\n    raise ConnectionError('the head is gone')", made)
    thread = threading.Thread(target=made["fall"])
    thread.start()
    thread.join()
    assert len(heard) == told
