import { ConnectionError } from '../../../src/cri/proxy/http2/frame';
import { HpackDecoder } from '../../../src/cri/proxy/http2/hpack-decoder';
import { encodeHeaders } from '../../../src/cri/proxy/http2/hpack-encoder';

export const maxBytes = 4_096;

const FIELDS: readonly (readonly [string, string])[] = [
  [':method', 'POST'],
  [':path', '/runtime.v1.RuntimeService/CreateContainer'],
  ['content-type', 'application/grpc'],
  ['x-own', 'a text of its own'],
];

export const seeds = (): readonly Uint8Array[] => {
  const block = encodeHeaders(FIELDS);
  return [
    Buffer.concat([Buffer.from([block.length]), block]),
    // RFC 7541, C.4: Huffman codes and entries of the dynamic table.
    Buffer.from('11828684418cf1e3c2e5f23a6ba0ab90f4ff', 'hex'),
    Buffer.from('0c828684be5886a8eb10649cbf', 'hex'),
    Buffer.from('023fe1', 'hex'),
  ];
};

/** Header blocks of one connection are decoded, or refused with a connection error. */
export function fuzz(data: Buffer): void {
  const decoder = new HpackDecoder();
  try {
    for (let at = 0; at < data.length;) {
      const begin = at + 1;
      at = begin + data[at]!;
      decoder.decode(data.subarray(begin, at));
    }
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
  }
}
