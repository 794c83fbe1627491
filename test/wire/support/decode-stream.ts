import { FrameDecoder } from '../../../src/wire/frame';
import { MessageDecoder } from '../../../src/wire/message';

export interface DecodedMessage {
  readonly connectionId: number;
  readonly type: number;
  readonly streamId: number;
  readonly data: Buffer;
}

/** Both decoders together: bytes of a mux go in, ttrpc messages come out. */
export function createStreamDecoder(onMessage: (message: DecodedMessage) => void): {
  feed(chunk: Buffer, start: number, end: number): void;
  readonly frames: FrameDecoder;
} {
  const connections = new Map<number, MessageDecoder>();
  let current: MessageDecoder | undefined;
  const frames = new FrameDecoder(
    {
      onFrame: (connectionId) => {
        current = connections.get(connectionId);
        if (current) return;
        current = new MessageDecoder(
          {
            onMessage: (type, streamId, data, start, end) =>
              onMessage({ connectionId, type, streamId, data: data.subarray(start, end) }),
            onOversized: (_type, _streamId, length) => {
              throw new Error(`a message of ${length} bytes`);
            },
          },
          64 << 20,
        );
        connections.set(connectionId, current);
      },
      onPayload: (chunk, start, end) => {
        current?.feed(chunk, start, end);
        return true;
      },
    },
    16 << 20,
  );
  return { feed: (chunk, start, end) => void frames.feed(chunk, start, end), frames };
}
