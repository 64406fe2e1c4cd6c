"""The live page answers at once: the times of a model of the default size, in Chromium."""

import pytest
from browser import chromium, visit  # noqa: F401
from html_pages import untrained_run

from aiayn_np.cli.main import main


@pytest.mark.timing
def test_typing_never_waits_and_numbers_come_quickly(visit, tmp_path):  # noqa: F811
    """As multiples of a plain loop of ten million steps, about 10 ms on a laptop."""
    run = untrained_run(tmp_path / "run")
    assert main(["explore", str(run.folder), "1 2 3"]) == 0
    page = visit(run.folder / "explore.html")
    page.locator("#app[aria-busy='false']").wait_for()
    yard, forward, decoding = page.evaluate("""() => {
      const ids = [3, 4, 5, 6, 7, 8, 9, 10, 11, 2], times = [[], [], []];
      const loop = () => { let z = 0; for (let k = 0; k < 1e7; k++) z += k * 1.5; return z; };
      const ten = () => [...greedy_decode(trained, ids, { bos, eos: -1, max_len: 10 })];
      for (let i = 0; i < 50; i++) {
        [loop, () => trained.forward(ids, ids), ten].forEach((act, n) => {
          const start = performance.now();
          act();
          times[n].push(performance.now() - start);
        });
      }
      return times.map((list) => list.sort((a, b) => a - b)[25]);
    }""")
    print(f"loop {yard:.1f} ms, forward {forward:.1f} ms, ten tokens {decoding:.1f} ms")
    assert forward <= 3 * yard
    assert decoding <= 10 * yard
