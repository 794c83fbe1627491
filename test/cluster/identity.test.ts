import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isHealthy, waitUntil } from '../e2e/rig';
import { KubeError } from '../../src/kube/api/kube-error';
import { projectRoot } from '../e2e/rig/project-root';
import {
  type ClusterNode,
  createToken,
  credentialIdOf,
  KubeApi,
  kubeApi,
  kubectl,
  kubeletWithoutReservation,
  oneCpu,
  onOneNode,
  readAuditLog,
  readClusterFacts,
  startNode,
  writeKubeconfig,
} from './rig';

// cpusetd with a client certificate, and with a token from a file that is replaced.

const everyMs = 100;
const deadlineMs = 60_000;

onOneNode('the identity of cpusetd', ({ suite, mode }) => {
  let folder: string;
  let node: ClusterNode;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-identity-'));
  });
  afterEach(async () => {
    await node?.stop();
    rmSync(folder, { recursive: true });
  });

  const start = async (kubeconfig: string): Promise<void> => {
    node = await startNode({ suite, mode, kubeconfig, kubelet: kubeletWithoutReservation });
    await waitUntil('the pods are known', () => isHealthy(node.daemon, 'kube'), deadlineMs, { everyMs });
  };
  const becomes = (cpus: number): Promise<void> =>
    waitUntil(`${cpus} CPUs are available`, async () => (await node.availableCpus()) === cpus, deadlineMs, { everyMs });

  test('a client certificate whose user has the role: pods are known, topology, condition and Events are written', async () => {
    const user = `cpusetd-host-${suite}`;
    const { work } = readClusterFacts();
    const certificates = join(projectRoot(), 'scripts/cluster/certificates.mjs');
    const script = `import { makeCertificate } from '${certificates}'; makeCertificate('${work}', { name: '${user}' });`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', script]);
    await kubectl('create', 'clusterrolebinding', user, '--clusterrole=cpusetd', `--user=${user}`);
    const files = { 'client-certificate': join(work, `${user}.crt`), 'client-key': join(work, `${user}.key`) };
    await start(writeKubeconfig(user, files));
    await node.runPod({ name: 'first', containers: [oneCpu] });
    await becomes(0);
    await node.refusePod('second');
    expect(await node.condition('CpusetdReady')).toMatchObject({ status: 'True' });
    await kubectl('delete', 'clusterrolebinding', user);
  });

  test('a token file that is replaced, and the old token invalid at once: Events, the topology and the watch go on', async () => {
    const secrets = '/api/v1/namespaces/cpusetd/secrets';
    const bindTo = async (name: string): Promise<string> => {
      await kubeApi.create(secrets, { metadata: { name } });
      return createToken({ boundTo: { kind: 'Secret', name } });
    };
    const tokenFile = join(folder, 'token');
    const old = await bindTo(`old-${suite}`);
    writeFileSync(tokenFile, old);
    await start(writeKubeconfig(`rotated-${suite}`, { tokenFile }));
    const first = await node.runPod({ name: 'first', containers: [oneCpu] });
    await becomes(0);
    await (await node.refusePod('second')).delete();

    const next = await bindTo(`new-${suite}`);
    writeFileSync(`${tokenFile}.next`, next);
    renameSync(`${tokenFile}.next`, tokenFile);
    await kubeApi.delete(`${secrets}/old-${suite}`);
    const oldApi = new KubeApi(() => writeKubeconfig(`rotated-old-${suite}`, { token: old }));
    const isInvalid = async () => oldApi.get(`/api/v1/nodes/${node.name}`).then(() => false, isUnauthorized);
    await waitUntil('the old token is invalid', isInvalid, deadlineMs, { everyMs });

    await (await node.refusePod('third')).delete();
    await first.delete();
    await becomes(1);
    expect(await isHealthy(node.daemon, 'kube')).toBe(true);
    const written = readAuditLog(credentialIdOf(next)).filter(({ code }) => code >= 200 && code < 300);
    expect(new Set(written.map(({ resource }) => resource))).toContain('/events');
    await kubeApi.delete(`${secrets}/new-${suite}`);
  });
});

const isUnauthorized = (error: unknown): boolean => error instanceof KubeError && error.status === 401;
