import { namesIn } from '../../../src/core/model/names-of';
import { NodeDriver } from '../transition/node-driver';

test('a container is named with its pod', () => {
  const node = new NodeDriver().run('make p/a 2');
  expect(namesIn(node.model, node.container('p/a')!)).toEqual({
    podUid: 'p',
    pod: 'ns/p',
    container: 'a',
    containerId: 'p/a#1',
  });
});

test('a container without a pod has the pod name of an assignment, or none', () => {
  const node = new NodeDriver().run('make p/a 2');
  const container = node.container('p/a')!;
  const view = { pods: new Map(), podsOf: () => [], assignmentsOf: (uid: string) => node.model.assignmentsOf(uid) };
  expect(namesIn(view, container).pod).toBe('ns/p');
  expect(namesIn({ ...view, assignmentsOf: () => [] }, container).pod).toBe('/');
});
