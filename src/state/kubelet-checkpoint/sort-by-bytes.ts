/** The map's entries by the UTF-8 bytes of their keys, as Go sorts; UTF-16 order differs beyond the basic plane. */
export function sortByBytes<T>(map: ReadonlyMap<string, T>): [string, T][] {
  return [...map]
    .map(([key, value]) => ({ bytes: Buffer.from(key, 'utf8'), pair: [key, value] as [string, T] }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ pair }) => pair);
}
