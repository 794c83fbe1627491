import { connectAdmin } from '../../admin/client/admin-client';
import { HEALTH_SERVICES } from '../../admin/health-state';
import { describeMachine } from '../../admin/machine/describe-machine';
import { viewStatus } from '../../admin/machine/machine-view';
import type { Collected, Missing, Part } from './part';

/** Time in which the daemon has to answer each question, in ms. They are asked at once. */
const ANSWER_MS = 3_000;

/** The daemon's description of itself. Throws CpusetdError when there is none. */
export async function askDaemon(adminSocket: string, answerMs = ANSWER_MS): Promise<Collected> {
  const client = await connectAdmin(adminSocket, { callTimeoutMs: answerMs });
  const questions: Readonly<Record<string, () => Promise<unknown>>> = {
    'daemon/status.json': () => client.status(),
    'daemon/topology.json': async () => describeMachine(viewStatus(await client.topology())),
    'daemon/health.json': async () =>
      Object.fromEntries(
        await Promise.all(
          HEALTH_SERVICES.map(async (service) => [
            service || '(all)',
            (await client.checkHealth(service)) ?? 'UNKNOWN SERVICE',
          ]),
        ),
      ) as unknown,
  };
  const parts: Part[] = [];
  const missing: Missing[] = [];
  try {
    await Promise.all(
      Object.entries(questions).map(async ([name, ask]) => {
        try {
          parts.push({ name, data: await ask() });
        } catch (error) {
          missing.push({ name, because: (error as Error).message });
        }
      }),
    );
  } finally {
    client.close();
  }
  return { parts, missing };
}
