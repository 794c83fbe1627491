import { once } from 'node:events';
import type * as grpc from '@grpc/grpc-js';
import { ProfilerDefinition, type ProfileRequest, ProfileResponse } from '../../../gen/cpusetd/v1/profiler';
import { CpusetdError } from '../../core/errors';
import { toGrpcService } from '../../net/grpc-service';
import type { ProfileSubject } from './take-profile';
import { toServiceError, type AdminLog } from '../grpc/unary-handler';

export interface ProfilerParts {
  /** False = refused, with the remedy. */
  readonly allowsProfiles: () => boolean;
  readonly log: AdminLog;
  readonly closing: AbortSignal;
  /** Maximum time for reading a profile that was taken. */
  readonly readMs?: number;
}

type ProfileCall = grpc.ServerWritableStream<ProfileRequest, ProfileResponse>;

const MAX_SECONDS = 60;
/** A reader that stops in the middle keeps a snapshot in memory for no longer. */
const READ_MS = 60_000;

/** Adds cpusetd.v1.Profiler: one profile at a time. */
export function addProfilerService(server: grpc.Server, parts: ProfilerParts): void {
  const { allowsProfiles, log, closing, readMs = READ_MS } = parts;
  let isTaking = false;
  const begin = (call: ProfileCall): Promise<void> => {
    if (!allowsProfiles()) throw NOT_ALLOWED;
    const subject = toSubject(call.request);
    if (isTaking) throw new CpusetdError('RESOURCE_EXHAUSTED', 'another profile is being taken: wait for its end');
    const ended = new AbortController();
    call.once('cancelled', () => ended.abort());
    const seconds = subject.kind === 'cpu' ? subject.seconds : 0;
    const signal = AbortSignal.any([closing, ended.signal, AbortSignal.timeout(seconds * 1_000 + readMs)]);
    log.warn({ profile: subject }, 'a profile of cpusetd is taken');
    isTaking = true;
    return send(call, subject, signal)
      .catch((error: unknown) => {
        throw signal.aborted ? TOO_LATE : error;
      })
      .finally(() => (isTaking = false));
  };
  const profile = (call: ProfileCall): void => {
    (async () => begin(call))().catch((error: unknown) => call.emit('error', toServiceError(error, log)));
  };
  server.addService(toGrpcService(ProfilerDefinition), { profile });
}

const NOT_ALLOWED = new CpusetdError(
  'FAILED_PRECONDITION',
  'profiles are off here: set --profiling on, which needs no restart',
);
const TOO_LATE = new CpusetdError('CANCELLED', 'the profile was not read to its end in time, or cpusetd ends');

async function send(call: ProfileCall, subject: ProfileSubject, signal: AbortSignal): Promise<void> {
  const { takeProfile } = await import('./take-profile');
  for await (const part of takeProfile(subject, signal)) {
    signal.throwIfAborted();
    if (!call.write(ProfileResponse.create({ part }))) await once(call, 'drain', { signal });
  }
  call.end();
}

/** Throws CpusetdError for a request that asks for nothing, or for too much. */
function toSubject({ cpu, heap }: ProfileRequest): ProfileSubject {
  if (heap) return { kind: 'heap' };
  if (!cpu) throw new CpusetdError('INVALID_ARGUMENT', 'name a CPU profile or a heap snapshot');
  const { seconds } = cpu;
  if (seconds >= 1 && seconds <= MAX_SECONDS) return { kind: 'cpu', seconds };
  throw new CpusetdError('INVALID_ARGUMENT', `a CPU profile takes 1 to ${MAX_SECONDS} seconds, not ${seconds}`);
}
