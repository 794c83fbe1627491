import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { poll, waitUntil } from '../../e2e/rig';
import { projectRoot } from '../../e2e/rig/project-root';
import {
  type Applied,
  type ClusterNode,
  createToken,
  credentialIdOf,
  DaemonSetPod,
  importImage,
  kubectl,
  kubeletWithoutReservation,
  onOneNode,
  readAuditLog,
  readClusterFacts,
  startNode,
  writeKubeconfig,
} from '../rig';

// The built plugin, run by the real kubectl, as a viewer who has the rights of deploy/kubectl/viewer.yaml and no
// others.

const everyMs = 200;
const options = `
reserved-cpus: 0
node-resource-topology: community
reconcile-period: 1s
log-format: json
`;
/**
 * The overlay with the page at an address of the config file, or of the arguments. The node has one CPU for pods, and
 * tests use it.
 */
const withPage = ({ file = '', args = ['run'] }: { readonly file?: string; readonly args?: string[] }): Applied => ({
  overlay: 'nri-api',
  options: options + file,
  patch: {
    initContainers: [{ name: 'check', resources: { requests: { cpu: '0' } } }],
    containers: [{ name: 'cpusetd', args, resources: { requests: { cpu: '0' } } }],
  },
});
const viewer = { account: 'viewer', namespace: 'default' };

