import { listClaims } from '../../../src/core/node-resources/claims';
import { specOf } from '../../support/spec-of';
import { NodeDriver } from '../transition/node-driver';

const RESULT = 'topology.crane.io/topology-result';
const resultFor = (cpu: number) => ({
  [RESULT]: JSON.stringify([{ name: 'node0', type: 'Node', resources: { capacity: { cpu: `${cpu}` } } }]),
});

/** The claims as `held CPUs: announced CPUs of node 0`. */
const claimsOf = ({ model }: NodeDriver) =>
  listClaims(model).map(({ held, announced }) => `${held.toString()}: ${announced.get(0) ?? 0}`);

test('without a spec of the API server a pod announces nothing, whatever its sandbox says', () => {
  const node = new NodeDriver();
  node.podFields.set('p', { annotations: resultFor(2) });
  expect(claimsOf(node.run('make p/a 2; make q/b 1'))).toEqual(['1,5: 0', '4: 0']);
});

test('with an API server the annotations of the spec count', () => {
  const node = new NodeDriver().run('make p/a 2');
  node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2, b 1', { annotations: resultFor(3) }) });
  expect(claimsOf(node)).toEqual(['1,5: 3']);
});

test('given results that name more than their pods are entitled to: none of them is followed, and none counts', () => {
  const node = new NodeDriver().run('make p/a 2');
  node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { annotations: resultFor(3) }) });
  node.send({ kind: 'pod-spec', spec: specOf('q', '', { annotations: resultFor(1000) }) });
  node.send({ kind: 'pod-spec', spec: specOf('r', 'a 2', { annotations: resultFor(1000) }) });
  expect(claimsOf(node)).toEqual(['1,5: 0']);
});

test('a pod that is entitled to CPUs counts when it announces some, unless it has finished', () => {
  const node = new NodeDriver();
  node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { annotations: resultFor(2) }) });
  node.send({ kind: 'pod-spec', spec: specOf('q', 'a 2', { annotations: resultFor(2), finished: true }) });
  node.send({ kind: 'pod-spec', spec: specOf('r', 'a 2') });
  node.send({ kind: 'pod-spec', spec: specOf('s', 'a 2', { qos: 'Burstable', annotations: resultFor(2) }) });
  expect(claimsOf(node)).toEqual([': 2']);
});
