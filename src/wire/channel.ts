/** Why a channel or a mux came to its end. */
export interface CloseReason {
  /** `us`: close() was called. `peer`: the other side went away. `fault`: the connection could not be trusted any more. */
  readonly by: 'us' | 'peer' | 'fault';
  /** For the operator, without secrets of either side. */
  readonly because: string;
  readonly cause?: unknown;
}

/**
 * An ordered, reliable stream of bytes in both directions: a socket of its own ({@link SocketChannel}) or one
 * connection of a mux ({@link Mux.open}). It knows no messages, but what is sent in one piece is one message, because
 * the mux has rules about where a message may begin.
 */
export interface ByteChannel {
  /** Bytes that the sender leaves free in front of a message, for the channel's own header. */
  readonly headroom: number;
  /** Bytes that were sent and have not been taken by the kernel. Channels of one mux share this number. */
  readonly queuedBytes: number;
  /** A message that would bring a non-empty queue beyond this ends the connection: ask `queuedBytes` first. */
  readonly maxQueuedBytes: number;
  /** Settles, once and never with an error, when the channel has ended and holds nothing any more. */
  readonly closed: Promise<CloseReason>;

  /** Names the one receiver. Until then nothing is read, so no byte is lost. */
  receive(receiver: Receiver): void;
  /** Sends one message that begins behind `headroom` bytes; the buffer belongs to the channel from now on. */
  send(packet: Buffer): void;
  /** Stops reading, from the peer's next frame at the latest. Channels of one mux stop together: it has no flow control. */
  pause(): void;
  resume(): void;
  /** Ends the channel; what was sent before still goes out. Closing twice is harmless. */
  close(because: string): void;
}

/** Who takes what arrives on a channel. */
export interface Receiver {
  /** Bytes start..end of the chunk, cut anywhere. They stay as they are for as long as someone refers to them. */
  onBytes(chunk: Buffer, start: number, end: number): void;
  /** The send queue is empty again. */
  onDrain(): void;
  /** The last call. */
  onClose(reason: CloseReason): void;
}
