import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { LineLog } from '../../e2e/rig/line-log';
import { projectRoot } from '../../e2e/rig/project-root';

/** The address and port of the API server in the network namespace of the tests. */
const address = '10.99.0.1';
const port = '443';
const startDeadlineMs = 180_000;

/** The message of scripts/cluster/run.mjs when the control plane is ready. */
export interface ControlPlaneFacts {
  readonly server: string;
  /** Kubeconfig files by identity: `admin` has all rights. */
  readonly kubeconfigs: { readonly admin: string; readonly [name: string]: string };
  readonly versions: Readonly<Record<string, string>>;
  /** The folder of Kubernetes' programs. */
  readonly programs: string;
  readonly work: string;
  /** One JSON line for each request. */
  readonly auditLog: string;
}

type Event =
  | ({ readonly event: 'ready' } & ControlPlaneFacts)
  | { readonly event: 'stopped' }
  | { readonly event: 'failed'; readonly reason: string };

export interface ControlPlane {
  readonly facts: ControlPlaneFacts;
  stop(): Promise<void>;
}

/** Starts the control plane of the network namespace; it ends with this process. */
export async function startControlPlane(): Promise<ControlPlane> {
  const args = [join(projectRoot(), 'scripts/cluster/run.mjs'), '--attached', '--address', address, '--port', port];
  const child: ChildProcess & { readonly stdin: NodeJS.WritableStream } = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const events = new LineLog<Event>();
  createInterface({ input: child.stdout! }).on('line', (line) => events.push(JSON.parse(line) as Event));
  const closed = once(child, 'close').then(() => events.end('the control plane has ended'));
  const isAnswer = ({ event }: Event) => event === 'ready' || event === 'failed';
  const first = await events.waitFor('the control plane', isAnswer, { deadlineMs: startDeadlineMs });
  if (first.event !== 'ready') throw new Error(`no control plane: ${JSON.stringify(first)}`);
  const { event: _event, ...facts } = first;
  return {
    facts,
    async stop() {
      child.stdin.end();
      await closed;
    },
  };
}
