/** Sorts by code units: the same everywhere, whatever the locale. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A count with its noun: `1 CPU`, `2 CPUs`. `many` where it is not the noun with an s. */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/**
 * A part of a whole with its verb: `1 of 2 CPUs is`, `0 of 1 CPU is`, `0 of 2 CPUs are`. `noun`: the noun of the whole.
 */
export function partWithVerb(part: number, whole: number, noun: string): string {
  return `${part} of ${plural(whole, noun)} ${whole === 1 ? 'is' : isOrAre(part)}`;
}

/** The verb for a number. */
export function isOrAre(count: number): string {
  return count === 1 ? 'is' : 'are';
}

/** The text, or its beginning with `...` so that it has `most` characters. */
export function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 3)}...`;
}

/** A timestamp of the API without fractions of a second. */
export function formatTime(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}

/** Thousandths of a CPU as CPUs: `0.75 CPUs`, `1 CPU`. */
export function formatCpuShare(milliCpu: number): string {
  return plural(Number((milliCpu / 1_000).toFixed(3)), 'CPU');
}

/** The CPUs that a CFS quota allows: `1.5 CPUs`, `no limit`. */
export function formatQuota(quotaUs: number, periodUs: number): string {
  return quotaUs < 0 || periodUs <= 0 ? 'no limit' : formatCpuShare((quotaUs / periodUs) * 1_000);
}

/** Per cent with one decimal place at most: `37.5 %`. */
export function formatPercent(percent: number): string {
  return `${Number(percent.toFixed(1))} %`;
}

/** An amount of memory: `12.5 GiB`, below 1 GiB in MiB. */
export function formatMemory(bytes: number): string {
  return bytes >= 2 ** 30 ? `${Number((bytes / 2 ** 30).toFixed(1))} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}
