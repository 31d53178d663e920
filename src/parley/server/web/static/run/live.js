// A run's events while it goes on. Words gather until the next frame, so that a fast stream draws little.
import { useEffect, useState } from "preact/hooks";
import { address } from "../api.js";
import { SILENCE, told } from "./items.js";

const isEnd = ({ event: { type, data } }) =>
  type === "chat.validation.end" || (type === "unhandled_error" && !data.will_retry);

/** What has been told of an open run; null while nothing is followed. `onEnd` is called once it has ended. */
export function useLive(path, isFollowed, onEnd) {
  const [talk, setTalk] = useState(null);
  useEffect(() => {
    if (!isFollowed) return undefined;
    const source = new EventSource(address(path));
    let waiting = [];
    let timer = null;
    const draw = () => {
      timer = null;
      const events = waiting;
      waiting = [];
      setTalk((before) => events.reduce(told, before ?? SILENCE));
    };
    source.onmessage = ({ data }) => {
      const line = JSON.parse(data);
      waiting.push(line);
      timer ??= setTimeout(draw, 50);
      if (!isEnd(line)) return;
      source.close();
      onEnd();
    };
    // A cut stream is opened again by the browser; one that is refused is over, and the run tells why.
    source.onerror = () => source.readyState === EventSource.CLOSED && onEnd();
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, [path, isFollowed]);
  return talk;
}
