import { CpuManagerDefinition } from '../../../gen/cpusetd/v1/cpusetd';
import { ProfilerDefinition, ProfileRequest } from '../../../gen/cpusetd/v1/profiler';
import { HealthCheckResponse_ServingStatus as Serving, HealthDefinition } from '../../../gen/grpc/health/v1/health';
import { CpusetdError, type ErrorCode } from '../../core/errors';
import { probeSocket, type SocketPresence } from '../../net/claim-socket';
import { GrpcClient } from '../../net/grpc-client';
import type { ExplainFailure } from '../../net/grpc-error';
import { decodeExplanation, encodeExplainQuery } from '../codec/explain';
import { decodeChange, decodeStatus } from '../codec/status';
import { decodeTopology } from '../codec/topology';
import type { ServingStatus } from '../health-state';
import type { ExplainQuery, Explanation } from '../model/explanation';
import type { Status, StatusChange, TopologyStatus } from '../model/status';

const CALL_TIMEOUT_MS = 5_000;
/** Enough for the status of thousands of containers. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const { fullName: service, methods } = CpuManagerDefinition;
const { fullName: healthService, methods: healthMethods } = HealthDefinition;

/**
 * Throws CpusetdError UNAVAILABLE when no daemon answers on the socket, PERMISSION_DENIED when it may not be opened.
 */
export async function connectAdmin(
  socketPath: string,
  { callTimeoutMs = CALL_TIMEOUT_MS }: { readonly callTimeoutMs?: number } = {},
): Promise<AdminClient> {
  const presence = await probeSocket(socketPath);
  if (presence !== 'live') throw new CpusetdError(...UNREACHABLE[presence](socketPath));
  return new AdminClient(socketPath, callTimeoutMs);
}

/** Calls a running daemon over its admin socket. Every method throws CpusetdError with a message for the operator. */
export class AdminClient {
  private readonly client: GrpcClient;

  /** Use `connectAdmin`, which explains why a socket can't be used. */
  constructor(
    private readonly socketPath: string,
    private readonly timeoutMs: number,
  ) {
    this.client = new GrpcClient({
      endpoint: socketPath,
      service,
      peer: 'cpusetd',
      explain: explainFailureAt(socketPath),
      maxAnswerBytes: MAX_ANSWER_BYTES,
    });
  }

  /** `signal`: cancels the call, which throws CANCELLED then. */
  async status(signal?: AbortSignal): Promise<Status> {
    const options = { timeoutMs: this.timeoutMs, ...(signal && { signal }) };
    const { status } = await this.client.call(methods.getStatus, {}, options);
    if (status) return decodeStatus(status);
    throw new CpusetdError('DATA_LOSS', `what answers on ${this.socketPath} sent no status; is it cpusetd?`);
  }

  /** The full status, then changes, until the signal aborts or the daemon ends it. */
  async *watch(signal: AbortSignal): AsyncGenerator<StatusChange> {
    for await (const event of this.client.stream(methods.watchStatus, {}, { signal })) {
      const change = decodeChange(event);
      if (change) yield change;
    }
  }

  async topology(): Promise<TopologyStatus> {
    return decodeTopology(await this.client.call(methods.getTopology, {}, { timeoutMs: this.timeoutMs }));
  }

  async explain(query: ExplainQuery): Promise<Explanation> {
    return decodeExplanation(
      await this.client.call(methods.explain, encodeExplainQuery(query), { timeoutMs: this.timeoutMs }),
    );
  }

  /**
   * A CPU profile of some seconds, or a heap snapshot: the parts of its file. Throws CpusetdError when the signal
   * aborts.
   */
  async *profile(subject: { readonly cpuSeconds: number } | 'heap', signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const request = ProfileRequest.create(subject === 'heap' ? { heap: {} } : { cpu: { seconds: subject.cpuSeconds } });
    const options = { signal, service: ProfilerDefinition.fullName };
    for await (const { part } of this.client.stream(ProfilerDefinition.methods.profile, request, options)) yield part;
    if (signal.aborted) throw new CpusetdError('CANCELLED', 'the profile was not taken to its end');
  }

  /** Undefined for a service that the daemon does not know. */
  async checkHealth(service: string): Promise<ServingStatus | undefined> {
    try {
      const options = { timeoutMs: this.timeoutMs, service: healthService };
      return decodeServing((await this.client.call(healthMethods.check, { service }, options)).status);
    } catch (error) {
      if (error instanceof CpusetdError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  /**
   * The health of a service now, then at every change, until the signal aborts or the daemon ends it. Undefined as
   * above.
   */
  async *watchHealth(service: string, signal: AbortSignal): AsyncGenerator<ServingStatus | undefined> {
    const options = { signal, service: healthService };
    for await (const { status } of this.client.stream(healthMethods.watch, { service }, options))
      yield decodeServing(status);
  }

  close(): void {
    this.client.close();
  }
}

function decodeServing(status: Serving): ServingStatus | undefined {
  if (status === Serving.SERVICE_UNKNOWN) return undefined;
  return status === Serving.SERVING ? 'SERVING' : 'NOT_SERVING';
}

/**
 * The daemon's own message. When it listens and does not answer, ours instead of the library's, which names its
 * internals.
 */
function explainFailureAt(socketPath: string): ExplainFailure {
  return ({ code, details, timeoutMs }) => {
    if (code !== 'DEADLINE_EXCEEDED' || timeoutMs === undefined) return details;
    const fault = `cpusetd at ${socketPath} has not answered within ${timeoutMs / 1000} s`;
    return `${fault}; its process is stopped or very busy: look at it and at its log, and try again`;
  };
}

const UNREACHABLE: Readonly<
  Record<Exclude<SocketPresence, 'live'>, (path: string) => [code: ErrorCode, message: string]>
> = {
  absent: (path) => [
    'UNAVAILABLE',
    `no cpusetd at ${path}: there is no such socket; start cpusetd, or name its socket with --admin-socket`,
  ],
  stale: (path) => ['UNAVAILABLE', `no cpusetd at ${path}: nobody listens there any more; start cpusetd`],
  denied: (path) => [
    'PERMISSION_DENIED',
    `can't open ${path}: only the user who runs cpusetd may ask it; try again as root`,
  ],
  'not-a-socket': (path) => [
    'UNAVAILABLE',
    `no cpusetd at ${path}: this is not a socket; name its socket with --admin-socket`,
  ],
};
