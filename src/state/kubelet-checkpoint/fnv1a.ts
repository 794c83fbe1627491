const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** 32-bit FNV-1a over the UTF-8 bytes of the text, as an unsigned number. */
export function hashFnv1a(text: string): number {
  let hash = OFFSET_BASIS;
  for (const byte of Buffer.from(text, 'utf8')) hash = Math.imul(hash ^ byte, PRIME);
  return hash >>> 0;
}
