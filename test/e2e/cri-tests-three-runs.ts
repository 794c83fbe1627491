import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { PROXY } from './proxy-node';
import { type Daemon, type DaemonOptions, type Runtime, startDaemon, startRuntime, type Suite } from './rig';

/** Tests of CRI that are ready to run on a runtime. */
export interface CriTests {
  /**
   * Runs the tests against the runtime's socket. A proxy may listen there: `ownSocket` is where the runtime does, a
   * path in its mount namespace.
   */
  run(ownSocket?: string): Promise<TestResults>;
}

/** The results of a run. */
export interface TestResults {
  /** By the name of the test. */
  readonly verdicts: ReadonlyMap<string, string>;
  /** The output of the test with this name. */
  readonly outputOf: (name: string) => string | undefined;
}

/** Ends something that tests use. */
export type Close = () => Promise<void>;

/**
 * The same tests directly on a runtime, through the proxy and beside the plugin, side by side: each on a runtime of its
 * own.
 */
export class ThreeRuns {
  private readonly runtimes: Runtime[] = [];
  private readonly daemons: Daemon[] = [];
  private readonly closers: Close[] = [];

  /** @param prepare what it opens it gives to `onClose` */
  constructor(
    private readonly suite: Suite,
    private readonly prepare: (runtime: Runtime, onClose: (close: Close) => void) => Promise<CriTests>,
  ) {}

  /** @returns the results directly, through the proxy and beside the plugin */
  async run(): Promise<readonly [TestResults, TestResults, TestResults]> {
    const runs = [this.runDirectly(), this.runThroughProxy(), this.runBesidePlugin()] as const;
    await Promise.allSettled(runs); // so that all runtimes are known to the end
    return Promise.all(runs);
  }

  /** Ends the daemons and runtimes, and what the tests opened. */
  async dispose(): Promise<void> {
    for (const daemon of this.daemons) await daemon.dispose();
    for (const close of this.closers) await close();
    for (const runtime of this.runtimes) await runtime.stop();
  }

  private async runDirectly(): Promise<TestResults> {
    const { tests } = await this.start();
    return tests.run();
  }

  private async runThroughProxy(): Promise<TestResults> {
    const { runtime, tests } = await this.start();
    // The proxy listens on the runtime's own path: tests find the sockets of shims by that.
    const behind = 'run/behind.sock';
    const criSocket = join(runtime.work, behind);
    renameSync(runtime.criSocket, criSocket);
    await this.startDaemon({ runtime: { ...runtime, criSocket }, criListen: runtime.criSocket, args: PROXY });
    return tests.run(join('/', behind));
  }

  private async runBesidePlugin(): Promise<TestResults> {
    const { runtime, tests } = await this.start();
    await this.startDaemon({ runtime, args: ['--reserved-cpus', '0'] });
    return tests.run();
  }

  private async start() {
    const runtime = await startRuntime({ suite: this.suite, nri: true, ownNetwork: true });
    this.runtimes.push(runtime);
    return { runtime, tests: await this.prepare(runtime, (close) => this.closers.push(close)) };
  }

  private async startDaemon(options: DaemonOptions): Promise<void> {
    const daemon = startDaemon(options);
    this.daemons.push(daemon);
    await daemon.ready();
  }
}

/** A line for each test: its name, and its verdicts in the three runs. */
export function formatVerdicts(runs: readonly TestResults[]): string {
  const names = new Set(runs.flatMap(({ verdicts }) => [...verdicts.keys()]));
  const rows = [...names].map((name) => `${name}: ${runs.map(({ verdicts }) => verdicts.get(name)).join(', ')}`);
  return ['directly, through the proxy, beside the plugin:', ...rows].join('\n');
}

/** The tests with different verdicts in two runs, and the outputs of both. */
export function listDifferences(
  results: TestResults,
  other: TestResults,
  except: readonly string[] = [],
): readonly object[] {
  const names = new Set([...results.verdicts.keys(), ...other.verdicts.keys()]);
  return [...names]
    .filter((name) => !except.includes(name) && results.verdicts.get(name) !== other.verdicts.get(name))
    .map((name) => {
      const describeRun = ({ verdicts, outputOf }: TestResults) => ({
        verdict: verdicts.get(name),
        output: outputOf(name)?.split('\n'),
      });
      return { name, runs: [results, other].map(describeRun) };
    });
}
