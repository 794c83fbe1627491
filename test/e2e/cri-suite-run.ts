import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { SuiteImages } from './cri-suite-images';
import { suiteKindOf } from './cri-suite-kinds';
import { addPodNetwork, enter, envOf, runInside, testFolder as folder } from './cri-tests-inside';
import type { CriTests, TestResults } from './cri-tests-three-runs';
import type { Runtime } from './rig';

const program = 'cri-integration.test';
const limitSeconds = 90;
const endpointOf = ({ criSocketInside }: Runtime) => ['--cri-endpoint', `unix://${criSocketInside}`];

/** containerd's tests of its CRI service, on a runtime that was started with a network of its own. */
export class CriSuite implements CriTests {
  private constructor(
    private readonly runtime: Runtime,
    private readonly images: SuiteImages,
    /** The names of all tests, also of those that are not run. */
    readonly names: readonly string[],
  ) {}

  static async prepare(runtime: Runtime, programDir: string): Promise<CriSuite> {
    const onHost = join(runtime.work, folder);
    mkdirSync(onHost);
    cpSync(join(programDir, program), join(onHost, program));
    symlinkSync('/usr/bin/busybox', join(onHost, 'kill')); // by pid; the root has no such command
    symlinkSync('/run/nri/nri.sock', join(runtime.work, 'run/nri-test.sock'));
    const images = await SuiteImages.pack(runtime, folder);
    await addPodNetwork(runtime);
    const names = await runInside(runtime, program, ['-test.list', '.', ...endpointOf(runtime)]);
    return new CriSuite(runtime, images, names.trim().split('\n'));
  }

  /**
   * Runs every test that is not excluded, in the order of the suite, against the runtime's socket. `ownSocket` is for
   * the images and for pods that failed tests leave. Verdicts are PASS, SKIP, or FAIL with the lines of the suite that
   * failed, of each test and subtest; `none` when the program ended before the test did. The output of a test has those
   * of its subtests.
   *
   * A test that fails has a second try, which counts: some wait a fixed second for what takes longer on a machine that
   * is busy.
   */
  async run(ownSocket = this.runtime.criSocketInside): Promise<TestResults> {
    const kubelet = this.runtime.kubeletAt(join(this.runtime.work, ownSocket));
    const { excluded } = suiteKindOf(this.runtime.suite);
    const verdicts = new Map<string, string>();
    const outputs = new Map<string, string>();
    for (const name of this.names.filter((name) => !excluded.has(name))) {
      for (let tries = 0; tries < 2 && !/^(?:PASS|SKIP)/.test(verdicts.get(name) ?? ''); tries++) {
        await this.images.importMissing(ownSocket, (command, args) => runInside(this.runtime, command, args));
        const output = await this.runOne(name);
        outputs.set(name, output);
        verdicts.set(name, 'none');
        for (const [test, verdict] of readVerdicts(output)) verdicts.set(test, verdict);
        await kubelet.removePods();
      }
    }
    return { verdicts, outputOf: (name) => outputs.get(name.split('/')[0] ?? '') };
  }

  private async runOne(name: string): Promise<string> {
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
