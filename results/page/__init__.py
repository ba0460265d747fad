"""``report.html``: one self-contained page about a run, made from what the run left.

- ``timeline``: actions, recoveries and learned constraints in the order in which they happened
- ``curves``: joints against their limits, tracking and forces, thinned to what a screen shows
- ``certificate``: why a refusal is certain, in words (``certificate.txt.jinja``) and drawn to
  scale (``drawings``)
- ``page``: puts them together (``page.html.jinja``, ``page.css``, ``page.js``)
"""
