import { accept, excerpt, reject, type ValueType } from './value-type';

/** Parts of resources that are kept, 0 to 1 each. */
export interface Shares {
  readonly cpu: number;
  readonly memory: number;
}

const PERCENT = /^(\d{1,3})%$/;

/** Whole per cent, as a part: `10%` is 0.1. */
export function percent({ max }: { readonly max: number }): ValueType<number> {
  const remedy = `write per cent from 0% to ${max}%`;
  return {
    placeholder: 'n%',
    parse: (text) => {
      const [, digits] = PERCENT.exec(text) ?? [];
      if (digits === undefined) return reject('is not a percentage', remedy);
      return Number(digits) <= max ? accept(Number(digits) / 100) : reject('is out of range', remedy);
    },
    inFile: (z) => z.string().check(z.regex(PERCENT)),
  };
}

/** `cpu=40%,memory=40%`; a resource that is not named has 0. */
export const shares: ValueType<Shares> = {
  placeholder: 'cpu=n%,memory=n%',
  parse: (text) => {
    const remedy = 'write cpu=n% and memory=n%, separated by a comma, each from 0% to 100%';
    const found: Partial<Record<keyof Shares, number>> = {};
    for (const part of text === '' ? [] : text.split(',')) {
      const [, name, digits] = /^\s*(cpu|memory)\s*=\s*(\d{1,3})%\s*$/.exec(part) ?? [];
      if (name === undefined || Number(digits) > 100)
        return reject(`has a part that is no share (${excerpt(part.trim())})`, remedy);
      const key = name as keyof Shares;
      if (found[key] !== undefined) return reject(`sets ${key} twice`, 'set it once');
      found[key] = Number(digits) / 100;
    }
    return accept({ cpu: 0, memory: 0, ...found });
  },
  inFile: (z) => z.string().check(z.regex(/^(?:(?:cpu|memory)=\d{1,3}%(?:,\s*(?:cpu|memory)=\d{1,3}%)?)?$/)),
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
