import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { RuntimeFacts } from '../../e2e/rig';
import { LineLog } from '../../e2e/rig/line-log';
import { projectRoot } from '../../e2e/rig/project-root';
import { readClusterFacts } from './cluster-facts';

const startDeadlineMs = 60_000;

/** The message of scripts/cluster/kubelet.mjs when the kubelet runs. */
interface KubeletFacts {
  readonly configFile: string;
  /** The folder of static pods. */
  readonly manifests: string;
  /** The kubelet's root directory, as the host sees it. */
  readonly rootDir: string;
  readonly log: string;
}

type Event =
  | ({ readonly event: 'ready' } & KubeletFacts)
  | { readonly event: 'killed' | 'started' | 'stopped' }
  | { readonly event: 'failed'; readonly reason: string };

/** A real kubelet beside a private runtime. */
export interface KubeletProcess extends KubeletFacts {
  /** Ends it with SIGKILL; containers go on. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Changes its configuration for the next start. Null removes a setting. */
  configure(settings: Readonly<Record<string, unknown>>): void;
  stop(): Promise<void>;
}

/** Starts a kubelet, which ends with this process. The Node is not yet registered then. */
export async function startKubelet(options: {
  readonly runtime: RuntimeFacts;
  readonly name: string;
  readonly address: string;
  readonly settings: Readonly<Record<string, unknown>>;
}): Promise<KubeletProcess> {
  const { runtime, name, address, settings } = options;
  const script = join(projectRoot(), 'scripts/cluster/kubelet.mjs');
  const args = [
    ...['--control-plane', JSON.stringify(readClusterFacts()), '--runtime', JSON.stringify(runtime)],
    ...['--name', name, '--address', address, '--settings', JSON.stringify(settings), '--attached'],
  ];
  const child = spawn(process.execPath, [script, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const events = new LineLog<Event>();
  createInterface({ input: child.stdout }).on('line', (line) => events.push(JSON.parse(line) as Event));
  const closed = once(child, 'close').then(() => events.end('the kubelet has ended'));

  const expect = async (name: Event['event'], from: number): Promise<Event> => {
    const isAnswer = ({ event }: Event) => event === name || event === 'failed';
    const got = await events.waitFor(`kubelet ${name}`, isAnswer, { deadlineMs: startDeadlineMs, from });
    if (got.event === 'failed') throw new Error(`the kubelet failed: ${got.reason}`);
    return got;
  };
  const command = async (line: string, answer: 'killed' | 'started'): Promise<void> => {
    const from = events.lines.length;
    child.stdin.write(`${line}\n`);
    await expect(answer, from);
  };
  const { event: _event, ...facts } = (await expect('ready', 0)) as { event: 'ready' } & KubeletFacts;
  return {
    ...facts,
    kill: () => command('kill', 'killed'),
    start: () => command('start', 'started'),
    configure(settings) {
      const config = { ...(JSON.parse(readFileSync(facts.configFile, 'utf8')) as object), ...settings };
      writeFileSync(facts.configFile, JSON.stringify(config));
    },
    async stop() {
      child.stdin.end();
      await closed;
    },
  };
}
