import type { Container } from '../../core/model/container';
import type { DaemonPort } from './daemon-port';

/** The container as the model has it. One that was made behind our back is asked for; undefined when it is not there. */
export async function findContainer(daemon: DaemonPort, containerId: string): Promise<Container | undefined> {
  const known = daemon.node.containers.get(containerId);
  if (known || containerId === '') return known;
  const found = await daemon.readContainer(containerId);
  if (found === undefined || found.phase === 'exited') return undefined;
  await daemon.synchronize();
  return daemon.node.containers.get(containerId);
}
