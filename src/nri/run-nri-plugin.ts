import * as nri from '../../gen/nri/v1alpha1/nri';
import { StatusCode, TtrpcError, type TtrpcHandler, type TtrpcRequest } from '../wire';
import type { NriHandlers, RequestContext } from './handlers';
import type { RawPlugin, SynchronizationReader } from './nri-session';
import { EVENT_OF_METHOD, type EventMethod } from './protocol';
import { serveNri, type ConnectionOptions, type NriPlugin } from './serve-nri';

/** The options of a plugin with typed handlers. */
export interface NriPluginOptions extends Omit<ConnectionOptions, 'name' | 'index'> {
  /** Name to register with. Default: `NRI_PLUGIN_NAME`, which a runtime sets for a plugin that it starts itself. */
  readonly name?: string | undefined;
  /** Two digits, as text; runtimes call their plugins in this order. Default: `NRI_PLUGIN_IDX`. */
  readonly index?: string | undefined;
  /** The events that the plugin wants, and its answers. Only these are subscribed to. */
  readonly handlers: NriHandlers;
}

/**
 * Runs an NRI plugin until the signal aborts, over as many connections as it takes: a runtime that is not there yet, or restarts, is
 * connected as soon as it is back, and lists its containers anew (`synchronize`).
 *
 * A handler that throws {@link TtrpcError} fails the request with its code and text, and any other error fails it as INTERNAL; a
 * runtime then does not create or update the container. A handler that takes longer than the runtime's request timeout (2 s by
 * default) costs the connection. Throws TypeError when there is no name or index.
 *
 * A plugin that the runtime starts itself needs neither name, index nor socketPath: they come in the environment.
 */
export function runNriPlugin({ handlers, ...options }: NriPluginOptions): NriPlugin {
  const { env } = process;
  const name = options.name ?? env['NRI_PLUGIN_NAME'];
  const index = options.index ?? env['NRI_PLUGIN_IDX'];
  if (name === undefined || index === undefined)
    throw new TypeError('an NRI plugin has a name and an index of two digits: set the options name and index');
  const descriptor = env['NRI_PLUGIN_SOCKET'];
  const socketPath = options.socketPath ?? (descriptor === undefined ? undefined : Number(descriptor));
  return serveNri({ ...options, name, index, socketPath, plugin: createRawPlugin(handlers) });
}

/** Most pods and containers of one list, and most bytes: far above what a node runs, a bound on what the pieces may add up to. */
const MAX_ITEMS = 100_000;
const MAX_BYTES = 64 << 20;

const EMPTY = new Uint8Array(0);

/** The raw plugin behind typed handlers. A message is decoded only when there is a handler for it. */
export function createRawPlugin(handlers: NriHandlers): RawPlugin {
  const { configure, shutdown } = handlers;
  const calls = new Map<EventMethod, Call>();
  const methodOfEvent = new Map<number, EventMethod>();
  const callOf = listCalls();
  for (const method of Object.keys(EVENT_OF_METHOD) as EventMethod[]) {
    methodOfEvent.set(EVENT_OF_METHOD[method], method);
    const call = callOf[method](handlers);
    if (call) calls.set(method, call);
  }
  const methods: Record<string, TtrpcHandler> = Object.fromEntries(
    [...calls].map(([method, { decode, run }]) => [
      method,
      (request: TtrpcRequest) =>
        run(
          readMessage(() => decode(request.payload), method),
          contextOf(request),
        ),
    ]),
  );
  methods['StateChange'] = (request) => {
    const change = readMessage(() => nri.StateChangeEvent.decode(request.payload), 'StateChange');
    const method = methodOfEvent.get(change.event);
    const call = method && calls.get(method);
    return call ? call.run(change, contextOf(request)) : EMPTY;
  };
  return {
    events: [...calls.keys()],
    methods,
    openSynchronization: () => new TypedSynchronization(handlers.synchronize),
    ...(configure && { configure: (config, runtime) => configure({ config, runtime }) }),
    ...(shutdown && { shutdown }),
  };
}

/** A handler with the codecs of its method. Requests are those of its own method or a StateChangeEvent, which has the same fields. */
interface Call {
  readonly decode: (payload: Uint8Array) => unknown;
  readonly run: (request: unknown, context: RequestContext) => Uint8Array | Promise<Uint8Array>;
}

interface Decoder<T> {
  decode(payload: Uint8Array): T;
}

interface Encoder<T> {
  fromPartial(answer: nri.DeepPartial<T>): T;
  encode(message: T): { finish(): Uint8Array };
}

type Handler<Request, Answer> = (request: Request, context: RequestContext) => Answer | Promise<Answer>;

