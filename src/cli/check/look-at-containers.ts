import type { CriClient } from '../../cri/client';
import type { Cgroups } from '../../host';
import { answerOf } from './answer-of';
import type { LookedAt, NodeFacts } from './facts';

/** Most containers that the runtime is asked for, one by one. */
const MAX_LOOKED_AT = 16;
/** Time for all of them: a slow runtime delays the report, and does not hold it up. */
const TOTAL_MS = 3_000;

/**
 * Finds the cgroups of running containers. A container that the runtime can't describe hides no others, and is said.
 * Throws nothing but programming errors.
 */
export async function lookAtContainers(
  client: Pick<CriClient, 'listContainers' | 'readContainer'>,
  { locate }: Pick<Cgroups, 'locate'>,
  nowMs: () => number = () => performance.now(),
): Promise<Required<Pick<NodeFacts, 'containers'>> & Pick<NodeFacts, 'unseenContainers'>> {
  const untilMs = nowMs() + TOTAL_MS;
  const limit = (): { readonly timeoutMs: number } => ({ timeoutMs: Math.max(1, Math.ceil(untilMs - nowMs())) });
  const listed = await answerOf(client.listContainers(limit()));
  if (!listed.ok) return { containers: [], unseenContainers: `the runtime did not list them: ${listed.because}` };
  const running = listed.value.filter(({ phase }) => phase === 'running').slice(0, MAX_LOOKED_AT);
  const containers: LookedAt[] = [];
  const problems: string[] = [];
  for (const [i, { id }] of running.entries()) {
    if (nowMs() >= untilMs) {
      problems.push(`the runtime had no time for ${running.length - i} of ${running.length}`);
      break;
    }
    const container = await answerOf(client.readContainer(id, limit()));
    if (!container.ok) problems.push(`the runtime did not describe container ${id}: ${container.because}`);
    else if (container.value?.phase === 'running') containers.push({ id, cgroup: locate(container.value) });
  }
  const [first] = problems;
  return { containers, ...(first !== undefined && { unseenContainers: first }) };
}
