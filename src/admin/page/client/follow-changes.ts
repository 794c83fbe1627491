import type { PageChange } from '../render/fragments';
import { find, parse } from './elements';
import { showLiveness, silentAfterMs } from './show-liveness';

/** The first pause before the stream is opened again after the server has refused it, and the longest, in ms. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

/** Keeps the page as the server says. Calls `onChange` after each change, and `onTime` with the server's time in ms. */
export function followChanges(onChange: () => void, onTime: (now: number) => void): void {
  const liveness = showLiveness();
  /** A stream that is silent for longer is opened again: a network may lose a connection and inform neither side. */
  const reopenMs = 2 * silentAfterMs();
  const waiting: (() => void)[] = [];
  const show = (work: () => void): void => {
    if (waiting.push(work) > 1) return;
    const paint = (): void => {
      for (const each of waiting.splice(0)) each();
      onChange();
    };
    // A page in the background is not painted, and has to be right when it is looked at.
    if (document.hidden) setTimeout(paint);
    else requestAnimationFrame(paint);
  };
  let pauseMs = FIRST_PAUSE_MS;
  let openedAt = 0;
  const open = (version: string): void => {
    openedAt = Date.now();
    const stream = new EventSource(`/api/v1/stream?version=${encodeURIComponent(version)}`);
    let isOver = false;
    const again = (afterMs: number): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(watch);
      // A browser tries again by itself, but with the version of the beginning, and not after a refusal.
      stream.close();
      setTimeout(() => open(''), afterMs);
    };
    const watch = setInterval(() => {
      if (Math.min(liveness.silentMs(), Date.now() - openedAt) > reopenMs) again(0);
    }, 1_000);
    const on = (name: 'content' | 'change' | 'beat', take: (data: string) => void): void =>
      stream.addEventListener(name, ({ data }: MessageEvent<string>) => {
        pauseMs = FIRST_PAUSE_MS;
        liveness.received();
        take(data);
      });
    on('content', (data) => show(() => replaceAll(read(data))));
    on('change', (data) => show(() => apply(read(data))));
    on('beat', (data) => onTime(Date.parse(data)));
    stream.addEventListener('error', () => {
      liveness.lost();
      again(pauseMs);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    });
  };
  open(document.documentElement.dataset['version'] ?? '');
}

function read(data: string): PageChange {
  return JSON.parse(data) as PageChange;
}

const LISTS = ['head', 'parts', 'numbers', 'legend', 'containers', 'use', 'history'];

function replaceAll(content: PageChange): void {
  for (const id of LISTS) find(id).textContent = '';
  apply(content);
}

function apply({ map, replace, insert, remove }: PageChange): void {
  if (map !== undefined) swap('map', map);
  for (const id of remove) document.getElementById(id)?.remove();
  for (const [id, html] of replace) swap(id, html);
  for (const [list, after, , html] of insert) {
    const element = parse(html);
    const before = after === null ? null : document.getElementById(after);
    if (before) before.after(element);
    else find(list).prepend(element);
  }
}

/** The focus stays where it was, also on an element that is another now. */
function swap(id: string, html: string): void {
  const old = document.getElementById(id);
  if (!old) return;
  const next = parse(html) as HTMLElement;
  const hadFocus = old === document.activeElement;
  if (old instanceof HTMLElement && old.classList.contains('cpu')) next.tabIndex = old.tabIndex;
  old.replaceWith(next);
  if (hadFocus) next.focus({ preventScroll: true });
}
