/** A mux frame. */
export function frame(connectionId: number, payload: Uint8Array, announced = payload.length): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(connectionId, 0);
  header.writeUInt32BE(announced, 4);
  return Buffer.concat([header, payload]);
}

/** A ttrpc message. */
export function message(streamId: number, type: number, data: Uint8Array, announced = data.length): Buffer {
  const header = Buffer.alloc(10);
  header.writeUInt32BE(announced, 0);
  header.writeUInt32BE(streamId, 4);
  header[8] = type;
  return Buffer.concat([header, data]);
}

/** All bytes in pieces of `size`, the first of which has `first` bytes. */
export function* cut(bytes: Buffer, size: number, first = size): Generator<[start: number, end: number]> {
  let start = 0;
  for (let end = first; start < bytes.length; start = end, end += size) {
    end = Math.min(end, bytes.length);
    if (end > start) yield [start, end];
  }
}
