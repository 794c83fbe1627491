/** Sorts by code units: the same everywhere, whatever the locale. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
