import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

import * as nri from '../../gen/nri/v1alpha1/nri';
import { StatusCode, TtrpcError, type TtrpcHandler, type TtrpcRequest } from '../wire';
import type { NriHandlers, RequestContext, Update } from './handlers';
import type { RawPlugin, SynchronizationReader } from './nri-session';
import { EVENT_OF_METHOD, type EventMethod } from './protocol';

/** Maximum pods and containers of one list, far above what a node runs: a bound on what its pieces may add up to. */
const MAX_LISTED = 100_000;
/** Maximum bytes of one list. */
const MAX_LIST_BYTES = 64 << 20;

/** Numbers of the two fields that are read before a message is decoded. */
const STATE_CHANGE_EVENT_FIELD = 1;
const SYNCHRONIZE_MORE_FIELD = 3;

const EMPTY = new Uint8Array(0);

/** The raw plugin behind typed handlers. A message is decoded only when there is a handler for it. */
export function createRawPlugin(handlers: NriHandlers): RawPlugin {
  const callOfEvent = new Map<number, (message: unknown, request: TtrpcRequest) => Uint8Array | Promise<Uint8Array>>();
  const events: EventMethod[] = [];
  const methods: Record<string, TtrpcHandler> = {};
  const codecs = Object.entries(listCodecs()) as unknown as readonly [EventMethod, Codec<unknown, unknown>][];
  for (const [method, { decode, encode }] of codecs) {
    const handler = handlers[toHandlerName(method)]?.bind(handlers) as Handler | undefined;
    if (!handler) continue;
    const write = (answer: unknown): Uint8Array => (answer === undefined ? EMPTY : encode(answer));
    const call = (message: unknown, request: TtrpcRequest) => {
      const answer = handler(message, toContext(request));
      return answer instanceof Promise ? answer.then(write) : write(answer);
    };
    events.push(method);
    methods[method] = (request) => call(readMessage(decode, request), request);
    callOfEvent.set(EVENT_OF_METHOD[method], call);
  }
  methods['StateChange'] = (request) => {
    const call = callOfEvent.get(readMessage((payload) => readNumber(payload, STATE_CHANGE_EVENT_FIELD), request));
    return call
      ? call(
          readMessage((payload) => nri.StateChangeEvent.decode(payload), request),
          request,
        )
      : EMPTY;
  };
  return {
    events,
    methods,
    openSynchronization: () => new TypedSynchronization(handlers.synchronize?.bind(handlers)),
    configure: (config, runtime) => handlers.configure?.({ config, runtime }),
    shutdown: () => handlers.shutdown?.(),
  };
}

type Handler = (message: unknown, context: RequestContext) => unknown;

function toHandlerName<Method extends EventMethod>(method: Method): Uncapitalize<Method> {
  return `${method[0]!.toLowerCase()}${method.slice(1)}` as Uncapitalize<Method>;
}

/** Reads the request of a method and writes its answer. */
interface Codec<Request, Answer> {
  readonly decode: (payload: Uint8Array) => Request;
  readonly encode: (answer: Answer) => Uint8Array;
}

type HandlerOf<Method extends EventMethod> = NonNullable<NriHandlers[Uncapitalize<Method>]>;
type RequestOf<Method extends EventMethod> = Parameters<HandlerOf<Method>>[0];
type AnswerOf<Method extends EventMethod> = NonNullable<Awaited<ReturnType<HandlerOf<Method>>>>;

/**
 * The codecs of every event. A StateChangeEvent has the fields of the requests that it replaces, under the same names.
 *
 * This is a function, so that a bundle of a raw plugin leaves the codecs out.
 */
