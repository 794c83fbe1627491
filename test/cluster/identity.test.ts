import { execFileSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isHealthy, poll, waitUntil } from '../e2e/rig';
import { KubeError } from '../../src/kube/api/kube-error';
import { projectRoot } from '../e2e/rig/project-root';
import {
  type ClusterNode,
  type ClusterPod,
  createToken,
  credentialIdOf,
  KubeApi,
  kubeApi,
  kubectl,
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

  // The kubelet reserves less than cpusetd, so pods arrive that do not fit.
  const start = async (kubeconfig: string): Promise<void> => {
    node = await startNode({ suite, mode, kubeconfig, kubelet: { reservedSystemCPUs: '' } });
    await waitUntil('the pods are known', () => isHealthy(node.daemon, 'kube'), deadlineMs, { everyMs });
  };
  const wants1 = [{ name: 'main', cpu: 1, memory: '32Mi' }];
  /** A pod that cpusetd refuses, with its event. */
  const refuse = async (name: string): Promise<ClusterPod> => {
    const pod = await node.createPod({ name, containers: wants1, spec: { nodeName: node.name } });
    const isOurs = async () => (await pod.events()).find(({ message }) => message.includes('exclusive CPU'));
    await poll(`the event on pod ${name}`, isOurs, deadlineMs, everyMs);
    return pod;
  };
  const available = async (): Promise<string | undefined> => {
    const path = `/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies/${node.name}`;
    const { zones } = await kubeApi.get<{ zones: { resources: { name: string; available: string }[] }[] }>(path);
    return zones[0]?.resources.find(({ name }) => name === 'cpu')?.available;
  };
  const becomes = (cpus: string): Promise<void> =>
    waitUntil(`${cpus} CPUs are available`, async () => (await available()) === cpus, deadlineMs, { everyMs });

  test('a client certificate whose user has the role: pods are known, topology, condition and Events are written', async () => {
    const user = `cpusetd-host-${suite}`;
    const { work } = readClusterFacts();
    const certificates = join(projectRoot(), 'scripts/cluster/certificates.mjs');
    const script = `import { makeCertificate } from '${certificates}'; makeCertificate('${work}', { name: '${user}' });`;
    execFileSync(process.execPath, ['--input-type=module', '--eval', script]);
    await kubectl('create', 'clusterrolebinding', user, '--clusterrole=cpusetd', `--user=${user}`);
    const files = { 'client-certificate': join(work, `${user}.crt`), 'client-key': join(work, `${user}.key`) };
    await start(writeKubeconfig(readClusterFacts(), user, files));
    await node.runPod({ name: 'first', containers: wants1 });
    await becomes('0');
    await refuse('second');
    const { status } = await node.read();
    expect(status.conditions?.find(({ type }) => type === 'CpusetdReady')).toMatchObject({ status: 'True' });
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
    await start(writeKubeconfig(readClusterFacts(), `rotated-${suite}`, { tokenFile }));
    const first = await node.runPod({ name: 'first', containers: wants1 });
    await becomes('0');
    await (await refuse('second')).delete();

    const next = await bindTo(`new-${suite}`);
    writeFileSync(`${tokenFile}.next`, next);
    renameSync(`${tokenFile}.next`, tokenFile);
    await kubeApi.delete(`${secrets}/old-${suite}`);
    const oldApi = new KubeApi(() => writeKubeconfig(readClusterFacts(), `rotated-old-${suite}`, { token: old }));
    const isInvalid = async () => oldApi.get(`/api/v1/nodes/${node.name}`).then(() => false, isUnauthorized);
    await waitUntil('the old token is invalid', isInvalid, deadlineMs, { everyMs });

    await (await refuse('third')).delete();
    await first.delete();
    await becomes('1');
    expect(await isHealthy(node.daemon, 'kube')).toBe(true);
    const written = readAuditLog(credentialIdOf(next)).filter(({ code }) => code >= 200 && code < 300);
    expect(new Set(written.map(({ resource }) => resource))).toContain('/events');
    await kubeApi.delete(`${secrets}/new-${suite}`);
  });
});

const isUnauthorized = (error: unknown): boolean => error instanceof KubeError && error.status === 401;
