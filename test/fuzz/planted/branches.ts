export const maxBytes = 64;

export const seeds = (): readonly Uint8Array[] => [Buffer.from('x')];

/** A fault behind four nested conditions: only a search by coverage finds it within seconds. */
export function fuzz(data: Buffer): void {
  if (data[0] !== 0x63) return;
  if (data[1] !== 0x70) return;
  if (data[2] !== 0x75) return;
  if (data[3] === 0xff) throw new Error('planted');
}