const listCodecs = (): { readonly [Method in EventMethod]: Codec<RequestOf<Method>, AnswerOf<Method>> } => ({
  RunPodSandbox: codecOf(nri.RunPodSandboxRequest),
  UpdatePodSandbox: codecOf(nri.UpdatePodSandboxRequest),
  PostUpdatePodSandbox: codecOf(nri.PostUpdatePodSandboxRequest),
  StopPodSandbox: codecOf(nri.StopPodSandboxRequest),
  RemovePodSandbox: codecOf(nri.RemovePodSandboxRequest),
  CreateContainer: codecOf(nri.CreateContainerRequest, nri.CreateContainerResponse),
  PostCreateContainer: codecOf(nri.PostCreateContainerRequest),
  StartContainer: codecOf(nri.StartContainerRequest),
  PostStartContainer: codecOf(nri.PostStartContainerRequest),
  UpdateContainer: codecOf(nri.UpdateContainerRequest, nri.UpdateContainerResponse),
  PostUpdateContainer: codecOf(nri.PostUpdateContainerRequest),
  StopContainer: codecOf(nri.StopContainerRequest, nri.StopContainerResponse),
  RemoveContainer: codecOf(nri.RemoveContainerRequest),
  ValidateContainerAdjustment: codecOf(nri.ValidateContainerAdjustmentRequest, nri.ValidateContainerAdjustmentResponse),
});

/** `answer` is absent for an event that takes none: what its handler returns is not read. */
function codecOf<Request, Answer>(
  request: { decode(payload: Uint8Array): Request },
  answer?: {
    fromPartial(answer: nri.DeepPartial<Answer>): Answer;
    encode(message: Answer): { finish(): Uint8Array };
  },
): Codec<Request, nri.DeepPartial<Answer>> {
  return {
    decode: (payload) => request.decode(payload),
    encode: (given) => (answer ? answer.encode(answer.fromPartial(given)).finish() : EMPTY),
  };
}

/** Collects the pieces of a list for the handler. Without a handler only the field `more` is read. */
class TypedSynchronization implements SynchronizationReader {
  private readonly pods: nri.PodSandbox[] = [];
  private readonly containers: nri.Container[] = [];
  private bytes = 0;

  constructor(private readonly handler: NriHandlers['synchronize']) {}

  add(request: TtrpcRequest): boolean {
    if (!this.handler) return readMessage((payload) => readNumber(payload, SYNCHRONIZE_MORE_FIELD), request) !== 0;
    this.bytes += request.payload.length;
    if (this.bytes <= MAX_LIST_BYTES) {
      const { pods, containers, more } = readMessage((payload) => nri.SynchronizeRequest.decode(payload), request);
      for (const pod of pods) this.pods.push(pod);
      for (const container of containers) this.containers.push(container);
      if (this.pods.length + this.containers.length <= MAX_LISTED) return more;
    }
    throw new TtrpcError(
      StatusCode.RESOURCE_EXHAUSTED,
      `Synchronize: more than ${MAX_LISTED} pods and containers, or than ${MAX_LIST_BYTES} bytes`,
    );
  }

  answer(request: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const write = (update: Updates): Uint8Array =>
      nri.SynchronizeResponse.encode(nri.SynchronizeResponse.fromPartial({ update: [...(update ?? [])] })).finish();
    const { pods, containers } = this;
    const update = this.handler?.({ pods, containers }, toContext(request)) as Updates | Promise<Updates>;
    return update instanceof Promise ? update.then(write) : write(update);
  }
}

type Updates = readonly Update[] | undefined;

/** The signal stays a getter: it is made when it is asked for. */
function toContext(request: TtrpcRequest): RequestContext {
  return {
    ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
    get signal() {
      return request.signal;
    },
  };
}

/** Reads the payload. Throws TtrpcError INVALID_ARGUMENT where it is no message of the method. */
function readMessage<T>(read: (payload: Uint8Array) => T, { method, payload }: TtrpcRequest): T {
  try {
    return read(payload);
  } catch (error) {
    throw new TtrpcError(StatusCode.INVALID_ARGUMENT, `${method}: the request is not a message of this method`, {
      cause: error,
    });
  }
}

/**
 * Reads an enum or a bool of a message and skips its other fields; 0 when it is absent. Throws Error for bytes that are
 * no message.
 */
function readNumber(payload: Uint8Array, fieldNumber: number): number {
  const reader = new BinaryReader(payload);
  let value = 0;
  while (reader.pos < reader.len) {
    const [number, wireType] = reader.tag();
    if (number === fieldNumber && wireType === WireType.Varint) value = reader.int32();
    else reader.skip(wireType, number);
  }
  return value;
}
