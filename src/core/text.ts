/** Sorts by code units: the same everywhere, whatever the locale. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A count with its noun: `1 CPU`, `2 CPUs`. `many` where it is not `one` with an s. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** The text, or its beginning with `...` so that it has `most` characters. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3)}...`;
}

/** A timestamp of the API without fractions of a second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}
