import { STATIC_TABLE, type HeaderField } from './hpack-static-table';

/**
 * Encodes a header block that leaves the receiver's dynamic table alone (RFC 7541 §6.1 and §6.2.3): fields of the
 * static table by index, all others as literals that are never indexed. So it fits between blocks of another encoder.
 */
export function encodeHeaders(fields: readonly HeaderField[]): Buffer {
  const bytes: number[] = [];
  for (const [name, value] of fields) {
    const exact = STATIC_TABLE.findIndex((entry) => entry[0] === name && entry[1] === value);
    if (exact >= 0) {
      pushInteger(bytes, 0x80, 7, exact + 1);
      continue;
    }
    const named = STATIC_TABLE.findIndex((entry) => entry[0] === name);
    pushInteger(bytes, 0x10, 4, named + 1);
    if (named < 0) pushText(bytes, name);
    pushText(bytes, value);
  }
  return Buffer.from(bytes);
}

function pushText(bytes: number[], text: string): void {
  pushInteger(bytes, 0, 7, text.length);
  for (const byte of Buffer.from(text, 'latin1')) bytes.push(byte);
}

function pushInteger(bytes: number[], pattern: number, prefixBits: number, value: number): void {
  const mask = 2 ** prefixBits - 1;
  if (value < mask) {
    bytes.push(pattern | value);
    return;
  }
  bytes.push(pattern | mask);
  let rest = value - mask;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}
