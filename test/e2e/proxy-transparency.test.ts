import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateContainerRequest, UpdateContainerResourcesRequest } from '../gen/cri/v1/cri';
import { readCriTable } from '../cri/every-method/cri-table';
import { openRegistry, type Registry } from './proxy-registry';
import { INVENTED, runSession } from './proxy-session';
import { openTap, type Tap, type TappedCall } from './proxy-tap';
import {
  type Daemon,
  exclusiveList,
  lastCpu,
  onRuntimes,
  printMaskThenSleep,
  type Runtime,
  startDaemon,
  startRuntime,
  waitUntil,
} from './rig';

jest.setTimeout(300_000);

const container = { name: 'db', cpus: lastCpu, command: printMaskThenSleep };
const paths = [...readCriTable().methods.map(({ path }) => path), ...INVENTED];

/** Replaces bytes by digests, for short differences in failures. */
function asDigests({ requests, answers, ...call }: TappedCall): object {
  const digest = (bytes: Buffer): string => `${bytes.length}: ${createHash('sha256').update(bytes).digest('hex')}`;
  return { ...call, requests: requests.map(digest), answers: answers.map(digest) };
}

/** The parts of a call that are equal in two sessions, without ids and times. */
function withoutNames({ path, code, details, header, trailer, answers }: TappedCall): object {
  const text = details
    ?.replace(/[0-9a-f]{64}|[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID')
    .replace(/\d+(\.\d+)?m?s\b|\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');
  const isStream = path.endsWith('/GetContainerEvents');
  return { path, code, details: text, header, trailer, answers: isStream ? 'some' : answers.length };
}

const ended = (...taps: readonly Tap[]): Promise<void> =>
  waitUntil('the end of every call to be known', () =>
    taps.every(({ calls }) => calls.every(({ code }) => code !== undefined)),
  );

onRuntimes(['trixie', 'sid', 'crio'], 'a session over every method of CRI, NRI off', (suite) => {
  let folder: string;
  let runtime: Runtime;
  let registry: Registry;
  let daemon: Daemon | undefined;
  const taps: Tap[] = [];
  const tap = async (name: string, behind: string, marks: boolean): Promise<Tap> => {
    const opened = await openTap(join(folder, name), { behind, marks, paths });
    taps.push(opened);
    return opened;
  };
  const session = (name: string, awaitsEvents: boolean) => {
    const socket = join(folder, name);
    const kubelet = runtime.kubeletAt(socket);
    return runSession({ socket, kubelet, container, image: registry.image, awaitsEvents });
  };
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'cpusetd-t-'));
    runtime = await startRuntime({ suite, nri: false });
    registry = await openRegistry();
  });
  afterAll(async () => {
    await daemon?.dispose();
    for (const each of taps) each.close();
    registry?.close();
    await runtime?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('its bytes are the same in front of the proxy and behind it, except for injected fields, and its results are those without the proxy', async () => {
    const behind = await tap('behind', runtime.criSocket, false);
    daemon = startDaemon({
      args: ['--mode', 'cri-proxy', '--reserved-cpus', '0', '--cri-endpoint', join(folder, 'behind')],
    });
    await daemon.ready();
    const before = await tap('before', daemon.criListen, true);
    await session('before', true);
    await ended(before, behind);

    expect(new Set(before.calls.map(({ path }) => path))).toEqual(new Set(paths));
    const arrived = new Map(behind.calls.map((call) => [call.id, call]));
    const added: object[] = [];
    const passed = before.calls.map(({ id, path, requests: [own = Buffer.alloc(0)] }) => {
      const call = arrived.get(id)!;
      const [whole = Buffer.alloc(0)] = call.requests;
      const more = whole.subarray(own.length);
      if (path.endsWith('/CreateContainer') && more.length > 0) added.push(CreateContainerRequest.decode(more));
      else if (more.length > 0) added.push(UpdateContainerResourcesRequest.decode(more));
      return asDigests({ ...call, requests: call.requests.map((request) => request.subarray(0, own.length)) });
    });
    expect(passed).toEqual(before.calls.map(asDigests));
    const resources = { cpusetCpus: exclusiveList };
    expect(added).toEqual([
      CreateContainerRequest.fromPartial({ config: { linux: { resources: { ...resources, cpuQuota: -1n } } } }),
      UpdateContainerResourcesRequest.fromPartial({ linux: resources }),
    ]);

    const direct = await tap('direct', runtime.criSocket, true);
    await session('direct', false);
    await ended(direct);
    expect(before.calls.map(withoutNames)).toEqual(direct.calls.map(withoutNames));
    const codes = new Map(direct.calls.map(({ path, code }) => [path.split('/').at(-1), code]));
    expect(Object.fromEntries(codes)).toMatchObject({
      ListImages: 0,
      RemoveImage: 0,
      ImageFsInfo: 0,
      ExecSync: expect.any(Number) as number,
      Exec: 0,
      Attach: 0,
      PortForward: 0,
      ContainerStats: 0,
      ListContainerStats: 0,
      Invented: 12,
      GetContainerEvents: 1,
    });
    expect(direct.calls.filter(({ path }) => path.endsWith('/PullImage')).map(({ code }) => code === 0)).toEqual([
      true,
      false,
    ]);
  });
});
