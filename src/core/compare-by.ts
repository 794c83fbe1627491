/** Orders by the first of these numbers that differs. */
export function compareBy<T>(...keys: readonly ((item: T) => number)[]): (a: T, b: T) => number {
  return (a, b) => {
    for (const key of keys) {
      const difference = key(a) - key(b);
      if (difference !== 0) return difference;
    }
    return 0;
  };
}
