"""Headless Chromium, driven over its debugging pipe: what a page does, says and looks like."""

import base64
import io
import json
import os
import shutil
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

FLAGS = (
    "--headless=new --no-sandbox --use-gl=angle --use-angle=swiftshader "
    "--enable-unsafe-swiftshader --disable-dev-shm-usage --hide-scrollbars --mute-audio "
    "--remote-debugging-pipe"
).split()
PATIENCE = 90.0  # s


class Browser:
    """One tab. ``errors``: what the page wrote to its console as an error, and what it threw."""

    def __init__(self, folder, width=960, height=540):
        program = shutil.which("chromium")
        if program is None:
            pytest.skip("no chromium")
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()

        def place():  # the pipe's ends are expected as 3 and 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        size = f"--window-size={width},{height}"
        self._process = subprocess.Popen(
            [program, *FLAGS, size, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=place,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer, self._count, self._session = b"", 0, None
        self.errors, self.asked = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def call(self, method, **params):
        """Send a command and wait for its answer; what happens meanwhile is noted."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._buffer:
                piece = os.read(self._in, 1 << 20)
                assert piece, "the browser has ended"
                self._buffer += piece
            raw, _, self._buffer = self._buffer.partition(b"\0")
            heard = json.loads(raw)
            if heard.get("id") == self._count:
                assert "error" not in heard, heard["error"]
                return heard["result"]
            self._note(heard.get("method", ""), heard.get("params", {}))

    def _note(self, method, params):
        if method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])

    def run(self, script):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def open(self, path, until="document.readyState == 'complete'"):
        """Open a file and wait until an expression is true."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait(until)

    def wait(self, until):
        """Wait until an expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.run(f"Boolean({until})"):
            assert time.monotonic() < end, f"never: {until}"
            time.sleep(0.1)

    def picture(self):
        """What the page looks like, (h, w, 3)."""
        data = self.call("Page.captureScreenshot", format="png")["data"]
        return np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))

    def close(self):
        os.close(self._out)
        os.close(self._in)
        self._process.terminate()
        self._process.wait(20)
