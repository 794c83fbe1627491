import type { Container } from '../../core/model/container';
import type { DaemonPort } from './daemon-port';

/**
 * The container of the model. One that is not in the model is read from the runtime; undefined when it is not there
 * either.
 */
export async function findContainer(daemon: DaemonPort, containerId: string): Promise<Container | undefined> {
  const known = daemon.node.containers.get(containerId);
  if (known || containerId === '') return known;
  const found = await daemon.readContainer(containerId);
  if (found === undefined || found.phase === 'exited') return undefined;
  await daemon.synchronize();
  return daemon.node.containers.get(containerId);
}
