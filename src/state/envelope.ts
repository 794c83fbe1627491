import { createHash } from 'node:crypto';
import { isJsonObject } from '../core/json-object';

/** The outer shape of every durable document: one JSON object, with a checksum of its other fields as the last one. */
export type Envelope =
  | {
      readonly ok: true;
      readonly content: Readonly<Record<string, unknown>>;
      /** `none`: there is no checksum and never was, as in notes of earlier versions. */
      readonly seal: 'good' | 'wrong' | 'none';
    }
  | { readonly ok: false; readonly kind: 'empty' | 'torn' | 'foreign'; readonly because: string };

/** The reason that goes with a wrong seal. */
export const WRONG_SEAL = 'the checksum does not fit the content: the file was changed after it was written';

/** Reads the outer shape. Never throws, whatever the text. White space does not matter. */
export function openEnvelope(text: string): Envelope {
  if (text.trim() === '') return { ok: false, kind: 'empty', because: 'the file is empty' };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const because = `not JSON, cut off or overwritten: ${(error as Error).message}`;
    return { ok: false, kind: 'torn', because };
  }
  if (!isJsonObject(value)) return { ok: false, kind: 'foreign', because: 'JSON, but not an object' };
  const { checksum, ...content } = value;
  if (checksum === undefined) return { ok: true, content, seal: SEALED in content ? 'wrong' : 'none' };
  return { ok: true, content, seal: checksum === checksumOfParsed(content) ? 'good' : 'wrong' };
}

/** The first field of what `seal` made: where the checksum is lost, it shows that there was one. */
const SEALED = 'sealed';

/** Adds the checksum to the JSON text of an object that has none, and that it has one. The lines of the text stay. */
export function seal(text: string): string {
  const marked = `{"${SEALED}":true,${text.trim().slice(1, -1)}`;
  const checksum = checksumOf(JSON.stringify(JSON.parse(`${marked}}`)));
  return `${marked},"checksum":"${checksum}"}\n`;
}

/** The checksum of the document's compact JSON text. */
export function checksumOf(compactJson: string): string {
  return `sha256:${createHash('sha256').update(compactJson).digest('hex')}`;
}

/** JSON.parse keeps the order of keys, so writing the parsed value again gives the compact text that was hashed. */
function checksumOfParsed(content: Readonly<Record<string, unknown>>): string | undefined {
  try {
    return checksumOf(JSON.stringify(content));
  } catch {
    return undefined; // nested deeper than the stack; we never write that
  }
}
