import { find, findInput } from './elements';

/** Shows only the containers whose rows have the words that are typed. */
export function filterRows(): { readonly refresh: () => void } {
  const box = findInput('filter');
  const told = find('filtered');
  const refresh = (): void => {
    const words = box.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '');
    const rows = [...find('containers').children] as HTMLElement[];
    let shown = 0;
    for (const row of rows) {
      const text = words.length === 0 ? '' : (row.textContent ?? '').toLowerCase();
      const isHidden = !words.every((word) => text.includes(word));
      if (row.hidden !== isHidden) row.hidden = isHidden;
      if (!isHidden) shown += 1;
    }
    const text = words.length === 0 ? '' : `${shown} of ${rows.length}`;
    if (told.textContent !== text) told.textContent = text;
  };
  box.addEventListener('input', refresh);
  return { refresh: () => (box.value === '' ? undefined : refresh()) };
}
