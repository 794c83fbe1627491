import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CreateContainerRequest,
  CreateContainerResponse,
  type PodSandbox,
  RemoveContainerRequest,
  RunPodSandboxRequest,
  StopContainerRequest,
} from '../../gen/nri/v1alpha1/nri';
import { parseCpuList } from '../../src/core/cpuset';
import { makeContainer, makePod } from '../support/nri-runtime-model';
import { type Daemon, onlineCpus, startDaemon } from './rig';
import { requireGoPrograms } from './rig/go-program';
import { NriRuntimeProcess, WatchedSocket } from './rig/nri-runtime-process';

jest.setTimeout(120_000);

/** The runtime waits so long for an answer. */
const TIMEOUT_MS = 1000;
const machine = parseCpuList(onlineCpus);
const reserved = String(machine.first);
/** Every container asks for all CPUs that are not reserved: it gets them only when no other has one. */
const wanted = machine.minus(parseCpuList(reserved));

/** The pods and containers of one runtime, whose only plugin is cpusetd. */
class Node {
  readonly pod: PodSandbox = makePod({ name: 'web' });
  private attempts = 0;

  private constructor(
    readonly daemon: Daemon,
    readonly runtime: NriRuntimeProcess,
    /** The place where requests to cpusetd pass. */
    readonly requests: WatchedSocket,
  ) {}

  /** The parts are in `onStop` as soon as they are there. */
  static async start(programs: string, onUnanswered: string, onStop: (stop: () => unknown) => void): Promise<Node> {
    const folder = mkdtempSync(join(tmpdir(), 'nri-'));
    onStop(() => rmSync(folder, { recursive: true, force: true }));
    const [far, near] = [join(folder, 'far.sock'), join(folder, 'near.sock')];
    const runtime = new NriRuntimeProcess(join(programs, 'nri-runtime'), far, TIMEOUT_MS);
    onStop(() => runtime.stop());
    await runtime.listening();
    const requests = await WatchedSocket.listen(near, far);
    onStop(() => requests.close());
    const places = ['--nri-socket', near, '--cri-endpoint', 'off'];
    const daemon = startDaemon({ args: [...places, '--reserved-cpus', reserved, '--on-unanswered', onUnanswered] });
    const node = new Node(daemon, runtime, requests);
    onStop(async () => {
      if (daemon.outcome === undefined) node.goOn();
      await daemon.dispose();
    });
    await daemon.ready();
    await runtime.relay('RunPodSandbox', RunPodSandboxRequest.encode({ pod: node.pod }).finish());
    return node;
  }

  /** Creates a container as containerd does: a creation that fails is undone. */
  async create(): Promise<{ readonly cpus: string; readonly error?: string; readonly ms: number }> {
    const { pod, runtime } = this;
    const id = `attempt-${++this.attempts}`;
    const made = makeContainer(pod, { name: 'app', milliCpu: wanted.size * 1000, memoryBytes: 64 << 20 });
    const container = { ...made, id };
    const request = CreateContainerRequest.encode({ pod, container }).finish();
    const { response, error, ms } = await runtime.relay('CreateContainer', request);
    const cpus = CreateContainerResponse.decode(response).adjust?.linux?.resources?.cpu?.cpus ?? '';
    if (error === undefined) return { cpus, ms };
    await runtime.relay('StopContainer', StopContainerRequest.encode({ pod, container }).finish());
    await runtime.relay('RemoveContainer', RemoveContainerRequest.encode({ pod, container }).finish());
    return { cpus, error, ms };
  }

  /**
   * Stops cpusetd so that it can't answer, creates a container, and calls `meanwhile` when the request is on its way.
   */
  async createWhileStopped(meanwhile: () => unknown = () => undefined): ReturnType<Node['create']> {
    process.kill(this.daemon.pid, 'SIGSTOP');
    const sent = this.requests.nextSent().then(meanwhile);
    const created = await this.create();
    await sent;
    return created;
  }

  goOn(): void {
    process.kill(this.daemon.pid, 'SIGCONT');
  }

  alarms(): unknown[] {
    return this.daemon.log.lines.filter(({ msg }) => msg === 'alarm');
  }
}

const { programs, define } = requireGoPrograms('nri');
define('a request without an answer, with the NRI of a runtime that knows failure policies', () => {
  const stops: (() => unknown)[] = [];
  const start = (onUnanswered: string): Promise<Node> =>
    Node.start(programs, onUnanswered, (stop) => stops.unshift(stop));
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop();
  });
  const pinned = { cpus: wanted.toString(), ms: expect.any(Number) as number };

  test('on-unanswered refuse: it fails when it is late, and cpusetd stays connected and gives the CPUs to the next', async () => {
    const node = await start('refuse');
    const late = await node.createWhileStopped();
    expect(late).toMatchObject({ cpus: '', error: expect.stringMatching(/50-cpusetd failed to handle .*deadline/) });
    node.goOn();
    expect(await node.create()).toEqual(pinned);
    expect(node.runtime.connections).toBe(1);
    expect(node.alarms()).toEqual([]);
  });

  test('on-unanswered allow: it passes without CPUs when it is late, and cpusetd has to connect again', async () => {
    const node = await start('allow');
    const late = await node.createWhileStopped();
    expect(late).toEqual({ cpus: '', ms: expect.any(Number) });
    expect(late.ms).toBeGreaterThanOrEqual(TIMEOUT_MS);
    // cpusetd is no longer asked.
    expect((await node.create()).ms).toBeLessThan(TIMEOUT_MS);
    node.goOn();
    await node.runtime.untilConnected(2);
  });

  test.each`
    onUnanswered | outcome
    ${'refuse'}  | ${{ error: expect.stringMatching(/50-cpusetd failed to handle .*closed/) }}
    ${'allow'}   | ${{ cpus: '' }}
  `('on-unanswered $onUnanswered: cpusetd is killed during the request', async ({ onUnanswered, outcome }) => {
    const node = await start(onUnanswered);
    const { daemon, runtime } = node;
    const killed = await node.createWhileStopped(() => daemon.kill());
    expect(killed).toMatchObject(outcome);
    expect('error' in killed).toBe(onUnanswered === 'refuse');
    expect(killed.ms).toBeLessThan(TIMEOUT_MS);
    // Not connected: the runtime does not ask, whatever the policy is.
    expect(await node.create()).toEqual({ cpus: '', ms: expect.any(Number) });
    daemon.start();
    await runtime.untilConnected(2);
    await daemon.ready();
    expect(await node.create()).toEqual(pinned);
  });
});
