/** The reason of the end of a channel or a mux. */
export interface CloseReason {
  /**
   * `us`: close() was called. `peer`: the other side closed the connection. `fault`: the bytes or the socket are not
   * usable any more.
   */
  readonly by: 'us' | 'peer' | 'fault';
  /** A text for the operator, without secrets of either side. */
  readonly because: string;
  /** The error of the socket, where there is one. */
  readonly cause?: unknown;
}

/**
 * An ordered, reliable stream of bytes in both directions: a socket of its own ({@link SocketChannel}) or one
 * connection of a mux ({@link Mux.open}). A channel does not read messages, but each `send` is one message,
 * because the mux has rules about where a message may begin.
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

  /**
   * Sets the one receiver. Nothing is read before, so no byte is lost. Throws Error when there is a receiver already.
   */
  receive(receiver: Receiver): void;
  /** Sends one message that begins behind `headroom` bytes; the buffer belongs to the channel from now on. */
  send(packet: Buffer): void;
  /**
   * Stops reading, from the peer's next frame at the latest. Channels of one mux stop together: it has no flow control.
   */
  pause(): void;
  /** Goes on with reading. */
  resume(): void;
  /** Ends the channel; what was sent before still goes out. Closing twice is harmless. */
  close(because: string): void;
}

/** Takes the bytes and the events of a channel. */
export interface Receiver {
  /**
   * Receives bytes start..end of the chunk, cut anywhere. They do not change afterwards, so a view of them may be kept.
   */
  onBytes(chunk: Buffer, start: number, end: number): void;
  /** Called when the send queue is empty again. */
  onDrain(): void;
  /** Called once, as the last call. */
  onClose(reason: CloseReason): void;
}
