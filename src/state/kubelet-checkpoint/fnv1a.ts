const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;
const { imul } = Math;

/** 32-bit FNV-1a over the UTF-8 bytes of the texts, one after the other, as an unsigned number. The texts are not joined. */
export function hashFnv1a(texts: Iterable<string>): number {
  let hash = OFFSET_BASIS;
  for (const text of texts) hash = hashText(hash, text);
  return hash >>> 0;
}

function hashText(before: number, text: string): number {
  let hash = before;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) {
      return hashBytes(hash, Buffer.from(text.slice(i), 'utf8'));
    }
    hash = imul(hash ^ unit, PRIME);
  }
  return hash;
}

function hashBytes(before: number, bytes: Uint8Array): number {
  let hash = before;
  for (let i = 0; i < bytes.length; i++) hash = imul(hash ^ bytes[i]!, PRIME);
  return hash;
}
