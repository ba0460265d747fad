"""``report.html``: one self-contained page about a run, made from the files in its folder.

- ``timeline``: actions, recoveries and learned constraints in the order in which they happened
- ``curves``: joints against their limits, tracking and forces, thinned to what a screen shows
- ``certificate``: the proof of a refusal in words (``certificate.txt.jinja``)
- ``page``: puts them together (``page.html.jinja``, ``page.css``, ``page.js``)
"""
