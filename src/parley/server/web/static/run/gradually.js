// Long conversations are drawn a few turns at a time, so that the page answers in between.
import { useEffect, useRef, useState } from "preact/hooks";

const STEP = 2;

/**
 * How each of `count` parts is to be drawn: `wayOf(place)` is `way`, or the way it was drawn in before, or undefined
 * while it was not drawn at all. After every few parts the browser gets its turn.
 */
export function useGradually(count, way) {
  const before = useRef(undefined);
  const [pass, setPass] = useState({ way, done: STEP });
  const done = pass.way === way ? pass.done : 0;
  useEffect(() => {
    if (done >= count && count) {
      before.current = way;
      return undefined;
    }
    const timer = setTimeout(() => setPass({ way, done: done + STEP }));
    return () => clearTimeout(timer);
  }, [done, count, way]);
  return (place) => (place < done ? way : before.current);
}

const LINE_PX = 23;
const FRAME_PX = 64;

/** About how high messages will be, so that scrolling hardly moves what was not drawn yet: a CSS size. `columns` stand side by side on wide screens. */
export function roughSize(items, columns = 1) {
  const letters = innerWidth < 700 ? 40 : 84 / columns;
  const linesOf = (text) => text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / letters)), 0);
  const heights = items.map((item) => FRAME_PX + LINE_PX * linesOf(item.content || item.opinion?.reasoning || ""));
  return { containIntrinsicSize: `auto ${32 + heights.reduce((sum, one) => sum + one, 0)}px` };
}
