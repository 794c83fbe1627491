import type { Assignment } from '../../../src/core/model/assignment';
import { rulesOf } from '../../../src/core/model/settings';
import { snapshotFor } from '../../../src/core/transition';
import { cpus, NodeDriver } from './node-driver';

/** A pod whose containers a and b have one set together, and c, which ended, one of its own. */
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
  name                                                           | running       | of     | own      | idle
  ${'what a container that runs has is not idle, whoever ended'} | ${['b']}      | ${'d'} | ${''}    | ${'3'}
  ${'nor its own to the one that ended'}                         | ${['b']}      | ${'a'} | ${''}    | ${'3'}
  ${'when both have ended it is idle'}                           | ${[]}         | ${'d'} | ${''}    | ${'1-3'}
  ${'and its own to each of them'}                               | ${[]}         | ${'a'} | ${'1-2'} | ${'1-3'}
  ${'while both run only what the third left is idle'}           | ${['a', 'b']} | ${'d'} | ${''}    | ${'3'}
`('$name', ({ running, of, own, idle }: { running: string[]; of: string; own: string; idle: string }) => {
  const snapshot = snapshotFor(nodeOf(running).model, { uid: 'p' }, of, 'exclusive');
  expect({ own: snapshot.own.toString(), idle: snapshot.idleInPod.toString() }).toEqual({ own, idle });
});
