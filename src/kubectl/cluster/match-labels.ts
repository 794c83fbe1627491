import { asArray, asString, type JsonObject } from '../../kube';

type Labels = Readonly<Record<string, unknown>>;

/** Undefined where the label is not set. */
export function labelOf(labels: Labels, name: string): string | undefined {
  return Object.hasOwn(labels, name) ? asString(labels[name]) : undefined;
}

/** A requirement of Kubernetes on labels. An operator that is not known matches nothing. */
export function matches({ key, operator, values }: JsonObject, labels: Labels): boolean {
  const value = labelOf(labels, asString(key));
  const wanted = asArray(values).map(asString);
  switch (operator) {
    case 'In':
      return value !== undefined && wanted.includes(value);
    case 'NotIn':
      return value === undefined || !wanted.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compare(value, wanted, (a, b) => a > b);
    case 'Lt':
      return compare(value, wanted, (a, b) => a < b);
    default:
      return false;
  }
}

/** Compares whole numbers; any other text matches nothing. */
function compare(value: string | undefined, wanted: readonly string[], holds: (a: bigint, b: bigint) => boolean) {
  const [a, b] = [parseInt64(value), parseInt64(wanted[0])];
  return wanted.length === 1 && a !== undefined && b !== undefined && holds(a, b);
}

/** As Go's `strconv.ParseInt(text, 10, 64)`. */
function parseInt64(text = ''): bigint | undefined {
  if (!/^[+-]?\d{1,64}$/.test(text)) return undefined;
  const number = BigInt(text);
  return BigInt.asIntN(64, number) === number ? number : undefined;
}
