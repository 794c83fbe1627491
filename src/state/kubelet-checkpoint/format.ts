import { hashFnv1a, printData, printV1, printV2, printV3, sortByBytes } from './go-spew';
import type { KubeletState, KubeletStateV1 } from './state';

/** Writes the state as a kubelet of that format does, byte for byte: compact, keys sorted, no newline at the end. */
export function formatKubeletState(state: KubeletState, format: 'v2' | 'v3' | 'v4'): string {
  switch (format) {
    case 'v2':
      return toObject([...headOf(state), ...entriesOf(state), ['checksum', `${hashFnv1a(printV2(state))}`]]);
    case 'v3':
      return toObject([...contentOf(state), ['checksum', `${hashFnv1a(printV3(state))}`]]);
    case 'v4': {
      const data = formatKubeletContent(state);
      return toObject([
        ...contentOf(state),
        ['checksum', '0'],
        ['data', toGoJson(data)],
        ['dataChecksum', `${hashFnv1a(printData(data))}`],
      ]);
    }
  }
}

/** Format v1, which only kubelets before 1.18 write. */
export function formatKubeletStateV1(state: KubeletStateV1): string {
  const entries = state.entries.size === 0 ? [] : [field('entries', toMap(state.entries, toGoJson))];
  return toObject([...headOf(state), ...entries, ['checksum', `${hashFnv1a(printV1(state))}`]]);
}

/** The state without checksum: `policyName`, `defaultCpuSet`, and `entries` and `podEntries` unless empty. */
export function formatKubeletContent(state: KubeletState): string {
  return toObject(contentOf(state));
}

/** A key and the JSON text of its value. */
type Field = readonly [key: string, json: string];

function field(key: string, json: string): Field {
  return [key, json];
}

function headOf(state: KubeletState | KubeletStateV1): readonly Field[] {
  return [field('policyName', toGoJson(state.policyName)), field('defaultCpuSet', toGoJson(state.defaultCpuSet))];
}

function entriesOf({ entries }: KubeletState): readonly Field[] {
  return entries.size === 0
    ? []
    : [
        field(
          'entries',
          toMap(entries, (pod) => toMap(pod, toGoJson)),
        ),
      ];
}

function contentOf(state: KubeletState): readonly Field[] {
  const pods = toMap(state.podEntries, (list) => toObject([field('cpuSet', toGoJson(list))]));
  return [...headOf(state), ...entriesOf(state), ...(state.podEntries.size === 0 ? [] : [field('podEntries', pods)])];
}

function toObject(fields: readonly Field[]): string {
  return `{${fields.map(([key, json]) => `${toGoJson(key)}:${json}`).join(',')}}`;
}

function toMap<T>(map: ReadonlyMap<string, T>, toJson: (value: T) => string): string {
  return toObject(sortByBytes(map).map(([key, value]) => field(key, toJson(value))));
}

/** A text as Go's encoding/json writes it, with HTML's special characters and U+2028, U+2029 escaped too. */
function toGoJson(text: string): string {
  const wellFormed = text.replace(/\p{Surrogate}/gu, '\ufffd');
  return JSON.stringify(wellFormed).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
