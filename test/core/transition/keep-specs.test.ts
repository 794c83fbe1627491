import type { PodSpec } from '../../../src/core/model/pod-spec';
import { specOf } from '../../support/spec-of';
import { EIGHT_CPUS, NodeDriver } from './node-driver';

const OF_THE_POD = { 'cpusetd.io/policy': 'none' };

/** A node with the running container `p/a`. Its sandbox has no annotations. */
function nodeWithPod(): NodeDriver {
  const node = new NodeDriver(EIGHT_CPUS, { podPolicies: ['none'] });
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  return node.run('make p/a 2');
}

const send = (node: NodeDriver, more: Partial<PodSpec> = {}): void =>
  void node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', more) });

const keptOn = ({ model }: NodeDriver) =>
  [...model.keptSpecs.values()].map(({ uid, annotations }) => [uid, annotations]);

test('given the same annotations in spec and sandbox, then the spec is not kept', () => {
  const node = nodeWithPod();
  send(node);
  expect(keptOn(node)).toEqual([]);
});

test('given annotations that have changed, then the spec is kept with those that decide', () => {
  const node = nodeWithPod();
  send(node, { annotations: { ...OF_THE_POD, note: 'left out' } });
  expect(keptOn(node)).toEqual([['p', OF_THE_POD]]);
  expect(node.isDurable).toBe(true);
});

test('given a kept spec that comes again, then nothing has to be saved', () => {
  const node = nodeWithPod();
  for (let i = 0; i < 2; i++) send(node, { annotations: OF_THE_POD });
  expect(node.isDurable).toBe(false);
});

test('given huge pages that the runtime does not tell, then the spec is kept while the container that asks for them has CPUs', () => {
  const withPages = {
    containers: [{ ...specOf('p', 'a 2').containers[0]!, limitHugePages: { 'hugepages-2Mi': 1 << 21 } }],
  };
  const node = nodeWithPod();
  send(node, withPages);
  expect(keptOn(node)).toEqual([['p', {}]]);
  node.run('end p/a');
  expect(keptOn(node)).toEqual([['p', {}]]); // they stay with the pod, for its next creation
  node.run('stop p; remove p');
  expect(keptOn(node)).toEqual([]);

  const informed = new NodeDriver(EIGHT_CPUS);
  informed.send({ kind: 'synchronize', pods: [], containers: [] });
  informed.bringing.set('p/a', { hugePages: { 'hugepages-2Mi': 1 << 21 } });
  informed.run('make p/a 2');
  send(informed, withPages);
  expect(keptOn(informed)).toEqual([]);
});

test('given annotations that are changed back, then the spec is dropped', () => {
  const node = nodeWithPod();
  send(node, { annotations: OF_THE_POD });
  send(node);
  expect(keptOn(node)).toEqual([]);
});

test('given a pod that the API server deletes, then its spec is kept until the runtime has stopped the pod', () => {
  const node = nodeWithPod();
  send(node, { annotations: OF_THE_POD });
  node.send({ kind: 'pod-spec-gone', uid: 'p' });
  expect(keptOn(node)).toHaveLength(1);
  node.run('end p/a; stop p');
  expect(keptOn(node)).toEqual([]);
});
