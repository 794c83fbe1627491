import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BundleProcess } from './bundle-process';

export { bundle, type LogLine } from './bundle-process';

export interface DaemonOptions {
  /** The arguments after `cpusetd run`, besides the folders and sockets below. */
  readonly args: readonly string[];
  /** The runtime whose sockets it gets; absent: `args` name the sockets. */
  readonly runtime?: { readonly nriSocket: string; readonly criSocket: string };
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of its state, instead of one of its own. */
  readonly stateDir?: string;
  /** The socket of the CRI proxy, instead of one of its own. */
  readonly criListen?: string;
  /** Another build than dist/cpusetd.js, such as an earlier version. */
  readonly bundle?: string;
  /** The program of another Node than this one; the commands that ask the daemon run on it too. */
  readonly node?: string;
  /** A command that runs it in its own place, such as {@link inCgroup}. */
  readonly launcher?: readonly string[];
  /** Its clock is stepped: its times can't be compared. */
  readonly clock?: 'stepped';
}

/** The folder of locks for all daemons of a test, as on a host: only one daemon may serve a runtime. */
const lockDir = join(tmpdir(), `cpusetd-locks-${process.pid}`);
/** The daemons that use the folder of locks. The last one that is disposed of removes it. */
const users = new Set<Daemon>();

/**
 * The built daemon as a process, with state and sockets in a folder of its own. It can be killed and started again on
 * the same state any number of times.
 */
export class Daemon extends BundleProcess {
  readonly dir: string;
  readonly stateDir: string;
  readonly adminSocket: string;
  readonly criListen: string;

  constructor(private readonly options: DaemonOptions) {
    const dir = mkdtempSync(join(tmpdir(), 'cpusetd-d-'));
    const stateDir = options.stateDir ?? join(dir, 'state');
    const adminSocket = join(dir, 'admin.sock');
    const criListen = options.criListen ?? join(dir, 'cri.sock');
    const { env, bundle, node, launcher } = options;
    super({
      args: ['run', ...ownArgs(options, { dir, stateDir, adminSocket, criListen }), ...options.args],
      ...(env && { env }),
      ...(bundle !== undefined && { bundle }),
      ...(node !== undefined && { node }),
      ...(launcher && { launcher }),
    });
    [this.dir, this.stateDir, this.adminSocket, this.criListen] = [dir, stateDir, adminSocket, criListen];
    users.add(this);
  }

  get clock(): 'steady' | 'stepped' {
    return this.options.clock ?? 'steady';
  }

  get node(): string {
    return this.options.node ?? process.execPath;
  }

  get isOtherVersion(): boolean {
    return this.options.bundle !== undefined;
  }

  /**
   * Waits until the process of the last start serves the runtime (a plugin is synchronized, a proxy listens) and its
   * admin socket.
   */
  async ready(): Promise<void> {
    const serves = this.options.args.includes('cri-proxy') ? 'the CRI proxy listens' : 'synchronized with the runtime';
    // Either may come first.
    await Promise.all([serves, 'started'].map((line) => this.waitForLog(line, { from: this.startedAt })));
  }

  /** Ends it, with SIGKILL if necessary, and removes its folder, and that of the locks with the last daemon. */
  async dispose(): Promise<void> {
    await this.stop('SIGTERM', 30_000).catch(() => this.kill());
    rmSync(this.dir, { recursive: true, force: true });
    users.delete(this);
    if (users.size === 0) rmSync(lockDir, { recursive: true, force: true });
  }
}

/** The arguments for its folders and sockets, so that it uses no default path of the host. Those of the test win. */
function ownArgs(
  { args, runtime, bundle }: DaemonOptions,
  { dir, stateDir, adminSocket, criListen }: { dir: string; stateDir: string; adminSocket: string; criListen: string },
): string[] {
  const paths = {
    'state-dir': stateDir,
    'admin-socket': adminSocket,
    'kubelet-root-dir': join(dir, 'kubelet'),
    'nri-socket': runtime?.nriSocket ?? join(dir, 'nri.sock'),
    'cri-endpoint': runtime?.criSocket ?? join(dir, 'runtime.sock'),
    ...(args.includes('cri-proxy') && { 'cri-listen': criListen }),
    // An earlier version has no such options.
    ...(bundle === undefined && { 'lock-dir': lockDir, 'cpu-identity-dir': join(dir, 'identity') }),
    'log-format': 'json',
  };
  const own = Object.entries(paths).filter(([name]) => !args.includes(`--${name}`));
  return own.flatMap(([name, value]) => [`--${name}`, value]);
}

/** A started daemon; see {@link Daemon}. */
export function startDaemon(options: DaemonOptions): Daemon {
  const daemon = new Daemon(options);
  daemon.start();
  return daemon;
}
