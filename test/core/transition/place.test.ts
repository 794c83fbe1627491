import type { Assignment } from '../../../src/core/model/assignment';
import { rulesOf } from '../../../src/core/model/settings';
import { snapshotFor } from '../../../src/core/decision/snapshot';
import { cpus, NodeDriver } from './node-driver';

/** A pod: the containers a and b share one set, and c, which has exited, has its own. */
function nodeOf(running: readonly string[]): NodeDriver {
  const node = new NodeDriver();
  const put = (containerName: string, list: string, more: Partial<Assignment>): void => {
    const assignment: Assignment = {
      podUid: 'p', podNamespace: 'ns', podName: 'p', containerName, kind: 'exclusive', cpus: cpus(list), mems: cpus(''),
      requested: 1, containerId: running.includes(containerName) ? containerName : null, quotaLifted: false,
      rules: rulesOf(node.model.settings), because: 'given', since: '2026-01-01T00:00:00Z', ...more,
    }; // prettier-ignore
    node.model.apply({ kind: 'put-assignment', assignment });
  };
  put('a', '1-2', { scope: 'pod' });
  put('b', '1-2', { scope: 'pod' });
  put('c', '3', {});
  return node;
}

test.each`
  name                                                                       | running       | container | own      | idle
  ${'CPUs of a running container are not idle after the end of another one'} | ${['b']}      | ${'d'}    | ${''}    | ${'3'}
  ${'CPUs of a running container are not own CPUs of the ended one'}         | ${['b']}      | ${'a'}    | ${''}    | ${'3'}
  ${'CPUs are idle when both containers have ended'}                         | ${[]}         | ${'d'}    | ${''}    | ${'1-3'}
  ${'CPUs are own CPUs of both ended containers'}                            | ${[]}         | ${'a'}    | ${'1-2'} | ${'1-3'}
  ${'CPUs of the third container alone are idle while both run'}             | ${['a', 'b']} | ${'d'}    | ${''}    | ${'3'}
`('$name', ({ running, container, own, idle }: { running: string[]; container: string; own: string; idle: string }) => {
  const snapshot = snapshotFor(nodeOf(running).model, { uid: 'p' }, container, 'exclusive');
  expect({ own: snapshot.own.toString(), idle: snapshot.idleInPod.toString() }).toEqual({ own, idle });
});
