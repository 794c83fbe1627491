import { find } from './elements';

const KEYS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

/**
 * Tells about the CPU that is pointed at or has the focus: who has it, why, and how its promise is. A click or a tap
 * keeps it shown; Escape, the button or another click ends that. One CPU is in the order of the Tab key.
 */
export function explainCells(): { readonly refresh: () => void } {
  const about = find('about-text');
  const release = find('release');
  const history = find('about-history') as HTMLAnchorElement;
  let current: string | undefined;
  let kept: string | undefined;
  let shownText = '';
  /** The place of the pointer on the screen. */
  let pointer = '';
  /** The arrow keys have moved the map below a pointer that lies still: that one says nothing. */
  let isByKeys = false;
  const cellOf = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>('#map .cpu[id]') : null;

  const show = (cell: HTMLElement): void => {
    for (const marked of document.querySelectorAll('.same, .current')) marked.classList.remove('same', 'current');
    current = cell.id;
    cell.classList.add('current');
    const label = document.createElement('p');
    label.textContent = cell.getAttribute('aria-label') ?? '';
    const lines: HTMLElement[] = [label];
    const owner = ownerOf(cell);
    if (owner) {
      for (const other of document.querySelectorAll(`#map a[href="#${CSS.escape(owner.id)}"]`))
        other.classList.add('same');
      owner.classList.add('same');
      lines.push(...rowsOf(owner).map(describeRow));
    }
    // The same text is left alone: a screen reader would say it again.
    const next = lines.map(textOf).join('\n');
    if (next !== shownText) about.replaceChildren(...lines);
    shownText = next;
    const cpu = cell.id.slice('cpu-'.length);
    history.href = `/history?cpu=${cpu}`;
    history.setAttribute('aria-label', `history of CPU ${cpu}`);
    history.hidden = false;
  };
  const keep = (id: string | undefined): void => {
    kept = id;
    release.hidden = kept === undefined;
  };
  const makeReachable = (cell: HTMLElement): void => {
    for (const other of document.querySelectorAll<HTMLElement>('#map .cpu[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
  };

  const follow = ({ target, screenX, screenY }: PointerEvent): void => {
    if (pointer !== `${screenX} ${screenY}`) isByKeys = false;
    pointer = `${screenX} ${screenY}`;
    const cell = cellOf(target);
    if (cell && !isByKeys && kept === undefined && cell.id !== current) show(cell);
  };
  document.addEventListener('pointerover', follow);
  document.addEventListener('pointermove', follow);
  document.addEventListener('focusin', ({ target }) => {
    const cell = cellOf(target);
    if (!cell) return;
    makeReachable(cell);
    if (cell.id !== current) show(cell);
  });
  document.addEventListener('click', (event) => {
    const cell = cellOf(event.target);
    if (!cell || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    keep(kept === cell.id ? undefined : cell.id);
    show(cell);
  });
  release.addEventListener('click', () => keep(undefined));
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') keep(undefined);
    const from = cellOf(event.target);
    if (!from || !KEYS.has(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    isByKeys = true;
    const next = move(from, event.key);
    if (next && kept !== undefined) keep(next.id);
    next?.focus();
  });

  const refresh = (): void => {
    const cell = current === undefined ? null : document.getElementById(current);
    if (cell) show(cell);
    if (!document.querySelector('#map .cpu[tabindex="0"]')) {
      const first = document.querySelector<HTMLElement>('#map .cpu[id]');
      if (first) first.tabIndex = 0;
    }
  };
  refresh();
  return { refresh };
}

/** The next CPU in the order of the map; up and down go to what stands there. */
function move(from: HTMLElement, key: string): HTMLElement | undefined {
  const all = [...document.querySelectorAll<HTMLElement>('#map .cpu[id]')];
  if (key === 'Home') return all[0];
  if (key === 'End') return all.at(-1);
  const core = from.parentElement!;
  const thread = [...core.children].indexOf(from);
  const { left, top } = from.getBoundingClientRect();
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const cores = [...document.querySelectorAll('#map .core')];
    const next = cores[cores.indexOf(core) + (key === 'ArrowRight' ? 1 : -1)];
    return [...(next?.children ?? [])].filter((each) => each.id !== '').at(thread) as HTMLElement | undefined;
  }
  const isBeyond = (y: number): boolean => (key === 'ArrowDown' ? y > top + 1 : y < top - 1);
  let best: HTMLElement | undefined;
  let least = Infinity;
  for (const cell of all) {
    const at = cell.getBoundingClientRect();
    const distance = Math.abs(at.top - top) * 10 + Math.abs(at.left - left);
    if (isBeyond(at.top) && distance < least) [best, least] = [cell, distance];
  }
  return best;
}

function ownerOf(cell: HTMLElement): HTMLElement | null {
  const target = cell.getAttribute('href')?.slice(1);
  return target === undefined ? null : document.getElementById(target);
}

/** The rows of an owner's containers. */
function rowsOf(owner: HTMLElement): readonly HTMLElement[] {
  const { uid = '', containers = '' } = owner.dataset;
  const names = new Set(containers.split(' '));
  return [...document.querySelectorAll<HTMLElement>(`#containers tr[data-uid="${CSS.escape(uid)}"]`)].filter((row) =>
    names.has(row.dataset['container'] ?? ''),
  );
}

/** A line about a container: a link to its row, its verdict, the reason, and since when. */
function describeRow(row: HTMLElement): HTMLElement {
  const text = (name: string): string => row.querySelector(`[data-name="${name}"]`)?.textContent?.trim() ?? '';
  const verdict = row.querySelector('.verdict')?.textContent ?? text('Placement');
  const line = document.createElement('p');
  const link = document.createElement('a');
  link.href = `#${row.id}`;
  link.textContent = row.dataset['container'] ?? '';
  const why = [...(row.querySelector('[data-name="Why"]')?.childNodes ?? [])]
    .map(({ textContent }) => textContent?.trim() ?? '')
    .filter((part) => part !== '');
  line.append(link, `: ${[verdict, ...why].join('. ')}`);
  for (const tally of row.querySelectorAll('.tally')) line.append('. ', ...cloneContents(tally));
  const since = row.querySelector('[data-name="Since"] time');
  if (since) line.append('. Since ', ...cloneWithTime(since));
  return line;
}

function cloneContents(element: Element): readonly Node[] {
  return [...element.childNodes].flatMap((node) =>
    node instanceof HTMLTimeElement ? cloneWithTime(node) : node.cloneNode(true),
  );
}

/** The age of a time goes on by itself. Listeners get the time. */
function cloneWithTime(time: Element): readonly Node[] {
  const age = time.cloneNode(true) as HTMLElement;
  age.setAttribute('aria-hidden', 'true');
  const absolute = document.createElement('span');
  absolute.className = 'unseen';
  absolute.textContent = age.title || (age.textContent ?? '');
  return [age, absolute];
}

/** The text about a CPU, without ages. */
function textOf(line: HTMLElement): string {
  return [...line.childNodes]
    .filter((node) => !(node instanceof HTMLTimeElement))
    .map(({ textContent }) => textContent)
    .join('');
}
