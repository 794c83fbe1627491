import { find } from './elements';

/** The time that the network may take. */
const SLOW_MS = 2_000;

/**
 * The time without a sign of life after which the page does not say that it is live: one is missing, and the next one
 * is late. The page says how often the server sends one (`data-beat-ms`): every 3 s, so this is 8 s.
 */
export function silentAfterMs(): number {
  return 2 * Number(document.documentElement.dataset['beatMs']) + SLOW_MS;
}

export interface Liveness {
  /** The server has said something. */
  readonly received: () => void;
  /** The connection is lost. */
  readonly lost: () => void;
  /** Time since the server was heard. */
  readonly silentMs: () => number;
}

/** Says at the head of the page if the page is live, and for how long nothing was heard otherwise. */
export function showLiveness(): Liveness {
  const mostMs = silentAfterMs();
  const live = find('live');
  const state = find('live-state');
  const age = find('live-age');
  let receivedAt = Date.now();
  let isLost = false;
  const set = (element: HTMLElement, text: string): void => {
    if (element.textContent !== text) element.textContent = text;
  };
  // The seconds are beside the status, not in it: a screen reader says that it is not live once.
  const show = (isLive: boolean, text: string): void => {
    live.className = isLive ? 'on' : 'off';
    set(state, text);
    const seconds = Math.max(0, Math.round((Date.now() - receivedAt) / 1_000));
    set(age, isLive ? '' : ` not heard for ${seconds} s`);
  };
  const look = (): void => {
    if (isLost) show(false, 'not live: the connection to cpusetd is lost; trying again;');
    else if (Date.now() - receivedAt > mostMs) show(false, 'not live:');
  };
  setInterval(look, 1_000);
  return {
    received: () => {
      receivedAt = Date.now();
      isLost = false;
      show(true, 'live');
    },
    lost: () => {
      isLost = true;
      look();
    },
    silentMs: () => Date.now() - receivedAt,
  };
}
