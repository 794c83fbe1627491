import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readStatus, waitUntil } from '../e2e/rig';
import { readOptionalRule, readRights, rightOf } from '../support/kube/rbac';
import {
  type AuditedRequest,
  type ClusterNode,
  createToken,
  credentialIdOf,
  deleteTopologies,
  kubeApi,
  kubectl,
  kubeletWithoutReservation,
  oneCpu,
  onOneNode,
  readAuditLog,
  startNode,
  writeKubeconfig,
} from './rig';

// deploy/components/api-server/rbac.yaml on a real API server: the audit log has each request with its answer.

const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const isAllowed = ({ code }: AuditedRequest): boolean => code !== 401 && code !== 403;
const optionalRight = '/nodes/proxy get';

onOneNode('the rights of deploy/components/api-server/rbac.yaml', ({ suite, mode }) => {
  let node: ClusterNode;
  let credentialId: string;
  beforeAll(async () => {
    const token = await createToken();
    credentialId = credentialIdOf(token);
    const kubeconfig = writeKubeconfig(`rights-${suite}`, { token });
    node = await startNode({
      suite,
      mode,
      kubeconfig,
      kubelet: kubeletWithoutReservation,
      args: ['--reserved-cpus', '0', '--kubelet-config', 'configz'],
    });
  });
  afterAll(async () => {
    if (node === undefined) return;
    await node.stop();
    await deleteTopologies(node.name); // those that were written without a Node have no owner to go with
    await kubectl('delete', 'clusterrolebindings,clusterroles', 'cpusetd-configz', '--ignore-not-found');
  });

  const restart = async (): Promise<void> => {
    await node.daemon.stop();
    node.daemon.start();
    await node.daemon.ready();
  };
  const requests = (): AuditedRequest[] => readAuditLog(credentialId);
  const rights = (isSo: (request: AuditedRequest) => boolean): string[] =>
    [...new Set(requests().filter(isSo).map(rightOf))].sort();
  const hasUsed = (right: string): Promise<void> =>
    waitUntil(right, () => rights(isAllowed).includes(right), 60_000, { everyMs: 100 });

  test('every option on: each right is used, and only that of the optional rule is missing', async () => {
    const first = await node.runPod({ name: 'first', containers: [oneCpu] });
    const refused = await node.refusePod('refused');
    for (const right of readRights({ withOptional: false })) await hasUsed(right);
    await refused.delete();
    await first.delete();
    expect(rights(({ code }) => code === 403)).toEqual([optionalRight]);
    const line = await node.daemon.waitForLog(({ msg }) => msg?.startsWith('a right is missing') ?? false);
    expect(line).toMatchObject({ verb: 'get', resource: 'nodes/proxy' });
    expect((await readStatus(node.daemon)).node.alarms).toEqual([]);
  });

  test('the optional rule granted: cpusetd knows the reservation of the kubelet', async () => {
    const metadata = { name: 'cpusetd-configz' };
    await kubeApi.create(`${RBAC}/clusterroles`, { metadata, rules: [readOptionalRule()] });
    await kubeApi.create(`${RBAC}/clusterrolebindings`, {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name: 'cpusetd', namespace: 'cpusetd' }],
    });
    await restart();
    await hasUsed(optionalRight);
    await waitUntil('the alarm', async () =>
      (await readStatus(node.daemon)).node.alarms.some(({ kind }) => kind === 'kubelet-reservation'),
    );
    expect(existsSync(join(node.daemon.stateDir, 'kubelet-config.json'))).toBe(true);
  });

  test('the Node deleted: nothing that cpusetd then does needs another right', async () => {
    await kubeApi.delete(`/api/v1/nodes/${node.name}`);
    const isThere = async (): Promise<boolean> => (await node.topology()) !== undefined;
    await waitUntil('the topology goes with its owner', async () => !(await isThere()));
    const before = requests().length;
    await restart();
    await waitUntil('the topology is back', isThere);
    const without = requests()
      .slice(before)
      .filter(({ code }) => code === 404)
      .map(rightOf);
    expect(without).toContain('/nodes get');
  });

  test('all in all: the rights that were used are those of the file, and no other was refused', () => {
    expect(rights(isAllowed)).toEqual([...readRights({ withOptional: true })].sort());
    expect(rights(({ code }) => code === 403)).toEqual([optionalRight]);
  });
});
