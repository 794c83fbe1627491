import type { ContainerInfo } from '../../../src/core/model/events';
import type { DaemonPort } from '../../../src/cri/interceptors/daemon-port';
import { findContainer } from '../../../src/cri/interceptors/find-container';
import { NodeDriver } from '../../core/transition/node-driver';

function portOn(node: NodeDriver, runtimeHas?: Partial<ContainerInfo>) {
  const synchronize = jest.fn(() => {
    node.run('make p/a 2');
    return Promise.resolve();
  });
  const readContainer = jest.fn(() => Promise.resolve(runtimeHas as ContainerInfo | undefined));
  return { node: node.model, synchronize, readContainer } as unknown as DaemonPort & {
    readonly synchronize: jest.Mock;
    readonly readContainer: jest.Mock;
  };
}

test('a container of the model is found without a call to the runtime', async () => {
  const node = new NodeDriver().run('make p/a 2');
  const port = portOn(node);
  await expect(findContainer(port, 'p/a#1')).resolves.toBe(node.container('p/a'));
  expect(port.readContainer).not.toHaveBeenCalled();
});

test('a container that only the runtime has is found after a synchronization', async () => {
  const port = portOn(new NodeDriver(), { id: 'p/a#1', phase: 'running' });
  await expect(findContainer(port, 'p/a#1')).resolves.toMatchObject({ id: 'p/a#1' });
});

test.each([
  ['is not in the runtime', undefined],
  ['has exited', { phase: 'exited' as const }],
])('a container that %s is not found', async (_name, runtimeHas) => {
  const port = portOn(new NodeDriver(), runtimeHas);
  await expect(findContainer(port, 'p/a#1')).resolves.toBeUndefined();
  expect(port.synchronize).not.toHaveBeenCalled();
});

test('an empty id is not looked up', async () => {
  const port = portOn(new NodeDriver());
  await expect(findContainer(port, '')).resolves.toBeUndefined();
  expect(port.readContainer).not.toHaveBeenCalled();
});
