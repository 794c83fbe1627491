import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { loadScript } from '../support/load-script';
import type { Kubelet, Runtime } from './rig';
import { type Define, listAsNotRun, missing } from './rig/missing';
import { projectRoot } from './rig/project-root';

const { methods } = RuntimeServiceDefinition;

/** PASS, FAIL or SKIP of each test and subtest; `none` when the program ended before the test did. */
export type Verdicts = ReadonlyMap<string, string>;

/** The folder of the suite in the runtime's mount namespace. */
const folder = '/run/suite';
const limitSeconds = 90;

const ownContainerd = 'starts a containerd of its own, and does not use the endpoint';
const restarts = 'ends containerd by its name';
const failpoints = 'needs the shim with failpoints, which is not part of a release';
const registry = 'pulls from registries';
/** The tests of the suite that are not run. */
export const excluded: ReadonlyMap<string, string> = new Map([
  ...[
    'TestContainerCgroupWritable',
    'TestRunContainerWithVolatileOption',
    'TestIssue10244LoopbackV2',
    'TestIssue10467',
    'TestOOMEventMonitor',
    'TestUpgrade',
    'TestReload100Pods',
    'TestRuntimeHandlerUnpackWithSnapshotLabels',
  ].map((name) => [name, ownContainerd] as const),
  ...[
    'TestUpdatePodSandboxWithRestart',
    'TestNriPluginContainerdRestart',
    'TestContainerdRestartSandboxRecover',
    'TestContainerdRestart',
    'TestSandboxStopWithNilCNIResult',
    'TestRunPodSandboxWithShimDeleteFailure',
    'TestRunPodSandboxWithShimStartAndTeardownCNIFailure',
    'TestRunPodSandboxAndTeardownCNISlow',
  ].map((name) => [name, restarts] as const),
  ...[
    'TestRunPodSandboxWithSetupCNIFailure',
    'TestRunPodSandboxWithShimStartFailure',
    'TestIssue7496_ShouldRetryShutdown',
    'TestPodSandboxController_ShouldBackoffExitEventWhenFail',
  ].map((name) => [name, failpoints] as const),
  ...[
    'TestContainerdImage',
    'TestContainerdImageInOtherNamespaces',
    'TestContainerdSandboxImagePulledOutsideCRI',
    'TestCRIImagePullTimeout',
    'TestImageLoad',
    'TestImageVolumeBasic',
    'TestImageVolumeReusableAfterFailure',
    'TestImageVolumeCheckVolatileOption',
    'TestImageVolumeSetupIfContainerdRestarts',
    'TestKillShimPreservesExitStatusForMultipleContainers',
  ].map((name) => [name, registry] as const),
  ['TestContainerDrainExecIOAfterExit', 'waits three minutes for a sleep that the busybox of Debian does not know'],
  ['TestContainerTTYLeakAfterExit', 'needs lsof, and waits a minute for it'],
  ['TestIssue7496', 'needs strace'],
  ...['TestContainerStopSignals', 'TestContainerStopCancellation'].map(
    (name) => [name, 'differs between runs: it stops a shell that may not have set its trap yet'] as const,
  ),
  ['TestContainerConsumedStats', 'needs an image with a program that uses memory'],
]);

/** The tests in which a plugin of the suite sets CPUs, which are cpusetd's to decide. */
export const settingCpus = ['TestNriLinuxCpusetAdjustment', 'TestNriLinuxCpusetAdjustmentUpdate'];

/** The images of the suite, by the names of its list; each is an image of its own, since some tests remove theirs. */
const imageNames = ['Alpine', 'BusyBox', 'ResourceConsumer', 'VolumeCopyUp', 'VolumeOwnership', 'Nginx'];
const referenceOf = (name: string): string => `localhost/suite-${name.toLowerCase()}:1`;

