import { absolutePath } from './system-types';
import { accept, describeInFile, reject, type ValueType } from './value-type';

/** The source of the API server's address and of our credentials. */
export const kubeconfigSource: ValueType<
  { readonly kind: 'in-cluster' } | { readonly kind: 'file'; readonly path: string }
> = wordOrPath('in-cluster');

/** The source of the kubelet's configuration. */
export const kubeletConfigSource: ValueType<
  { readonly kind: 'configz' } | { readonly kind: 'file'; readonly path: string }
> = wordOrPath('configz');

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