/** An event that may be answered. */
function asking<Request, Answer>(
  request: Decoder<Request>,
  answer: Encoder<Answer>,
  pick: (handlers: NriHandlers) => Handler<Request, nri.DeepPartial<Answer> | undefined> | undefined,
) {
  const write = (given: nri.DeepPartial<Answer> | undefined): Uint8Array =>
    given === undefined ? EMPTY : answer.encode(answer.fromPartial(given)).finish();
  return (handlers: NriHandlers): Call | undefined => {
    const handler = pick(handlers);
    return (
      handler && {
        decode: (payload) => request.decode(payload),
        run: (message, context) => {
          const given = handler(message as Request, context);
          return given instanceof Promise ? given.then(write) : write(given);
        },
      }
    );
  };
}

/** An event that is only told. */
function telling<Request>(
  request: Decoder<Request>,
  pick: (handlers: NriHandlers) => Handler<Request, void> | undefined,
) {
  // An answer without fields: what the handler returns is not read.
  return asking(request, nri.Empty, pick as (handlers: NriHandlers) => Handler<Request, undefined> | undefined);
}

/** The codecs of every event. A function, so that a bundle of a raw plugin leaves them out. */
const listCalls = (): Readonly<Record<EventMethod, (handlers: NriHandlers) => Call | undefined>> => ({
  RunPodSandbox: telling(nri.RunPodSandboxRequest, ({ runPodSandbox }) => runPodSandbox),
  UpdatePodSandbox: telling(nri.UpdatePodSandboxRequest, ({ updatePodSandbox }) => updatePodSandbox),
  PostUpdatePodSandbox: telling(nri.PostUpdatePodSandboxRequest, ({ postUpdatePodSandbox }) => postUpdatePodSandbox),
  StopPodSandbox: telling(nri.StopPodSandboxRequest, ({ stopPodSandbox }) => stopPodSandbox),
  RemovePodSandbox: telling(nri.RemovePodSandboxRequest, ({ removePodSandbox }) => removePodSandbox),
  CreateContainer: asking(
    nri.CreateContainerRequest,
    nri.CreateContainerResponse,
    ({ createContainer }) => createContainer,
  ),
  PostCreateContainer: telling(nri.PostCreateContainerRequest, ({ postCreateContainer }) => postCreateContainer),
  StartContainer: telling(nri.StartContainerRequest, ({ startContainer }) => startContainer),
  PostStartContainer: telling(nri.PostStartContainerRequest, ({ postStartContainer }) => postStartContainer),
  UpdateContainer: asking(
    nri.UpdateContainerRequest,
    nri.UpdateContainerResponse,
    ({ updateContainer }) => updateContainer,
  ),
  PostUpdateContainer: telling(nri.PostUpdateContainerRequest, ({ postUpdateContainer }) => postUpdateContainer),
  StopContainer: asking(nri.StopContainerRequest, nri.StopContainerResponse, ({ stopContainer }) => stopContainer),
  RemoveContainer: telling(nri.RemoveContainerRequest, ({ removeContainer }) => removeContainer),
  ValidateContainerAdjustment: asking(
    nri.ValidateContainerAdjustmentRequest,
    nri.ValidateContainerAdjustmentResponse,
    ({ validateContainerAdjustment }) => validateContainerAdjustment,
  ),
});

/** Collects the pieces of a list for the handler, if there is one; else they are read only as far as to know the last. */
class TypedSynchronization implements SynchronizationReader {
  private readonly pods: nri.PodSandbox[] = [];
  private readonly containers: nri.Container[] = [];
  private bytes = 0;

  constructor(private readonly handler: NriHandlers['synchronize']) {}

  add({ payload }: TtrpcRequest): boolean {
    const { pods, containers, more } = readMessage(() => nri.SynchronizeRequest.decode(payload), 'Synchronize');
    if (!this.handler) return more;
    this.bytes += payload.length;
    for (const pod of pods) this.pods.push(pod);
    for (const container of containers) this.containers.push(container);
    if (this.pods.length + this.containers.length > MAX_ITEMS || this.bytes > MAX_BYTES) {
      throw new TtrpcError(
        StatusCode.RESOURCE_EXHAUSTED,
        `Synchronize: more than ${MAX_ITEMS} pods and containers, or than ${MAX_BYTES} bytes`,
      );
    }
    return more;
  }

  answer(request: TtrpcRequest): Uint8Array | Promise<Uint8Array> {
    const write = (update: readonly nri.DeepPartial<nri.ContainerUpdate>[] | undefined): Uint8Array =>
      nri.SynchronizeResponse.encode(nri.SynchronizeResponse.fromPartial({ update: [...(update ?? [])] })).finish();
    const { pods, containers } = this;
    const given = this.handler?.({ pods, containers }, contextOf(request));
    return given instanceof Promise ? given.then(write) : write(given);
  }
}

function contextOf(request: TtrpcRequest): RequestContext {
  return {
    ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
    get signal() {
      return request.signal;
    },
  };
}

function readMessage<T>(read: () => T, method: string): T {
  try {
    return read();
  } catch (error) {
    throw new TtrpcError(StatusCode.INVALID_ARGUMENT, `${method}: the request is not a message of this method`, {
      cause: error,
    });
  }
}
