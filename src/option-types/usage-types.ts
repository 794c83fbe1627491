import { parseReserved, type ReservedShares } from '../qos/reclaim/reserved';
import { accept, excerpt, reject, type ValueType } from './value-type';

const PERCENT = /^(\d{1,3})%$/;

/** Whole per cent: `10%` is 10. */
export function percent({ max }: { readonly max: number }): ValueType<number> {
  const remedy = `write per cent from 0% to ${max}%`;
  return {
    placeholder: 'n%',
    parse: (text) => {
      const [, digits] = PERCENT.exec(text) ?? [];
      if (digits === undefined) return reject('is not a percentage', remedy);
      return Number(digits) <= max ? accept(Number(digits)) : reject('is out of range', remedy);
    },
    inFile: (z) => z.string().check(z.regex(PERCENT)),
  };
}

/** `cpu=40%,memory=40%`; a resource that is not named has 0. */
export const reservedShares: ValueType<ReservedShares> = {
  placeholder: 'cpu=n%,memory=n%',
  parse: parseReserved,
  inFile: (z) => {
    const share = '(?:cpu|memory)\\s*=\\s*\\d{1,3}(?:\\.\\d{1,6})?%';
    return z.string().check(z.regex(new RegExp(`^(?:${share}(?:,\\s*${share})?)?$`)));
  },
};

const MAX_INTERFACES = 64;

/** Names of network interfaces, as the kernel takes them: at most 15 characters, no slash, no colon, no space. */
export const interfaceNames: ValueType<readonly string[]> = {
  placeholder: 'names',
  parse: (text) => {
    const names = text === '' ? [] : text.split(',').map((name) => name.trim());
    const wrong = names.find((name) => !/^[!-+.0-9;-~-]{1,15}$/.test(name));
    if (wrong !== undefined)
      return reject(`names ${excerpt(wrong)}, which is no interface`, 'write names like eth0, separated by commas');
    return names.length <= MAX_INTERFACES
      ? accept([...new Set(names)])
      : reject('names too many interfaces', `write at most ${MAX_INTERFACES}`);
  },
  inFile: (z) => {
    const name = z.string().check(z.regex(/^[!-+.0-9;-~-]{1,15}$/));
    return z.union([
      z.string().check(z.regex(/^(?:[!-+.0-9;-~-]{1,15}(?:,\s*[!-+.0-9;-~-]{1,15})*)?$/)),
      z.array(name),
    ]);
  },
};
