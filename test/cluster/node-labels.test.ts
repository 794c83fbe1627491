import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { askDaemon, type LogLine, onlineCpus, waitUntil } from '../e2e/rig';
import { type ClusterNode, exclusiveCpu, kubeApi, oneCpu, onOneNode, reservedCpus, startNode } from './rig';

// Groups of the config file by labels of the Node, with a real kubelet that registered it.

const deadlineMs = 60_000;
const everyMs = 50;
const FILE = `
node-groups:
  - name: shared
    match: { node-labels: { cpusetd-test/pool: shared } }
    options: { cpu-manager-policy: none }
`;

onOneNode('options by labels of the Node', ({ suite, mode }) => {
  let folder: string;
  let node: ClusterNode;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'cpusetd-labels-'))));
  afterEach(async () => {
    await node?.stop();
    rmSync(folder, { recursive: true });
  });

  const label = (pool: string | null): Promise<unknown> =>
    kubeApi.patch(`/api/v1/nodes/${node.name}`, { metadata: { labels: { 'cpusetd-test/pool': pool } } });
  const alarms = async (): Promise<readonly string[]> => {
    const { node: own } = JSON.parse(await askDaemon(node.daemon, 'status', '-o', 'json')) as {
      node: { alarms: readonly { kind: string }[] };
    };
    return own.alarms.map(({ kind }) => kind);
  };
  /** Waits for the line that the policy is this one from now on. */
  const changedTo = async (policy: string, from: number): Promise<void> => {
    const isSo = ({ msg, changes }: LogLine) =>
      msg === 'settings changed' && JSON.stringify(changes).includes(`"to":"${policy}"`);
    await node.daemon.waitForLog(isSo, { from, deadlineMs });
  };

  test('a label that is set decides at once, and from the first moment of a restart, until it is removed; what runs keeps its CPUs', async () => {
    const file = join(folder, 'cpusetd.yaml');
    writeFileSync(file, FILE);
    node = await startNode({ suite, mode, args: ['--reserved-cpus', reservedCpus, '--config', file] });
    await waitUntil('the labels are known', async () => !(await alarms()).includes('node-labels'), deadlineMs, {
      everyMs,
    });
    const before = await node.runPod({ name: 'before', containers: [oneCpu] });
    expect((await before.cpuset('main')).cpus).toBe(exclusiveCpu);

    let from = node.daemon.mark();
    await label('shared');
    await changedTo('none', from);
    expect((await before.cpuset('main')).cpus).toBe(exclusiveCpu);
    await before.delete();
    const during = await node.runPod({ name: 'during', containers: [oneCpu] });
    const shares = async () => (await during.cpuset('main')).cpus === onlineCpus;
    await waitUntil('it shares all CPUs', shares, deadlineMs, { everyMs }); // also those of the pod before, when that is gone

    from = node.daemon.mark();
    await node.restart('cpusetd');
    const start = await node.daemon.waitForLog('starting with these options', { from });
    expect(start).toMatchObject({ options: { 'cpu-manager-policy': 'none' } });
    from = node.daemon.mark();
    await label(null);
    await changedTo('static', from);
    await during.delete();
    const after = await node.runPod({ name: 'after', containers: [oneCpu] });
    expect((await after.cpuset('main')).cpus).toBe(exclusiveCpu);
  });
});
