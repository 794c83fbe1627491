import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseCpuList } from '../../src/core/cpuset';
import { callUnary, loadProtoClient } from '../admin/load-proto-client';
import { listCommands } from '../docs/commands';
import { readPage } from '../docs/markdown';
import {
  askDaemon,
  type Daemon,
  onRuntimes,
  onlineCpus,
  readPrintedStatus,
  readStatus,
  type RunningContainer,
  type Runtime,
  startDaemon,
  startRuntime,
} from './rig';
import { requireGoPrograms } from './rig/go-program';

jest.setTimeout(300_000);

const run = promisify(execFile);
const machine = parseCpuList(onlineCpus);
const reserved = String(machine.first);

interface ListAnswer {
  readonly podResources: readonly {
    readonly name: string;
    readonly namespace: string;
    readonly containers: readonly { readonly name: string; readonly cpuIds?: readonly number[] }[];
  }[];
}

onRuntimes(['sid'], 'answers of the admin socket about real containers', (suite) => {
  let runtime: Runtime;
  let daemon: Daemon;
  let db: RunningContainer;
  let podName: string;
  let namespace: string;

  beforeAll(async () => {
    runtime = await startRuntime({ suite, nri: true });
    daemon = startDaemon({ runtime, args: ['--reserved-cpus', reserved, '--kubelet-root-dir', '/nonexistent'] });
    await daemon.ready();
    const pod = await runtime.kubelet.runPod({
      containers: [
        { name: 'db', cpus: 1 },
        { name: 'side', cpus: 0.1 },
      ],
      shareProcessNamespace: true, // CRI-O makes a pause container only then
    });
    ({ name: podName, namespace } = pod);
    db = await pod.startContainer('db');
    await pod.startContainer('side');
  });
  afterAll(async () => {
    await daemon?.dispose();
    await runtime?.stop();
  });

  const cpusetd = (...args: string[]) => askDaemon(daemon, ...args);

  test('PodResources names the exclusive CPUs that the kernel has for the container, and none of the shared one', async () => {
    const client = loadProtoClient(
      'podresources/v1/podresources.proto',
      'v1.PodResourcesLister',
      `unix:${daemon.adminSocket}`,
    );
    const { podResources } = (await callUnary(client, 'List', {})) as ListAnswer;
    const { cpuIds } = (await callUnary(client, 'GetAllocatableResources', {})) as { cpuIds: number[] };
    const { podResources: found } = (await callUnary(client, 'Get', { podName, podNamespace: namespace })) as {
      podResources: ListAnswer['podResources'][number];
    };
    client.close();
    expect(podResources).toHaveLength(1);
    expect(podResources[0]).toMatchObject({ name: podName, namespace });
    const cpusByName = new Map(podResources[0]!.containers.map(({ name, cpuIds: ids = [] }) => [name, ids.join()]));
    expect(cpusByName).toEqual(
      new Map([
        ['db', db.cpuset().cpus],
        ['side', ''],
      ]),
    );
    expect(found).toEqual(podResources[0]);
    expect(cpuIds).toEqual(machine.minus(parseCpuList(reserved)).toArray());
  });

  const { programs, define } = requireGoPrograms('grpcurl');
  define('the commands of docs/protocol.md, with the real grpcurl', () => {
    const commands = listCommands('docs/protocol.md', readPage('protocol.md')).filter(
      ({ words }) => words[0] === 'grpcurl',
    );

    test('there are two', () =>
      expect(commands.map(({ words }) => words.at(-1)!.split('/')[1])).toEqual(['GetStatus', 'Explain']));

    test.each(commands.map(({ words }) => [words.at(-1)!, words.slice(1)] as const))(
      '%s is answered',
      async (method, words) => {
        const args = words.map((word) => (word === '/run/cpusetd/cpusetd.sock' ? daemon.adminSocket : word));
        const { stdout } = await run(join(programs, 'grpcurl'), args);
        const answer = JSON.parse(stdout) as object;
        if (method.endsWith('/GetStatus')) expect(answer).toMatchObject({ status: { node: { sharedPool: reserved } } });
        else
          expect(answer).toMatchObject({
            whatIf: { because: expect.stringContaining('asked for 4 exclusive CPUs') as unknown },
          });
      },
    );
  });

  test('topology draws the container on the CPU that the kernel has for it', async () => {
    const stdout = await cpusetd('topology');
    const own = db.cpuset().cpus;
    expect(stdout).toMatch(new RegExp(`(^|[ ])${own}A`, 'm'));
    expect(stdout).toMatch(new RegExp(`(^|[ ])${reserved}#`, 'm'));
    expect(stdout).toMatch(new RegExp(`^A  static +${own} +${namespace}/${podName} db$`, 'm'));
  });

  test('explain prints the reason and the steps of the allocation', async () => {
    const stdout = await cpusetd('explain', `${namespace}/${podName}`, 'db', '-o', 'json');
    const { containers } = JSON.parse(stdout) as {
      containers: { container: object; steps: { took: string }[] }[];
    };
    expect(containers).toMatchObject([
      {
        container: {
          id: db.id,
          kind: 'static',
          promise: { cpus: db.cpuset().cpus },
          because: '1 exclusive CPU, free on the node',
        },
        steps: [{ took: db.cpuset().cpus }],
      },
    ]);
  });

  test('explain --cpus with more CPUs than there are: exit status 1, and the number that can be given', async () => {
    await expect(cpusetd('explain', '--cpus', String(machine.size))).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining('can be given now') as string,
    });
  });

  test('status has the kind of each container; health of nri exits with 0', async () => {
    const { containers } = await readPrintedStatus(daemon);
    expect(await readStatus(daemon)).toMatchObject({
      containers: containers.map(({ id, verdict }) => ({ id, verdict })),
    });
    expect(new Map(containers.map(({ container, kind }) => [container, kind]))).toEqual(
      new Map([
        ['(pause)', undefined],
        ['db', 'static'],
        ['side', undefined],
      ]),
    );
    expect(await cpusetd('health', 'nri')).toContain('SERVING');
  });
});
