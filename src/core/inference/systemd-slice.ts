/** `a-b.slice` -> `/a.slice/a-b.slice`, and the root for `-.slice`; see systemd.slice(5). Undefined for a text that is no name of a slice. */
export function expandSlice(slice: string): string | undefined {
  if (slice === '-.slice') return '';
  if (!slice.endsWith('.slice') || slice.includes('/')) return undefined;
  const parts = slice.slice(0, -'.slice'.length).split('-');
  if (parts.includes('')) return undefined;
  return parts.map((_, i) => `/${parts.slice(0, i + 1).join('-')}.slice`).join('');
}