/** Paths and modes of a layer. */
interface Entry {
  readonly name: string;
  readonly type?: string;
  readonly mode?: number;
  readonly owner?: number;
  readonly content?: Buffer;
}
interface Image {
  readonly name: string;
  readonly entries?: readonly Entry[];
  readonly settings?: object;
}
interface ImageScript {
  readonly pauseImage: string;
  readonly packTinyImage: (busybox: string, images: readonly Image[]) => Buffer;
}

const fileOf = (name: string, text: string): Entry => ({ name, content: Buffer.from(text) });
const folderOf = (name: string, owner = 0): Entry => ({ name, type: '5', mode: 0o755, owner });
const volumesOf = (...paths: readonly string[]) => ({ Volumes: Object.fromEntries(paths.map((path) => [path, {}])) });
/** Names that the suite expects of its busybox. */
const users = [
  fileOf('etc/passwd', 'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\n'),
  fileOf('etc/group', 'root:x:0:\ndaemon:x:1:\nwheel:x:10:root\n'),
];
/** The contents of the two images with volumes, as the suite's own Dockerfiles make them. */
const withVolumes: Readonly<Record<string, Omit<Image, 'name'>>> = {
  VolumeCopyUp: {
    entries: [
      ...['test_dir/', 'C:/', 'C:/weird_test_dir/', ':colon_prefixed/'].map((name) => folderOf(name)),
      fileOf('test_dir/test_file', 'test_content\n'),
      fileOf('C:/weird_test_dir/weird_test_file', 'test_content\n'),
      fileOf(':colon_prefixed/colon_prefixed_file', 'test_content\n'),
    ],
    settings: volumesOf('/test_dir', 'C:/weird_test_dir', '/:colon_prefixed'),
  },
  VolumeOwnership: { entries: [folderOf('test_dir/', 65_534)], settings: volumesOf('/test_dir') },
};

/** A bridge in the network namespace of the runtime, by the CNI plugins of Debian. */
const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'pods',
      isGateway: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
};

/** The folder with the program of the suite, built when the cache does not have it, and `describe` for tests that need it. */
export function requireSuiteProgram(): { readonly programDir: string; readonly define: Define } {
  const script = join(projectRoot(), 'scripts/go-programs/build.mjs');
  const done = spawnSync(process.execPath, [script, 'containerd-integration'], { encoding: 'utf8' });
  if (done.status === 0) return { programDir: done.stdout.trim().split(': ')[1] ?? '', define: describe };
  const why = done.stderr.trim().split('\n').at(-1) ?? '';
  const what = "the program of containerd's own tests";
  return { programDir: '', define: why.includes('needs Go') ? listAsNotRun(what, why) : missing(what, why) };
}

/** containerd's tests of its CRI service, on a runtime that was started with a network of its own. */
export class CriSuite {
  readonly #names: readonly string[];

  private constructor(private readonly runtime: Runtime) {
    this.#names = this.#inside('cri-integration.test', ['-test.list', '.']).trim().split('\n');
  }

  static async prepare(runtime: Runtime, programDir: string): Promise<CriSuite> {
    const onHost = join(runtime.work, folder);
    mkdirSync(onHost);
    mkdirSync(join(runtime.work, 'run/cni'), { recursive: true });
    cpSync(join(programDir, 'cri-integration.test'), join(onHost, 'cri-integration.test'));
    writeFileSync(join(runtime.work, 'run/cni/pods.conflist'), JSON.stringify(podNetwork));
    symlinkSync('/usr/bin/busybox', join(onHost, 'kill')); // by pid; the root has no such command
    symlinkSync('/run/nri/nri.sock', join(runtime.work, 'run/nri-test.sock'));
    const { packTinyImage, pauseImage } = await loadScript<ImageScript>('runtime/tiny-image.mjs');
    const images = imageNames.map((name) => ({
      ...withVolumes[name],
      name: referenceOf(name),
      entries: [...users, ...(withVolumes[name]?.entries ?? []), fileOf('etc/image', name)],
    }));
    const busybox = `/proc/${runtime.namespacePid}/root/usr/bin/busybox`;
    writeFileSync(
      join(onHost, 'images.tar'),
      packTinyImage(busybox, [...images, { name: pauseImage, settings: { StopSignal: 'SIGKILL' } }]),
    );
    const digest = 'sha256:'.padEnd(71, '0');
    const list = imageNames.map((name) => `${name} = '${referenceOf(name)}'\n`).join('');
    writeFileSync(
      join(onHost, 'images.toml'),
      `${list}Pause = '${pauseImage}'\nBusyBoxByDigest = 'localhost/suite@${digest}'\n`,
    );
    return new CriSuite(runtime);
  }

