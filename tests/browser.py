"""Headless Chromium, driven over its debugging pipe: what a page does, says and looks like."""

import base64
import io
import json
import os
import select
import shutil
import subprocess
import time

import numpy as np
import pytest
from PIL import Image

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--remote-debugging-pipe",
)
PATIENCE = 90.0  # s


class Browser:
    """One tab. ``errors``: what the page wrote to its console as an error, and what it threw."""

    def __init__(self, folder, width=960, height=540):
        program = shutil.which("chromium")
        if program is None:
            pytest.skip("no chromium")
        # The pipe's ends are expected as 3 and 4. A shell puts them there: a function between fork
        # and exec could wait for ever on a lock that a thread of this process holds.
        shell = 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1'
        size = f"--window-size={width},{height}"
        self._process = subprocess.Popen(
            ["sh", "-c", shell, "sh", program, *FLAGS, size, f"--user-data-dir={folder}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self._out, self._in = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._buffer, self._count, self._session = b"", 0, None
        self.errors, self.asked = [], []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.bringToFront")  # a tab behind another draws nothing
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
                ready, _, _ = select.select([self._in], [], [], PATIENCE)
                assert ready, f"no answer to {method}"
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
        self._process.kill()
        self._process.communicate()
