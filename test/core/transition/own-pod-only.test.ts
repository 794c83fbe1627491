import type { Pod } from '../../../src/core/model/container';
import { specOf } from '../../support/spec-of';
import { NodeDriver } from './node-driver';

test('given the events of a container, then only its own pod is read, and never all pods of the node', () => {
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers: [] });
  for (const uid of ['p', 'q']) node.send({ kind: 'pod-spec', spec: specOf(uid, 'app app 2') });
  node.run('make p/app 2; make q/app 2');
  const pod = node.model.podsOf('p')[0]!;
  const { sandboxId } = pod;
  const looks = (['values', 'entries', 'forEach'] as const).map((method) =>
    jest.spyOn(node.model.pods as Map<string, Pod>, method),
  );

  const side = { id: 'side', sandboxId, name: 'side', phase: 'creating', cgroupsPath: '', resources: {} } as const;
  node.send({ kind: 'create-container', pod, container: side });
  node.send({ kind: 'container-started', pod, container: { ...side, phase: 'running' } });
  for (const containerId of ['side', node.idOf('p/app')]) node.send({ kind: 'container-stopped', containerId });
  node.send({ kind: 'pod-stopped', sandboxId });
  node.send({ kind: 'pod-removed', sandboxId });

  expect(node.model.assignmentsOf('p')).toMatchObject([{ containerName: 'app', containerId: null }]);
  node.send({ kind: 'pod-spec-gone', uid: 'p' });
  expect(node.model.assignmentsOf('p')).toEqual([]);
  for (const look of looks) expect(look).not.toHaveBeenCalled();
  expect(node.model.podsOf('p')).toEqual([]);
  expect(node.model.podsOf('q')).toHaveLength(1);
  jest.restoreAllMocks();
});
