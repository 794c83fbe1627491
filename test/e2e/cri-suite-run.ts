import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RuntimeServiceDefinition } from '../../gen/cri/v1/cri';
import { SuiteImages } from './cri-suite-images';
import { suiteKindOf } from './cri-suite-kinds';
import { type Runtime, waitUntil } from './rig';

const { methods } = RuntimeServiceDefinition;

/** The results of a run. */
export interface SuiteResults {
  /**
   * PASS, SKIP, or FAIL with the lines of the suite that failed, of each test and subtest; `none` when the program ended before the test
   * did.
   */
  readonly verdicts: ReadonlyMap<string, string>;
  /** The output of each test, with that of its subtests. */
  readonly outputs: ReadonlyMap<string, string>;
}

/** The folder of the suite in the runtime's mount namespace. */
const folder = '/run/suite';
const program = 'cri-integration.test';
const limitSeconds = 90;
const endpointOf = ({ criSocketInside }: Runtime) => ['--cri-endpoint', `unix://${criSocketInside}`];

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

/** containerd's tests of its CRI service, on a runtime that was started with a network of its own. */
export class CriSuite {
  private constructor(
    private readonly runtime: Runtime,
    private readonly images: SuiteImages,
    /** The names of all tests, also of those that are not run. */
    readonly names: readonly string[],
  ) {}

  static async prepare(runtime: Runtime, programDir: string): Promise<CriSuite> {
    const onHost = join(runtime.work, folder);
    mkdirSync(onHost);
    mkdirSync(join(runtime.work, 'run/cni'), { recursive: true });
    cpSync(join(programDir, program), join(onHost, program));
    symlinkSync('/usr/bin/busybox', join(onHost, 'kill')); // by pid; the root has no such command
    symlinkSync('/run/nri/nri.sock', join(runtime.work, 'run/nri-test.sock'));
    const images = await SuiteImages.pack(runtime, folder);
    writeFileSync(join(runtime.work, 'run/cni/pods.conflist'), JSON.stringify(podNetwork));
    await waitUntil('the network of pods', async () => {
      const { status } = await runtime.kubelet.channel.call(methods.status, { verbose: false });
      return status?.conditions.find(({ type }) => type === 'NetworkReady')?.status === true;
    });
    const names = await runInside(runtime, program, ['-test.list', '.', ...endpointOf(runtime)]);
    return new CriSuite(runtime, images, names.trim().split('\n'));
  }

  /**
   * Runs every test that is not excluded, in the order of the suite, against the runtime's socket. A proxy may listen there: `ownSocket` is
   * where the runtime does (a path in its mount namespace), for the images and for pods that failed tests leave.
   *
   * A test that fails has a second try, which counts: some wait a fixed second for what takes longer on a machine that is busy.
   */
  async run(ownSocket = this.runtime.criSocketInside): Promise<SuiteResults> {
    const kubelet = this.runtime.kubeletAt(join(this.runtime.work, ownSocket));
    const { excluded } = suiteKindOf(this.runtime.suite);
    const verdicts = new Map<string, string>();
    const outputs = new Map<string, string>();
    for (const name of this.names.filter((name) => !excluded.has(name))) {
      for (let tries = 0; tries < 2 && !/^(?:PASS|SKIP)/.test(verdicts.get(name) ?? ''); tries++) {
        await this.images.importMissing(ownSocket, (command, args) => runInside(this.runtime, command, args));
        const output = await this.#runOne(name);
        outputs.set(name, output);
        verdicts.set(name, 'none');
        for (const [test, verdict] of readVerdicts(output)) verdicts.set(test, verdict);
        await kubelet.removePods();
      }
    }
    return { verdicts, outputs };
  }

  async #runOne(name: string): Promise<string> {
    const args = [
      ...['-test.v', '-test.run', `^${name}$`, '-test.timeout', `${limitSeconds}s`],
      ...[...endpointOf(this.runtime), '--image-list', this.images.list, '--containerd-bin', 'no-such-program'],
    ];
    const child = spawn('nsenter', enter(this.runtime, program, args), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: envOf(this.runtime),
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)));
    await once(child, 'close');
    return output;
  }
}

/** Reads the verdicts of a test and its subtests from its output. */
function readVerdicts(output: string): ReadonlyMap<string, string> {
  const failures = [...output.matchAll(/Error Trace:\s+\S*\/(\w+\.go:\d+)[\s\S]*?\n\s+Test:\s+(\S+)/g)];
  const linesOf = (name: string) => failures.filter(([, , test]) => test === name).map(([, line]) => line);
  const verdicts = [...output.matchAll(/^ *--- (PASS|FAIL|SKIP): (\S+)/gm)];
  return new Map(verdicts.map(([, verdict, test = '']) => [test, [verdict, ...linesOf(test)].join(' ')]));
}

/** Runs a command in the runtime's namespaces. @returns its output @throws when it fails */
async function runInside(runtime: Runtime, command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)('nsenter', enter(runtime, command, args), { env: envOf(runtime) });
  return stdout;
}

function enter({ namespacePid }: Runtime, command: string, args: readonly string[]): string[] {
  const namespaces = `/proc/${namespacePid}`;
  const options = [`--mount=${namespaces}/ns/mnt`, `--net=${namespaces}/ns/net`, `--wd=${namespaces}/root/tmp`];
  return [...options, '--', command, ...args];
}

/** Variables that mark processes as the runtime's, and a search path without the command that ends processes by name. */
const envOf = ({ work }: Runtime): NodeJS.ProcessEnv => ({
  PATH: `/run/bin:${folder}:/usr/sbin:/usr/bin:/sbin:/bin`,
  HOME: '/tmp',
  CPUSETD_RUNTIME: work,
});

/** Removes a cgroup below the root, unless another runtime uses it. */
export function removeUnusedCgroup(name: string): void {
  const root = '/sys/fs/cgroup';
  const hierarchies = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const dir of [root, ...hierarchies.map(({ name }) => join(root, name))]) {
    try {
      rmdirSync(join(dir, name));
    } catch {
      // It is not there, or in use.
    }
  }
}
