import type { Container } from '../../core/model/container';
import type { Ports } from './daemon-port';

/** The container as the model has it. One that was made behind our back is asked for; undefined when it is not there. */
export async function findContainer(ports: Ports, containerId: string): Promise<Container | undefined> {
  const known = ports.node.containers.get(containerId);
  if (known || containerId === '') return known;
  const found = await ports.readContainer(containerId);
  if (found === undefined || found.phase === 'exited') return undefined;
  await ports.synchronize();
  return ports.node.containers.get(containerId);
}
