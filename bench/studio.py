"""Measures `bentpipe studio`: times to the page and to the first progress, bytes on the wire, memory of the server.

    python -m bench.studio [SCENARIO]

Needs Playwright and Chromium (/usr/bin/chromium).
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.request import urlopen

import psutil
from playwright.sync_api import sync_playwright

from validation import kept

TABS = 10
REPEATS = 3


def started(folder, scenario):
    """The server, its address, and the seconds until the address was printed."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "bentpipe", "studio", scenario, "--no-browser"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    url = re.search(r"http://\S+", process.stdout.readline())[0]
    return process, url, time.perf_counter() - began


def opened(context, url):
    """A page, and the seconds until its editor and its scenario are there."""
    page = context.new_page()
    began = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(".cm-content")
    page.wait_for_selector(".page-valid")
    return page, time.perf_counter() - began


def wire(context, url):
    """Bytes and requests of a page that no cache has."""
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Network.enable")
    sizes = []
    devtools.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    page.goto(url)
    page.wait_for_selector(".page-valid")
    page.wait_for_load_state("networkidle")
    return sum(sizes), len(sizes)


def ran(page, url):
    """Seconds from Run to the first progress in the server, and to the plots in the page."""
    before = page.evaluate("studio.time.run")
    began = time.perf_counter()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_function(f"studio.time.run !== {before!r}".replace("'", '"'))
    shown = time.perf_counter() - began
    with urlopen(f"{url}api/jobs") as answer:
        return json.load(answer)[0]["first_progress_s"], shown


MOVES = """async () => {
    const frame = window.requestAnimationFrame;
    const [spent, next] = [[], () => new Promise((then) => frame(() => frame(then)))];
    let sum = 0;
    window.requestAnimationFrame = (work) => frame((now) => {
        const began = performance.now();
        work(now);
        sum += performance.now() - began;
    });
    for (let move = 0; move < 240; move++) {
        sum = 0;
        studio.time.set({ t: 3.01 + 0.2 * move });
        await next();
        if (move >= 40) spent.push(sum);
    }
    window.requestAnimationFrame = frame;
    return spent.sort((a, b) => a - b);
}"""
"""Moves the handle, and sums the time of scripts for each move."""


def moved(folder, context, scenario="london-singapore"):
    """Milliseconds of script from a move of the handle to the picture, over a sky of 1,584 satellites."""
    process, url, _ = started(folder, scenario)
    page, _ = opened(context, url)
    ran(page, url)
    page.wait_for_function("studio.ready && studio.globe.state().satellites > 1000")
    spent = page.evaluate(MOVES)
    page.close()
    process.kill()
    return spent


def main():
    """Print one line for each figure."""
    scenario = sys.argv[1] if len(sys.argv) > 1 else "geo"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        starts = []
        for _ in range(REPEATS):
            process, url, seconds = started(folder, scenario)
            starts.append(seconds)
            if len(starts) < REPEATS:
                process.kill()
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        size, requests = wire(browser.new_context(), url)
        context = browser.new_context()
        page, cold = opened(context, url)
        warm = [opened(context, url)[1] for _ in range(REPEATS)]
        server = psutil.Process(process.pid)
        few = server.memory_info().rss
        runs = [ran(page, url) for _ in range(REPEATS)]
        ran_memory = server.memory_info()
        before, private = ran_memory.rss, ran_memory.rss - ran_memory.shared
        for _ in range(TABS):
            opened(context, url)
        after = server.memory_info().rss
        print(f"load of the machine            {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        print(f"command to address             {statistics.median(starts):.2f} s")
        print(f"page to editor, cold           {cold:.2f} s")
        print(f"page to editor, warm           {statistics.median(warm):.2f} s")
        print(f"bytes of a cold page           {size / 1e6:.2f} MB in {requests} requests")
        print(f"Run to first progress          {statistics.median(run[0] for run in runs if run[0]):.2f} s")
        print(f"Run to the run on the page     {statistics.median(run[1] for run in runs):.2f} s")
        print(f"memory of the server           {few / 1e6:.0f} MB, after runs {before / 1e6:.0f} MB")
        print(f"without files of libraries     {private / 1e6:.0f} MB after runs")
        print(f"memory of a further tab        {(after - before) / TABS / 1e6:.1f} MB")
        spent = moved(folder, browser.new_context())
        print(f"handle moved to drawn          {spent[100]:.1f} ms of script, 95 % {spent[190]:.1f} ms")
        browser.close()
        process.kill()


if __name__ == "__main__":
    kept.begin(__doc__, "SCENARIO")
    main()
