import { find, findInput } from './elements';
import { parseFilter } from './row-filter';

/**
 * Shows only the containers that match what is typed, or what a link asks for, and marks CPUs that it names on the map.
 */
export function filterRows(): { readonly refresh: () => void } {
  const box = findInput('filter');
  const count = find('filtered');
  const link = find('filter-cpu');
  const refresh = (): void => {
    const filter = parseFilter(box.value);
    const rows = [...find('containers').children] as HTMLElement[];
    let shown = 0;
    for (const row of rows) {
      const isHidden = !filter.isEmpty && !filter.matches(describe(row));
      if (row.hidden !== isHidden) row.hidden = isHidden;
      if (!isHidden) shown += 1;
    }
    const text = filter.isEmpty ? '' : `${shown} of ${rows.length}`;
    if (count.textContent !== text) count.textContent = text;
    const cells = filter.cpus.toArray().flatMap((cpu) => document.getElementById(`cpu-${cpu}`) ?? []);
    for (const cell of document.querySelectorAll('#map .found'))
      if (!cells.includes(cell as HTMLElement)) cell.classList.remove('found');
    for (const cell of cells) cell.classList.add('found');
    link.hidden = cells.length === 0;
    link.textContent =
      cells.length === 0 ? '' : `${(cells[0]!.getAttribute('aria-label') ?? '').replace(/ \(.*?\):/, ':')}; on the map`;
    link.setAttribute('href', `#${cells[0]?.id ?? 'map'}`);
  };
  box.addEventListener('input', refresh);
  link.addEventListener('click', (event) => {
    event.preventDefault();
    document.getElementById(link.getAttribute('href')!.slice(1))?.focus();
  });
  document.addEventListener('click', ({ target }) => {
    // A link to a row that is not shown shows all of them.
    const to = target instanceof Element ? target.closest('a[href^="#"]')?.getAttribute('href') : undefined;
    if (!to || !document.getElementById(to.slice(1))?.hidden) return;
    box.value = '';
    refresh();
  });
  document.addEventListener('click', (event) => {
    const asked =
      event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('a[href^="/?show="]') : null;
    if (!asked || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    box.value = wantedBy(asked.search);
    refresh();
    const title = find('containers-title');
    title.focus({ preventScroll: true });
    title.scrollIntoView();
  });
  box.value = wantedBy(location.search) || box.value;
  if (box.value !== '') refresh();
  return { refresh: () => (box.value === '' ? undefined : refresh()) };
}

function wantedBy(search: string): string {
  return new URLSearchParams(search).get('show') ?? '';
}

function describe(row: HTMLElement): { readonly text: string; readonly verdict: string; readonly cpus: string } {
  const verdict = row.querySelector('.verdict')?.textContent ?? '';
  // Its time and the link to its history are of every row.
  const cells = [...row.querySelectorAll('th, td:not(.time)')].map(({ textContent }) => textContent);
  return { text: cells.join(' ').toLowerCase(), verdict, cpus: row.dataset['cpus'] ?? '' };
}
