// A chart over time, drawn by uPlot, which is loaded only where a chart is shown.
import { useEffect, useRef } from "preact/hooks";
import { html } from "../html.js";

// On its way as soon as there may be a chart, before its data are there; a fault is told when it is drawn.
import("uplot").catch(() => {});

const SYSTEM = matchMedia("(prefers-color-scheme: dark)");

/** A colour of the tokens, as a canvas wants it. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/**
 * `data` and `options` are uPlot's; `options(UPlot)` is a function, called anew when the theme turns.
 * The height is kept from the first moment. `label` says in words what the chart shows.
 */
export function Chart({ data, options, height = 220, label }) {
  const frame = useRef();
  useEffect(() => {
    const box = frame.current;
    let plot;
    let isOver = false;
    const draw = async () => {
      const { default: UPlot } = await import("uplot");
      if (isOver) return;
      plot?.destroy();
      plot = new UPlot({ ...options(UPlot), width: box.clientWidth, height }, data, box);
    };
    const fit = new ResizeObserver(() => plot?.setSize({ width: box.clientWidth, height }));
    const turned = new MutationObserver(draw);
    fit.observe(box);
    turned.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    SYSTEM.addEventListener("change", draw);
    draw();
    return () => {
      isOver = true;
      fit.disconnect();
      turned.disconnect();
      SYSTEM.removeEventListener("change", draw);
      plot?.destroy();
    };
  }, [data]);
  return html`<div class="chart" role="img" aria-label=${label} ref=${frame} style=${{ minHeight: `${height}px` }}></div>`;
}
