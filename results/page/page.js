"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (selector) => document.querySelector(selector);
  const make = (name, text, look) => {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (look) node.className = look;
    return node;
  };

  // Plotly and the replay are stored compressed, and unpacked when they are needed.
  const unpack = async (id) => {
    const letters = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(letters), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  };

  // -- the replay -------------------------------------------------------------------------------
  let frame = null;
  let waiting = null; // called with the replay once it is loaded
  const stage = find(".screen");
  const showReplay = async (what) => {
    if (!document.getElementById("replay")) return;
    waiting = what;
    if (frame) return tell();
    frame = make("iframe");
    frame.title = "The run in 3D";
    const button = find("#start");
    button.textContent = "Loading ...";
    button.disabled = true;
    frame.srcdoc = await unpack("replay");
    stage.append(frame);
  };
  // A direct call: Meshcat's window would echo a message to itself without end.
  const tell = () => frame.contentWindow?.galley && waiting(frame.contentWindow.galley);
  window.addEventListener("message", (event) => {
    const message = event.data;
    if (!frame || event.source !== frame.contentWindow || !message) return;
    if (message.galley === "ready") {
      find("#start")?.remove();
      find("#still").classList.add("print-only");
      tell();
    }
    if (message.galley === "time") now(message.time);
  });

  // -- the time line ----------------------------------------------------------------------------
  const actions = [...document.querySelectorAll(".action")];
  const intervals = actions.map((action) => {
    const numbers = [...action.querySelectorAll("[data-motion]")].map((b) => Number(b.dataset.motion));
    const of = numbers.map((k) => data.steps[k]);
    return of.length ? [Math.min(...of.map((s) => s.start)), Math.max(...of.map((s) => s.end))] : [1, 0];
  });
  const now = (time) => {
    document.body.style.setProperty("--at", `calc(${(100 * time) / data.duration}% - 1px)`);
    actions.forEach((action, k) =>
      action.classList.toggle("current", intervals[k][0] <= time && time < intervals[k][1]));
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-seek]");
    if (event.target.id === "start") showReplay((replay) => replay.play());
    if (!button) return;
    const time = Number(button.dataset.seek);
    now(time);
    choose(button.dataset.motion);
    showReplay((replay) => replay.seek(time));
  });

  // -- the curves -------------------------------------------------------------------------------
  const select = find("#chosen");
  if (!select) return;
  const dashes = ["solid", "dash", "dot", "dashdot", "longdash", "solid", "dash", "dot", "dashdot", "longdash"];
  const strokes = { solid: "", dash: "9 6", dot: "2 4", dashdot: "8 4 2 4", longdash: "15 5" };
  const color = (k) => getComputedStyle(document.documentElement).getPropertyValue(`--c${(k % 7) + 1}`).trim();
  const short = (value) => {
    if (Math.abs(value) < 5e-4) return "0";
    return Math.abs(value) < 1e5 ? Number(value.toPrecision(3)).toString() : value.toExponential(2);
  };
  let loaded = null;
  const plotly = () => {
    loaded ??= unpack("plotly").then((code) => {
      const script = make("script", code);
      document.head.append(script);
    });
    return loaded;
  };
  const choose = (value) => {
    if (value === undefined || ![...select.options].some((o) => o.value === value)) return;
    select.value = value;
    draw();
  };

  const layout = (title, range) => ({
    margin: { l: 52, r: 12, t: 6, b: 36 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hovermode: "closest",
    dragmode: false,
    font: { family: "system-ui, sans-serif", size: 12 },
    xaxis: { title: { text: "time in the run (s)", standoff: 6 }, fixedrange: true, zeroline: false },
    yaxis: { title: { text: title, standoff: 4 }, fixedrange: true, range },
  });
  const line = (k, t, y, name, texts) => ({
    x: t, y, name, mode: "lines", line: { color: color(k), dash: dashes[k], width: 1.8 },
    text: texts, hovertemplate: texts ? `%{text}<extra></extra>` : `${name.replace(/[<&%]/g, " ")}: %{y:.3g}<extra></extra>`,
  });
  const limit = (y) => ({
    type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { width: 1.5, dash: "dash" },
  });

  const jointChart = (step, order, title, unit) => {
    const c = step.curves;
    const t = c.t.map((s) => s + step.start);
    const traces = c[order].map((values, j) => {
      const [low, high] = c.limits[order][j];
      const shares = order === "position"
        ? values.map((v) => (100 * (v - low)) / (high - low)) : values.map((v) => (100 * v) / high);
      const texts = values.map((v, i) => `${c.joints[j]}: ${short(v)} ${c.units[j]}${unit} (${short(shares[i])} %)`);
      return line(j, t, shares, c.joints[j], texts);
    });
    const most = Math.max(...traces.flatMap((trace) => trace.y.map(Math.abs)));
    const edge = Math.max(most, 100) * 1.08;
    const range = order === "position" ? [Math.min(-6, 100 - edge), edge] : [-edge, edge];
    const name = order === "position" ? "% of the range" : "% of the limit";
    const shape = layout(name, range);
    shape.shapes = [limit(order === "position" ? 0 : -100), limit(100)];
    return [title, traces, shape];
  };
  const logChart = (table, title, unit) => {
    const names = Object.keys(table.curves);
    const traces = names.map((name, k) => line(k, table.t, table.curves[name], name));
    return [title, traces, { ...layout(unit), yaxis: { ...layout(unit).yaxis, rangemode: "tozero" } }, names];
  };

  const legend = (list, names) => {
    list.replaceChildren(...names.map((name, k) => {
      const item = make("li");
      const art = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      art.setAttribute("viewBox", "0 0 34 10");
      art.setAttribute("aria-hidden", "true");
      const stroke = document.createElementNS("http://www.w3.org/2000/svg", "line");
      Object.entries({ x1: 0, x2: 34, y1: 5, y2: 5, "stroke-width": 2.5, "stroke-dasharray": strokes[dashes[k]] })
        .forEach(([key, value]) => stroke.setAttribute(key, value));
      stroke.style.stroke = `var(--c${(k % 7) + 1})`;
      art.append(stroke);
      item.append(art, name);
      return item;
    }));
  };

  const fill = (step) => {
    const table = find("#peaks");
    table.hidden = !step.peaks;
    const units = ["/s", "/s²", "/s³"], names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    table.tBodies[0].replaceChildren(...(step.peaks ?? []).map((joint) => {
      const row = make("tr");
      const head = make("th", joint.joint);
      head.scope = "row";
      row.append(
        head,
        make("td", `${joint.range.map(short).join(" to ")} ${joint.unit}`, "number"),
        make("td", joint.range_limits.map(short).join(" to "), "number"),
        ...joint.peaks.map((p, k) =>
          make("td", `${short(p.value)} ${joint.unit}${units[k]} (${Math.round(100 * p.share)} %)`, "number")));
      [...row.cells].forEach((cell, k) => { cell.dataset.name = names[k]; });
      return row;
    }));
  };

  const draw = async () => {
    const run = select.value === "run";
    const step = run ? data.run : data.steps[Number(select.value)];
    fill(step);
    const charts = [];
    if (step.curves) {
      charts.push(jointChart(step, "position", "Position", ""), jointChart(step, "velocity", "Velocity", "/s"),
        jointChart(step, "acceleration", "Acceleration", "/s²"), jointChart(step, "jerk", "Jerk", "/s³"));
    }
    if (step.tracking?.t) charts.push(logChart(step.tracking, "Tracking error", "mrad or mm"));
    if (step.forces?.t) charts.push(logChart(step.forces, "Contact forces", "N"));
    legend(find("#legend"), step.curves ? step.curves.joints : []);
    const peaks = (table, unit) => Object.entries(table?.peaks ?? {}).map(([name, v]) => `${name} ${short(v)}${unit}`).join(", ");
    const felt = peaks(step.forces, " N");
    const off = peaks(step.tracking, "");
    const chosen = select.selectedOptions[0]; // named here too, for print
    const name = run ? "The whole run" : `${chosen.parentNode.label}: ${chosen.textContent}`;
    find("#about-motion").textContent = name + (run ? "" : `. Joints: ${step.curves?.group ?? "-"}, ${short(step.end - step.start)} s`)
      + (step.clearance ? `. Least clearance: ${step.clearance}` : "")
      + (off ? `. Largest tracking error: ${off}` : "")
      + (felt ? `. Largest contact forces: ${felt}` : step.tracking ? ". No contact with a force" : "") + ".";
    await plotly();
    const boxes = charts.map(([title, traces, shape, names]) => {
      const box = make("div", undefined, "chart");
      const plot = make("div", undefined, "plot");
      plot.setAttribute("role", "img");
      plot.setAttribute("aria-label", `${title} over time; the values are in the text and the table`);
      box.append(make("h3", title), plot);
      if (names) {
        const list = make("ul", undefined, "legend");
        legend(list, names);
        box.append(list);
      }
      return [box, plot, traces, shape];
    });
    find("#charts").replaceChildren(...boxes.map((b) => b[0]));
    boxes.forEach(([, plot, traces, shape]) =>
      Plotly.newPlot(plot, traces, shape, { displayModeBar: false, responsive: true }));
  };
  const drawn = () => [...document.querySelectorAll(".plot")].filter((plot) => plot.data);
  const restyle = () => drawn().forEach((plot) =>
    Plotly.restyle(plot, { "line.color": plot.data.map((_, k) => color(k)) }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", restyle);
  // On paper the charts have another width; Plotly's own resize would come too late for it.
  matchMedia("print").addEventListener("change", (event) => {
    restyle();
    drawn().forEach((plot) => Plotly.relayout(plot,
      event.matches ? { width: plot.clientWidth } : { width: null, height: null, autosize: true }));
  });
  select.addEventListener("change", draw);

  // After the page is first painted, but before it can be printed.
  setTimeout(draw, 100);
})();
