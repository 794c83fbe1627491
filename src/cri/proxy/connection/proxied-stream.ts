import type { OwnError } from '../proxy-errors';
import type { GrpcMessage } from '../grpc/message';
import { MessageAssembler } from '../grpc/message-assembler';
import { MessageBoundary } from '../grpc/message-boundary';
import type { Frame } from '../http2/frame';
import type { InterceptedCall } from './intercepted-call';

/** A request that is held until it is complete and decided upon. */
export interface RequestHold {
  readonly assembler: MessageAssembler;
  readonly messages: GrpcMessage[];
  /** DATA for which the kubelet was not yet credited on this stream. */
  uncreditedBytes: number;
  /** The length announced, when it is over the limit; otherwise 0. */
  tooLongBytes: number;
}

/** DATA towards the runtime that waits for its window. */
export interface Outbox {
  readonly pieces: Buffer[];
  leftBytes: number;
  endStream: boolean;
}

/** What comes for a stream from the runtime's side: frames that belong together, or the news that nothing more will come. */
export type Arrival = { readonly frames: readonly [Frame, ...Frame[]] } | { readonly lost: OwnError };

/** One HTTP/2 stream that both peers hold open: a call. */
export class Stream {
  /** The kubelet has sent all of its request. */
  hasRequestEnded = false;
  /** Header fields of an answer were passed on. */
  hasAnswerBegun = false;
  readonly answerBoundary = new MessageBoundary();
  /** We, not the kubelet, send this stream's request DATA: its flow control towards the runtime is ours. */
  readonly isRequestOurs: boolean;
  hold: RequestHold | undefined;
  outbox: Outbox | undefined;
  /** Counted against `HeldBytes`. */
  heldBytes = 0;
  /** For a request that is ours: DATA sent to the runtime, and the runtime's credits for this stream. */
  sentBytes = 0;
  windowUpdates = 0;
  /** Counted against `RelayOptions.open`. */
  openBytes = 0;
  /** `onRequest` has not given its verdict, whether the call goes on or not. */
  isDeciding = false;
  isHookBusy = false;
  /** What came while a hook was busy; the first one is what the hook looks at. */
  pending: Arrival[] = [];

  constructor(
    readonly id: number,
    /** Its call never ends by itself. */
    readonly isEndless: boolean,
    readonly call: InterceptedCall | undefined,
    maxMessageBytes: number,
  ) {
    this.isRequestOurs = call?.interceptor.onRequest !== undefined;
    if (this.isRequestOurs) this.hold = createHold(maxMessageBytes);
  }
}

function createHold(maxMessageBytes: number): RequestHold {
  const assembler = new MessageAssembler(maxMessageBytes, (announcedBytes) => (hold.tooLongBytes = announcedBytes));
  const hold: RequestHold = { assembler, messages: [], uncreditedBytes: 0, tooLongBytes: 0 };
  return hold;
}