interface Run {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Tests that the pod of the DaemonSet answers the plugin. `image` gives the archive of its image. */
export function defineTestsOfKubectl(image: () => Promise<string>): void {
  onOneNode(
    'kubectl cpuset',
    ({ suite }) => {
      let node: ClusterNode;
      let pod: DaemonSetPod;
      let folder: string;
      let kubeconfig: string;
      let credentialId: string;
      beforeAll(async () => {
        node = await startNode({ suite, mode: 'nri', cpusetd: 'none', kubelet: kubeletWithoutReservation });
        pod = new DaemonSetPod(node);
        folder = mkdtempSync(join(tmpdir(), 'kubectl-cpuset-'));
        await importImage(node, await image());
        await kubectl('apply', '-f', join(projectRoot(), 'deploy/kubectl/viewer.yaml'));
        await kubectl('create', 'serviceaccount', viewer.account, '--namespace', viewer.namespace);
        const subject = ['--serviceaccount', `${viewer.namespace}:${viewer.account}`];
        await kubectl('create', 'clusterrolebinding', 'cpusetd-viewer', '--clusterrole', 'cpusetd-viewer', ...subject);
        await bindDaemonViewer();
        const token = await createToken(viewer);
        credentialId = credentialIdOf(token);
        kubeconfig = writeKubeconfig('viewer', { token });
        for (const name of ['kubectl-cpuset', 'kubectl_complete-cpuset'])
          symlinkSync(join(projectRoot(), 'dist/cpusetd.js'), join(folder, name));
        await pod.apply(withPage({ file: 'http-address: 14710\n' }));
        const isPublished = async () => (await node.topology())?.zones.length !== undefined;
        await waitUntil('the topology', isPublished, undefined, { everyMs });
        const isReady = async () => (await node.condition('CpusetdReady'))?.status === 'True';
        await waitUntil('the condition', isReady, undefined, { everyMs });
      });
      afterAll(async () => {
        await pod?.remove();
        await node?.stop();
        await kubectl(
          'delete',
          'serviceaccount',
          viewer.account,
          '--namespace',
          viewer.namespace,
          '--ignore-not-found',
        );
        await kubectl('delete', 'clusterrolebinding,clusterrole', 'cpusetd-viewer', '--ignore-not-found');
        await kubectl(
          'delete',
          'rolebinding,role',
          'cpusetd-daemon-viewer',
          '--namespace',
          'cpusetd',
          '--ignore-not-found',
        );
        if (folder !== undefined) rmSync(folder, { recursive: true });
      });

      const bindDaemonViewer = async (): Promise<void> => {
        const role = ['cpusetd-daemon-viewer', '--namespace', 'cpusetd', '--role', 'cpusetd-daemon-viewer'];
        const subject = ['--serviceaccount', `${viewer.namespace}:${viewer.account}`];
        await kubectl('create', 'rolebinding', ...role, ...subject);
      };

      /** Runs the plugin as a user does: through kubectl, which finds it in PATH. */
      const plugin = (...args: string[]): Promise<Run> => runKubectl('cpuset', ...args);
      const runKubectl = (...args: string[]): Promise<Run> =>
        new Promise((resolve) => {
          const env = {
            KUBECONFIG: kubeconfig,
            HOME: folder,
            PATH: [folder, dirname(process.execPath), process.env['PATH']].join(delimiter),
          };
          const program = join(readClusterFacts().programs, 'kubectl');
          execFile(program, args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
            const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
            resolve({ status, stdout, stderr });
          });
        });
      const json = async <T>(...args: string[]): Promise<T> => {
        const run = await plugin(...args, '-o', 'json');
        if (run.stderr !== '') throw new Error(run.stderr);
        return JSON.parse(run.stdout) as T;
      };

      test('nodes: from what the node publishes', async () => {
        const { status, stdout, stderr } = await plugin('nodes', node.name);
        expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
        expect(stdout).toMatch(/^NODE +STATE +CPUS +FREE +ALIGNED +PINNED +VERDICTS/);
        expect(stdout).toMatch(new RegExp(`^${node.name} +ready +1 +1 +1 +0 +kept`, 'm'));
        expect((await plugin('top', node.name)).stdout).toContain(node.name);
        expect(await plugin('nodes', node.name, '--cpus', '1')).toMatchObject({ status: 0 });
        expect(await plugin('nodes', node.name, '--cpus', '2')).toMatchObject({
          status: 1,
          stdout: expect.stringContaining('2 CPUs are needed, 1 free') as string,
        });
      });

      test('completion: kubectl asks the plugin for commands, options and values', async () => {
        const complete = async (...words: string[]) => {
          const { stdout } = await runKubectl('__complete', 'cpuset', ...words);
          return stdout.trimEnd().split('\n');
        };
        const commands = await complete('');
        expect(commands).toContainEqual(expect.stringMatching(/^why-not\t\w/));
        expect(commands.at(-1)).toBe(':4');
        expect(await complete('nodes', '--cp')).toEqual([expect.stringMatching(/^--cpus\t\w/), ':4']);
        expect(await complete('map', '--via', 'p')).toEqual(['proxy', 'port-forward', ':4']);
        expect(await complete('map', '--kubeconfig', '')).toEqual([':0']);
      });

      test('pods, map, explain and events: through a forwarded port, since the daemon listens on loopback', async () => {
        const db = await node.runPod({ name: 'db', containers: [{ name: 'db', cpu: 1, memory: '32Mi' }] });
        const name = `${node.name}/${db.name}`;
        const isKept = async () => {
          const { containers } = await json<{ containers: { pod: string; promised: string; verdict: string }[] }>(
            'pods',
            '--node',
            node.name,
          );
          return containers.some(
            (container) => container.pod === db.name && container.promised === '1' && container.verdict === 'kept',
          );
        };
        await waitUntil('the pod is kept', isKept, undefined, { everyMs });
        expect((await plugin('map', node.name)).stdout).toMatch(new RegExp(`A +static +1 +${name} db`));
        const explained = await plugin('explain', name);
        expect(explained).toMatchObject({ status: 0, stderr: '' });
        expect(explained.stdout).toContain(`On node ${node.name}:`);
        expect(explained.stdout).toContain('because: 1 exclusive CPU, free on the node');
        expect(explained.stdout).toContain('History: ');
        expect((await plugin('events', name, '--kind', 'pinned')).stdout).toContain(name);
        const isPinned = async () =>
          new RegExp(`^${node.name} +ready +1 +0 +0 +1 +kept`, 'm').test((await plugin('nodes', node.name)).stdout);
        await waitUntil('the summary', isPinned, undefined, { everyMs });

        const drained = await plugin('drain-check', node.name);
        expect(drained).toMatchObject({ status: 1, stderr: '' });
        expect(drained.stdout).toMatch(new RegExp(`^${name} +1 +no`, 'm'));
      });

      test('why-not: what is in the way of a pod that stays pending', async () => {
        const big = await node.createPod({ name: 'big', containers: [{ name: 'big', cpu: 64, memory: '32Mi' }] });
        const { status, stdout } = await plugin('why-not', `${node.name}/${big.name}`);
        expect(status).toBe(1);
        expect(stdout).toContain('asks for CPUs of its own: big 64 CPUs');
        expect(stdout.replace(/\s+/g, ' ')).toContain('the pod requests 64 CPU, and');
        expect(stdout.replace(/\s+/g, ' ')).toContain('64 CPUs are needed, 0 free');
        await big.delete();
      });

      test('an address that others reach: through the proxy; the server does not mind the name of the API server', async () => {
        await pod.run(withPage({ args: ['run', '--http-address=0.0.0.0:14710'] }));
        const map = await poll('a map', async () => {
          const run = await plugin('map', node.name, '--via', 'proxy');
          return run.status === 0 ? run : undefined;
        });
        expect(map.stdout).toContain('CPUs online');
        const before = readAuditLog(credentialId).length;
        expect(await plugin('map', node.name)).toMatchObject({ status: 0, stderr: '' });
        const used = readAuditLog(credentialId).slice(before);
        expect(used.map(({ resource, verb }) => `${resource} ${verb}`)).toContain('/pods/proxy get');
      });

      test('every right that was used is in the file; without the Role the missing one is named', async () => {
        const refused = readAuditLog(credentialId).filter(({ code }) => code === 403);
        expect(refused).toEqual([]);
        await kubectl('delete', 'rolebinding', 'cpusetd-daemon-viewer', '--namespace', 'cpusetd');
        const answer = await poll('a refusal', async () => {
          const run = await plugin('map', node.name);
          return run.status === 1 ? run : undefined;
        });
        expect(answer.stderr).toContain('your identity may not get pods/proxy in namespace cpusetd');
        expect(answer.stderr).toContain('may not create pods/portforward in namespace cpusetd');
        expect(answer.stderr).toContain('deploy/kubectl/viewer.yaml');
      });
    },
    ['release', 'sid', 'trixie'],
  );
}
