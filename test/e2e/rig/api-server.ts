import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LineLog } from './line-log';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

const scripts = join(projectRoot(), 'scripts/cluster');

/** The message of scripts/cluster/run.mjs when the API server is ready. */
export interface ControlPlaneFacts {
  readonly server: string;
  /** Kubeconfig files: `admin` has all rights, `nobody` none. */
  readonly kubeconfigs: { readonly admin: string; readonly nobody: string };
  readonly versions: Readonly<Record<string, string>>;
  /** The folder with the programs of Kubernetes, such as kubectl. */
  readonly programs: string;
  /** The folder with the logs of the components: `<program>.log`. */
  readonly work: string;
  /** One JSON line for each request. */
  readonly auditLog: string;
}

export interface ControlPlane extends ControlPlaneFacts {
  /** Kills a component; stored objects stay. */
  kill(component: string): Promise<void>;
  /** Starts a component, which may be one that was not started before. Waits until the API server answers. */
  start(component: string): Promise<void>;
  stop(): Promise<void>;
}

export interface ApiServer extends ControlPlaneFacts {
  /** Kills it; stored objects stay. */
  kill(): Promise<void>;
  /** Starts it again at the same address, and waits until it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

type ControlPlaneEvent =
  | ({ readonly event: 'ready' } & ControlPlaneFacts)
  | { readonly event: 'killed' | 'started' | 'stopped' }
  | { readonly event: 'failed'; readonly reason: string };

const startDeadlineMs = 180_000;

/** The exit status of prepare.mjs when programs have to be built and this machine cannot. */
const statusCannotBuild = 3;

/**
 * `describe` for tests that need the real API server. Without one, a line on stderr says why and they are skipped; with CI=true they
 * fail, unless only Go or the way to its modules is missing. The first call on a machine compiles it (about five minutes).
 * @param modules further modules of scripts/go-programs whose programs are needed
 */
export function requireApiServer(...modules: readonly string[]): Define {
  const built = spawnSync(process.execPath, [join(scripts, 'prepare.mjs'), ...modules], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 3_000_000,
  });
  if (built.status === 0) return describe;
  const said = (built.stderr ?? '').trim().split('\n').at(-1);
  const why = said || (built.error?.message ?? `ended by signal ${String(built.signal)}`);
  return (built.status === statusCannotBuild ? listAsNotRun : missing)('a real API server', why);
}

/** Starts an API server, which ends with this process. */
export async function startApiServer(): Promise<ApiServer> {
  const plane = await startControlPlane('--only-api-server');
  return {
    ...plane,
    kill: () => plane.kill('kube-apiserver'),
    start: () => plane.start('kube-apiserver'),
  };
}

/** Starts a control plane with these options of scripts/cluster/run.mjs. It ends with this process. */
export async function startControlPlane(...args: readonly string[]): Promise<ControlPlane> {
  const child = spawn(process.execPath, [join(scripts, 'run.mjs'), '--attached', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const events = new LineLog<ControlPlaneEvent>();
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line) as ControlPlaneEvent));
  const closed = once(child, 'close').then(() => events.end('the control plane has ended'));

  const expect = async (name: ControlPlaneEvent['event'], from: number): Promise<ControlPlaneEvent> => {
    const found = await events.waitFor(name, ({ event }) => event === name || event === 'failed', {
      deadlineMs: startDeadlineMs,
      from,
    });
    if (found.event === 'failed') throw new Error(found.reason);
    return found;
  };
  const send = async (command: string, answer: 'killed' | 'started'): Promise<void> => {
    const from = events.lines.length;
    child.stdin.write(`${command}\n`);
    await expect(answer, from);
  };
  const { event: _event, ...facts } = (await expect('ready', 0)) as { event: 'ready' } & ControlPlaneFacts;
  return {
    ...facts,
    kill: (component) => send(`kill ${component}`, 'killed'),
    start: (component) => send(`start ${component}`, 'started'),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