  /** The names of all tests, also of those that are not run. */
  get names(): readonly string[] {
    return this.#names;
  }

  /**
   * Runs every test that is not excluded, in the order of the suite, against the runtime's socket. A proxy may listen there: `ownSocket` is
   * where the runtime does (a path in its mount namespace), for the images and for pods that failed tests leave.
   */
  async run(ownSocket = this.runtime.criSocketInside): Promise<Verdicts> {
    const { channel } = this.runtime.kubeletAt(join(this.runtime.work, ownSocket));
    const verdicts = new Map<string, string>();
    for (const name of this.#names.filter((name) => !excluded.has(name))) {
      this.#inside('ctr', ['-a', ownSocket, '-n', 'k8s.io', 'images', 'import', '--local', `${folder}/images.tar`]);
      for (const [test, verdict] of await this.#runOne(name)) verdicts.set(test, verdict);
      await removePods(channel);
    }
    return verdicts;
  }

  async #runOne(name: string): Promise<Verdicts> {
    const args = [
      ...['-test.v', '-test.run', `^${name}$`, '-test.timeout', `${limitSeconds}s`],
      ...['--cri-endpoint', `unix://${this.runtime.criSocketInside}`, '--image-list', `${folder}/images.toml`],
      ...['--containerd-bin', 'no-such-program'],
    ];
    const child = spawn('nsenter', this.#enter('cri-integration.test', args), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: this.#env,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    await once(child, 'close');
    const found = [...output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)].map(
      ([, verdict = '', test = '']) => [test, verdict] as const,
    );
    return new Map([[name, 'none'], ...found]);
  }

  #inside(command: string, args: readonly string[]): string {
    return execFileSync('nsenter', this.#enter(command, args), {
      encoding: 'utf8',
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  #enter(command: string, args: readonly string[]): string[] {
    const namespaces = `/proc/${this.runtime.namespacePid}`;
    const enter = [`--mount=${namespaces}/ns/mnt`, `--net=${namespaces}/ns/net`, `--wd=${namespaces}/root/tmp`];
    return [...enter, '--', command, ...args];
  }

  /** Variables that mark processes as the runtime's, and a search path without the command that ends processes by name. */
  get #env(): NodeJS.ProcessEnv {
    return {
      PATH: `/run/bin:${folder}:/usr/sbin:/usr/bin:/sbin:/bin`,
      HOME: '/tmp',
      CPUSETD_RUNTIME: this.runtime.work,
    };
  }
}

async function removePods(channel: Kubelet['channel']): Promise<void> {
  const { items } = await channel.call(methods.listPodSandbox, { filter: undefined });
  for (const { id: podSandboxId } of items) {
    await channel.call(methods.stopPodSandbox, { podSandboxId });
    await channel.call(methods.removePodSandbox, { podSandboxId });
  }
}

/** Removes the cgroup that containerd makes for containers without one, as those of the suite, unless another runtime uses it. */
export function removeSuiteCgroup(): void {
  const root = '/sys/fs/cgroup';
  const hierarchies = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const dir of [root, ...hierarchies.map(({ name }) => join(root, name))]) {
    try {
      rmdirSync(join(dir, 'k8s.io'));
    } catch {
      // It is not there, or in use.
    }
  }
}
