import type { PageChange } from '../render/fragments';
import { find, parse } from './elements';

/** The first pause before the stream is opened again after the server has refused it, and the longest, in ms. */
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 30_000;

/** Keeps the page as the server says. Calls `onChange` after each change. */
export function followChanges(onChange: () => void): void {
  const live = find('live');
  const tell = (state: 'on' | 'off', text: string): void => {
    if (live.textContent !== text) live.textContent = text;
    live.className = state;
  };
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
  const open = (version: string): void => {
    const stream = new EventSource(`/api/v1/stream?version=${encodeURIComponent(version)}`);
    stream.addEventListener('open', () => {
      pauseMs = FIRST_PAUSE_MS;
      tell('on', 'live');
    });
    stream.addEventListener('content', ({ data }: MessageEvent<string>) => show(() => replaceAll(read(data))));
    stream.addEventListener('change', ({ data }: MessageEvent<string>) => show(() => apply(read(data))));
    stream.addEventListener('error', () => {
      tell('off', 'not live: the connection to cpusetd is lost; trying again');
      // A browser tries again by itself, but with the version of the beginning, and not after a refusal.
      stream.close();
      setTimeout(() => open(''), pauseMs);
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
