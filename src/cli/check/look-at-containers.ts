import { CpusetdError } from '../../core/errors';
import type { CriClient } from '../../cri/client';
import type { Cgroups } from '../../host';
import type { LookedAt } from './facts';

/** Most containers that the runtime is asked for, one by one. */
const MAX_LOOKED_AT = 16;
/** Time for all of them: a slow runtime delays the report, and does not hold it up. */
const TOTAL_MS = 3_000;

/**
 * Finds the cgroups of running containers. One that the runtime can't tell about is left out; those that it has no time for are, too.
 * Throws nothing but programming errors.
 */
export async function lookAtContainers(
  client: Pick<CriClient, 'listContainers' | 'readContainer'>,
  { locate }: Pick<Cgroups, 'locate'>,
  nowMs: () => number = () => performance.now(),
): Promise<readonly LookedAt[]> {
  const untilMs = nowMs() + TOTAL_MS;
  const limit = (): { readonly timeoutMs: number } => ({ timeoutMs: Math.max(1, Math.ceil(untilMs - nowMs())) });
  const listed = (await orNothing(client.listContainers(limit()))) ?? [];
  const running = listed.filter(({ phase }) => phase === 'running').slice(0, MAX_LOOKED_AT);
  const containers: LookedAt[] = [];
  for (const { id } of running) {
    if (nowMs() >= untilMs) break;
    const container = await orNothing(client.readContainer(id, limit()));
    if (container?.phase === 'running') containers.push({ id, cgroup: locate(container) });
  }
  return containers;
}

async function orNothing<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CpusetdError) return undefined;
    throw error;
  }
}
