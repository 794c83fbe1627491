import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { matchShown, readPageCommands, type Values } from '../docs/page-commands';
import { type ControlPlane, startControlPlane } from '../e2e/rig/api-server';
import { readCpuset } from '../e2e/rig/cgroup-files';
import { onlineCpus } from '../e2e/rig/online-cpus';
import { projectRoot } from '../e2e/rig/project-root';
import { Shell } from '../support/shell';
import {
  buildImage,
  type ClusterNode,
  findCgroup,
  importImage,
  kubeApi,
  kubeletWithoutReservation,
  type KubePod,
  onOneNode,
  readClusterFacts,
  startNode,
  useCluster,
} from './rig';

// The commands of docs/quick-start.md, as they are and in their order, on a cluster with one node. What the rig does:
// - step 2, "Bring the image to the node": it builds the same image, for this machine only, and imports it;
// - it gives the node the image busybox:1.37, which the kubelet would fetch from a registry;
// - the kubelet reserves no CPUs: on a machine of two, the pod of cpusetd and one with a whole CPU would not fit
//   otherwise.

jest.setTimeout(600_000);

const blocks = readPageCommands(readFileSync(join(projectRoot(), 'docs/quick-start.md'), 'utf8'));
const { version } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as { version: string };

/** A container as the kernel has it. */
interface Seen {
  readonly id: string;
  readonly cpus: string;
}

onOneNode(
  'docs/quick-start.md',
  ({ suite }) => {
    let folder: string;
    let plane: ControlPlane | undefined;
    let node: ClusterNode | undefined;
    const shells: Shell[] = [];

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'quick-start-'));
      const name = `localhost/cpusetd:${version}`;
      const image = buildImage(folder, name);
      image.catch(() => undefined); // it is awaited below
      plane = await startControlPlane('--address', new URL(readClusterFacts().server).hostname);
      useCluster(plane);
      node = await startNode({ suite, mode: 'nri', cpusetd: 'none', kubelet: kubeletWithoutReservation });
      await importImage(node, await image, name);
    });
    afterAll(async () => {
      for (const shell of shells) await shell.close();
      await node?.stop();
      await plane?.stop();
      if (folder !== undefined) rmSync(folder, { recursive: true });
    });

    /** The shell of the operator, in a folder with what the page takes of the project. */
    const openShell = ({ programs, kubeconfigs }: ControlPlane): Shell => {
      const root = join(folder, 'project');
      const bin = join(folder, 'bin');
      for (const dir of [join(root, 'dist'), bin]) mkdirSync(dir, { recursive: true });
      cpSync(join(projectRoot(), 'deploy'), join(root, 'deploy'), { recursive: true });
      cpSync(join(projectRoot(), 'dist/cpusetd.js'), join(root, 'dist/cpusetd.js'));
      symlinkSync(join(programs, 'kubectl'), join(bin, 'kubectl'));
      const path = [bin, dirname(process.execPath), process.env['PATH']].join(delimiter);
      return new Shell({ cwd: root, env: { HOME: folder, KUBECONFIG: kubeconfigs.admin, PATH: path } });
    };
    const openShellOnNode = ({ runtime }: ClusterNode): Shell => {
      const command = ['nsenter', `--mount=/proc/${runtime.namespacePid}/ns/mnt`, '--', 'sh'];
      return new Shell({ command, env: { PATH: process.env['PATH'] ?? '' } });
    };
    /** The container of a pod. Undefined when there is no such pod. */
    const look = async (pod: string): Promise<Seen | undefined> => {
      const found = await kubeApi.find<KubePod>(`/api/v1/namespaces/default/pods/${pod}`);
      if (found === undefined) return undefined;
      const id = found.status.containerStatuses![0]!.containerID!.replace(/^.*:\/\//, '');
      return { id, cpus: readCpuset(findCgroup(node!.runtime.cgroupRoot, id)).cpus };
    };

    test('each command works and prints what the page shows; the kernel has what is printed; nothing is left', async () => {
      const { name, runtime } = node!;
      const by = { operator: openShell(plane!), node: openShellOnNode(node!) };
      shells.push(by.operator, by.node);
      await by.node.run('ctr -n k8s.io images tag localhost/busybox:1 docker.io/library/busybox:1.37');

      let values: Values = { node: name };
      const seen: { readonly pinned?: Seen | undefined; readonly shared?: Seen | undefined }[] = [];
      for (const { line, commands, shown, runBy } of blocks) {
        if (runBy === 'nobody') continue;
        const output = await by[runBy].run(commands);
        const found = shown === undefined ? values : matchShown(output, shown, values);
        if (found === undefined)
          throw new Error(
            `line ${line}: with ${JSON.stringify(values)} the page shows\n${shown}\nand this was printed:\n${output}`,
          );
        values = found;
        if (commands.includes('Cpus_allowed_list'))
          seen.push({ pinned: await look('pinned'), shared: await look('shared') });
      }

      const [whileBothRun, afterwards] = seen;
      expect(seen).toHaveLength(2);
      expect(whileBothRun).toMatchObject({ pinned: { cpus: values['cpu'] }, shared: { cpus: values['others'] } });
      expect(afterwards).toEqual({ pinned: undefined, shared: { id: whileBothRun!.shared!.id, cpus: values['all'] } });
      expect(values['all']).toBe(onlineCpus);
      expect(toCpus(`${values['cpu']},${values['others']}`)).toEqual(toCpus(onlineCpus));

      expect(await kubeApi.find('/api/v1/namespaces/cpusetd-quick-start')).toBeUndefined();
      const { metadata } = await kubeApi.get<{ metadata: { labels: object } }>(`/api/v1/nodes/${name}`);
      expect(metadata.labels).not.toHaveProperty('cpusetd');
      expect(existsSync(join(runtime.work, 'run/cpusetd'))).toBe(false);
      expect(await by.node.run('ls /var/lib; ctr -n k8s.io images list -q')).not.toContain('cpusetd');
    });
  },
  ['sid'],
);

/** The CPUs of a list, each as often as it is in it, in order. */
const toCpus = (list: string): number[] =>
  list
    .split(',')
    .flatMap((part) => {
      const [first = NaN, last = first] = part.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, i) => first + i);
    })
    .sort((a, b) => a - b);
