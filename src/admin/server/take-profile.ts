import { Session } from 'node:inspector/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { getHeapSnapshot, getHeapStatistics } from 'node:v8';
import { CpusetdError } from '../../core/errors';

export type ProfileSubject = { readonly kind: 'cpu'; readonly seconds: number } | { readonly kind: 'heap' };

/** The process stands still for some seconds at this size. */
const MAX_HEAP_BYTES = 256 * 1024 * 1024;
/** Between two samples: a thousandth of a second, so that a minute has some megabytes at most. */
const SAMPLE_US = 1_000;
const PART_BYTES = 64 * 1024;

/**
 * The parts of a file that the Chrome DevTools read. A CPU profile slows the process by a few per cent while it is
 * taken; a heap snapshot stops it until the snapshot is made, and its text is then written as it is read. Throws
 * CpusetdError.
 */
export async function* takeProfile(subject: ProfileSubject, signal: AbortSignal): AsyncGenerator<Buffer> {
  if (subject.kind === 'cpu') yield* split(await takeCpuProfile(subject.seconds, signal));
  else yield* readHeap();
}

async function takeCpuProfile(seconds: number, signal: AbortSignal): Promise<Buffer> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: SAMPLE_US });
    await session.post('Profiler.start');
    await delay(seconds * 1_000, undefined, { signal });
    const { profile } = await session.post('Profiler.stop');
    return Buffer.from(JSON.stringify(profile));
  } finally {
    session.disconnect();
  }
}

/** `node:v8` makes the same snapshot as a session of `node:inspector`, and does not keep its text in memory. */
async function* readHeap(): AsyncGenerator<Buffer> {
  const { used_heap_size: used } = getHeapStatistics();
  if (used > MAX_HEAP_BYTES)
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `${Math.round(used / 1_048_576)} MiB are in use, and a snapshot of more than ${MAX_HEAP_BYTES / 1_048_576} MiB would stop cpusetd for too long`,
    );
  for await (const chunk of getHeapSnapshot() as AsyncIterable<Buffer | string>) yield* split(Buffer.from(chunk));
}

function* split(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += PART_BYTES) yield bytes.subarray(from, from + PART_BYTES);
}
