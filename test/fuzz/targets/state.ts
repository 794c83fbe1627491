import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { decodeState, encodeState } from '../../../src/state';
import { readFiles } from '../read-seeds';

export const maxBytes = 8_192;

export const seeds = (fixtures: string): readonly Uint8Array[] =>
  ['v', 'inconsistent-', 'newer-'].flatMap((prefix) => readFiles(fixtures, 'state', prefix));

/** Any text gives a state or a problem. A state that is written again reads the same. */
export function fuzz(data: Buffer): void {
  const text = data.toString('utf8');
  for (const each of [text, sign(text)]) {
    const decoded = decodeState(each);
    if (!decoded.ok) {
      if (decoded.problem.because === '') throw new Error('a problem without a reason');
      continue;
    }
    const again = decodeState(encodeState(decoded.state));
    if (!again.ok || !isDeepStrictEqual(again.state, decoded.state))
      throw new Error('written again, it reads otherwise');
  }
}

/** The document with a valid checksum, which a search would not find. */
function sign(text: string): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return text;
  const { checksum: _checksum, ...content } = value as Readonly<Record<string, unknown>>;
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  return JSON.stringify({ ...content, checksum: `sha256:${hash}` });
}
