const UNITS = [
  ['d', 86_400],
  ['h', 3_600],
  ['min', 60],
  ['s', 1],
] as const;

/** A time as people say it: `3 min ago`. Below zero, as of a clock that was set, it is `now`. */
export function formatAge(ms: number): string {
  const seconds = Math.floor(ms / 1_000);
  const [unit, size] = UNITS.find(([, each]) => seconds >= each) ?? ['s', 0];
  return size === 0 ? 'now' : `${Math.floor(seconds / size)} ${unit} ago`;
}
