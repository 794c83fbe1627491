import { asObject } from '../json';
import { parseQuantity } from '../quantity';

/** Below these keys texts and numbers are quantities. */
export const QUANTITIES: ReadonlySet<string> = new Set(['capacity', 'allocatable', 'available', 'reserved']);

/**
 * True when two JSON values mean the same to Kubernetes: quantities are compared by value (`2` is `2000m`); absent,
 * null and empty are equal.
 */
export function semanticEqual(a: unknown, b: unknown, isQuantity = false): boolean {
  if (isEmpty(a) || isEmpty(b)) return isEmpty(a) && isEmpty(b);
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((each, i) => semanticEqual(each, b[i], isQuantity))
    );
  }
  if (typeof a === 'object' && typeof b === 'object') {
    const [x, y] = [asObject(a), asObject(b)];
    return [...new Set([...Object.keys(x), ...Object.keys(y)])].every((key) =>
      semanticEqual(x[key], y[key], isQuantity || QUANTITIES.has(key)),
    );
  }
  if (a === b) return true;
  if (!isQuantity) return false;
  const value = parseQuantity(a);
  return value !== undefined && value === parseQuantity(b);
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}
