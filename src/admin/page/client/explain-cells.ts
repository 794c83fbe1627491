import { find } from './elements';

const KEYS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

/** Tells about the CPU that is pointed at or has the focus: who has it, why, and how its promise is. One CPU is in the order of the Tab key. */
export function explainCells(): { readonly refresh: () => void } {
  const about = find('about');
  let current: string | undefined;
  const cellOf = (target: EventTarget | null): HTMLElement | null =>
    target instanceof Element ? target.closest<HTMLElement>('#map .cpu[id]') : null;

  const show = (cell: HTMLElement): void => {
    for (const marked of document.querySelectorAll('.same')) marked.classList.remove('same');
    current = cell.id;
    const lines = [cell.getAttribute('aria-label') ?? ''];
    const owner = ownerOf(cell);
    if (owner) {
      for (const other of document.querySelectorAll(`#map a[href="#${CSS.escape(owner.id)}"]`))
        other.classList.add('same');
      owner.classList.add('same');
      lines.push(...rowsOf(owner).map(describeRow));
    }
    const shown = lines.map((line) => {
      const paragraph = document.createElement('p');
      paragraph.textContent = line;
      return paragraph;
    });
    about.replaceChildren(...shown);
  };
  const makeReachable = (cell: HTMLElement): void => {
    for (const other of document.querySelectorAll<HTMLElement>('#map .cpu[tabindex="0"]')) other.tabIndex = -1;
    cell.tabIndex = 0;
  };

  document.addEventListener('pointerover', ({ target }) => {
    const cell = cellOf(target);
    if (cell && cell.id !== current) show(cell);
  });
  document.addEventListener('focusin', ({ target }) => {
    const cell = cellOf(target);
    if (!cell) return;
    makeReachable(cell);
    if (cell.id !== current) show(cell);
  });
  document.addEventListener('keydown', (event) => {
    const from = cellOf(event.target);
    if (!from || !KEYS.has(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(from, event.key)?.focus();
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

function describeRow(row: HTMLElement): string {
  const text = (name: string): string => row.querySelector(`[data-name="${name}"]`)?.textContent?.trim() ?? '';
  return `${row.dataset['container'] ?? ''}: ${text('Verdict')}. ${text('Why')}`;
}
