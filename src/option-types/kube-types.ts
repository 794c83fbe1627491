import type * as zod from 'zod/mini';
import { absolutePath } from './system-types';
import { accept, describeInFile, excerpt, reject, type ValueType, type Zod } from './value-type';

/** The source of the API server's address and of our credentials. */
export const kubeconfigSource: ValueType<
  { readonly kind: 'in-cluster' } | { readonly kind: 'file'; readonly path: string }
> = wordOrPath('in-cluster');

/** The source of the kubelet's configuration. */
export const kubeletConfigSource: ValueType<
  { readonly kind: 'configz' } | { readonly kind: 'file'; readonly path: string }
> = wordOrPath('configz');

/** The name of a label as Kubernetes allows it: a domain and a slash, where it has one, and at most 63 characters. */
export const LABEL_NAME =
  /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
/** The value of a label, which may be empty. */
export const LABEL_VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** A mapping of labels in a file, whose values YAML may take for something else than a text. */
export function describeLabels(z: Zod): zod.ZodMiniType {
  return z.record(
    z.string().check(z.regex(LABEL_NAME)),
    z.union([z.boolean(), z.int(), z.string().check(z.regex(LABEL_VALUE))]),
  );
}

/** Labels of a Node: `pool=gpu,node-role.kubernetes.io/worker=`. */
export const nodeLabels: ValueType<Readonly<Record<string, string>>> = {
  placeholder: 'k=v,...',
  parse: (text) => {
    const labels = new Map<string, string>();
    for (const part of text.split(',')) {
      const [name = '', value, ...more] = part.trim().split('=');
      if (value === undefined || more.length > 0 || !LABEL_NAME.test(name) || !LABEL_VALUE.test(value))
        return reject(`has a part that is no label (${excerpt(part.trim())})`, 'write name=value, separated by commas');
      if (labels.has(name)) return reject(`sets ${excerpt(name)} twice`, 'set it once');
      labels.set(name, value);
    }
    return accept(Object.fromEntries(labels));
  },
  inFile: (z) =>
    z.union([describeLabels(z), z.array(z.string()).check(z.minLength(1)), z.string().check(z.minLength(1))]),
};

function wordOrPath<const Word extends string>(
  word: Word,
): ValueType<{ readonly kind: Word } | { readonly kind: 'file'; readonly path: string }> {
  return {
    placeholder: `path|${word}`,
    parse: (text) => {
      if (text === word) return accept({ kind: word });
      const path = absolutePath.parse(text);
      return path.ok
        ? accept({ kind: 'file', path: path.value })
        : reject(path.problem, `write the absolute path of a file, or ${word}`);
    },
    inFile: (z) => z.union([z.literal(word), describeInFile(absolutePath, z)]),
  };
}
