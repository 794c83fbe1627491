import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LineLog } from './line-log';
import { type Define, listAsNotRun, missing } from './missing';
import { projectRoot } from './project-root';

const scripts = join(projectRoot(), 'scripts/cluster');

/** The message of scripts/cluster/run.mjs when the server is ready. */
export interface ApiServerFacts {
  readonly server: string;
  /** Kubeconfig files: `admin` has all rights, `nobody` none. */
  readonly kubeconfigs: { readonly admin: string; readonly nobody: string };
  /** The folder of Kubernetes' programs. */
  readonly programs: string;
  readonly versions: Readonly<Record<string, string>>;
}

export interface ApiServer extends ApiServerFacts {
  /** Kills it; stored objects stay. */
  kill(): Promise<void>;
  /** Starts it again at the same address, and waits until it answers. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

type ApiServerEvent =
  | ({ readonly event: 'ready' } & ApiServerFacts)
  | { readonly event: 'killed' | 'started' | 'stopped' }
  | { readonly event: 'failed'; readonly reason: string };

const startDeadlineMs = 180_000;

/** The exit status of prepare.mjs when programs have to be built and there is no Go. */
const statusNoGo = 3;

/**
 * `describe` for tests that need the real API server. Without one, a line on stderr says why and they are skipped; with CI=true they
 * fail, unless only Go is missing. The first call on a machine compiles it (about five minutes).
 */
export function requireApiServer(): Define {
  const built = spawnSync(process.execPath, [join(scripts, 'prepare.mjs')], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 3_000_000,
  });
  if (built.status === 0) return describe;
  const said = (built.stderr ?? '').trim().split('\n').at(-1);
  const why = said || (built.error?.message ?? `ended by signal ${String(built.signal)}`);
  return (built.status === statusNoGo ? listAsNotRun : missing)('a real API server', why);
}

/** Starts an API server, which ends with this process. */
export async function startApiServer(): Promise<ApiServer> {
  const child = spawn(process.execPath, [join(scripts, 'run.mjs'), '--attached', '--only-api-server'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const events = new LineLog<ApiServerEvent>();
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line) as ApiServerEvent));
  const closed = once(child, 'close').then(() => events.end('the API server has ended'));

  const expect = async (name: ApiServerEvent['event'], from: number): Promise<ApiServerEvent> => {
    const found = await events.waitFor(name, ({ event }) => event === name || event === 'failed', {
      deadlineMs: startDeadlineMs,
      from,
    });
    if (found.event === 'failed') throw new Error(found.reason);
    return found;
  };
  const send = async (command: 'kill' | 'start', answer: 'killed' | 'started'): Promise<void> => {
    const from = events.lines.length;
    child.stdin.write(`${command} kube-apiserver\n`);
    await expect(answer, from);
  };
  const { event: _event, ...facts } = (await expect('ready', 0)) as { event: 'ready' } & ApiServerFacts;
  return {
    ...facts,
    kill: () => send('kill', 'killed'),
    start: () => send('start', 'started'),
    stop: async () => {
      child.stdin.end();
      await closed;
    },
  };
}
