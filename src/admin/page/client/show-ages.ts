import { formatAge } from './age';

/** Time between looks at all ages. */
const LOOK_MS = 5_000;

/**
 * Shows times as ages, and the times themselves to those who point at them. Until the time of the node is known the
 * times stay.
 */
export function showAges(): { readonly refresh: () => void; readonly setTime: (now: number) => void } {
  /** The difference between the clock of the node and that of the browser. */
  let aheadMs: number | undefined;
  const refresh = (): void => {
    if (aheadMs === undefined) return;
    const now = Date.now() + aheadMs;
    for (const time of document.querySelectorAll<HTMLTimeElement>('time[datetime]')) {
      const then = Date.parse(time.dateTime);
      if (Number.isNaN(then)) continue;
      if (time.title === '') time.title = time.textContent ?? '';
      const age = formatAge(now - then);
      if (time.textContent !== age) time.textContent = age;
    }
  };
  setInterval(() => {
    if (!document.hidden) refresh();
  }, LOOK_MS);
  document.addEventListener('visibilitychange', refresh);
  return {
    refresh,
    /** The time of the node, in ms. */
    setTime: (now) => {
      const isFirst = aheadMs === undefined;
      aheadMs = now - Date.now();
      if (isFirst) refresh();
    },
  };
}
