import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';

import { HealthState } from '../../src/admin/health-state';
import type { AdminBackend } from '../../src/admin/model/backend';
import { listenAt } from '../../src/admin/grpc/listener';
import { startAdminServer } from '../../src/admin/server/admin-server';
import { InputRecorder } from '../../src/state/journal';
import { recordsOf } from '../../src/app/journal/records';
import { AllocationTrace } from '../../src/app/status/allocation-trace';
import { createAdminBackend } from '../../src/app/status/admin-backend';
import { VerdictStore } from '../../src/app/status/verdict-store';
import { toRefused } from '../../src/app/transaction/transaction';
import { CpuSet } from '../../src/core/cpuset';
import { judge } from '../../src/core/verdict/judge';
import { basisOf } from '../../src/core/verdict/judgement';
import type { Observation } from '../../src/core/verdict/observation';
import type { NodeEvent, RuntimeAnswer } from '../../src/core/model/events';
import type { Refusal } from '../../src/core/model/refusal';
import type { Topology } from '../../src/core/topology';
import { describeRefusal, type LiveCpusets } from '../../src/core/transition';
import { JournalWriter, MIN_JOURNAL_BYTES } from '../../src/state/journal';
import { NodeDriver, podOf, resourcesOf, type Rules } from '../core/transition/node-driver';
import { runInProcess } from '../support/run-cli';
import { MACHINES } from './machines';
import { silentFaults } from '../support/faults';

/** The time on the pages. */
export const AT = '2026-11-21T05:56:21Z';

/** Pods of the node on the pages, one after another. */
const HISTORY = [
  'ask db/postgres 4',
  'start db/postgres',
  'make job/init 2',
  'end job/init',
  'make job/main 1.5',
  'make web/nginx 2',
];

const OPTIONS = { 'reserved-cpus': '0,8', 'cpu-manager-policy-options': 'full-pcpus-only=true' };

/** A machine with its settings, as the model and as the journal have them. */
interface NodeSetup {
  readonly topology: Topology;
  readonly rules: Rules;
  readonly options: Readonly<Record<string, string>>;
}

/** A node with a journal. */
export class JournaledNode extends NodeDriver {
  readonly writer: JournalWriter;
  readonly allocations = new AllocationTrace(this.model, silentFaults());
  private readonly inputs: InputRecorder;

  constructor(stateDir: string, { topology, rules, options }: NodeSetup) {
    super(topology, rules);
    this.inputs = new InputRecorder(this.model, () => ({ options }));
    this.writer = new JournalWriter({
      dir: join(stateDir, 'journal'),
      version: '0.1.0',
      limits: { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 3_600_000 },
      wallMs: () => Date.parse(AT),
      onProblem: (error) => {
        throw error;
      },
    });
    for (const record of this.inputs.start()) this.writer.add(record);
  }

  override send(event: NodeEvent, live?: LiveCpusets): RuntimeAnswer {
    const answer = super.send(event, live);
    const { moves, reported, model } = this;
    this.allocations.note(reported);
    const reports = answer.kind === 'refuse' ? [toRefused(model, event, answer, undefined)] : reported;
    const timing = { decideMs: 0, saveMs: 0, moveMs: 0 };
    const done = { event: event.kind, request: event, answer, moves, failedMoves: [], reported: reports, timing };
    for (const record of this.inputs.of(done)) this.writer.add(record);
    for (const record of recordsOf(model, done, { isRetry: false, refused: undefined })) this.writer.add(record);
    return answer;
  }
}

/** The machine with two sockets, after that history. */
export async function playNode(stateDir: string): Promise<AdminBackend> {
  const rules = { reserved: '0,8', options: { fullPcpusOnly: true } };
  const node = new JournaledNode(stateDir, { topology: MACHINES['two-sockets'].topology, rules, options: OPTIONS });
  for (const uid of ['db', 'job']) node.podFields.set(uid, { namespace: 'default' });
  node.podFields.set('web', { namespace: 'default', cgroupParent: '/kubepods/burstable/podweb' });
  for (const step of HISTORY) node.run(step);
  return backendOf(node, () => [refuseSolver(node)]);
}

/** The answers of the daemon of a node, with everything in the kernel as promised, and its journal on disk. */
export async function backendOf(
  node: JournaledNode,
  refuse: () => readonly Refusal[] = () => [],
): Promise<AdminBackend> {
  await setImmediate(); // the steps of allocations are kept in a later turn
  const verdicts = new VerdictStore();
  for (const assignment of [...node.model.assignments.values()])
    node.model.apply({ kind: 'put-assignment', assignment: { ...assignment, since: AT } });
  for (const container of node.model.containers.values()) {
    const { cpus = CpuSet.empty, mems = CpuSet.empty } = container.promise ?? {};
    const observation: Observation = { kind: 'seen', cpus, effective: cpus, mems };
    const verdict = judge(node.model, container, observation);
    verdicts.record(container.id, { verdict, observation, basis: basisOf(node.model, container) }, AT);
  }
  const refused = refuse();
  await node.writer.close();
  const on = { state: 'ready', since: AT, reason: '' } as const;
  return createAdminBackend({
    faults: silentFaults(),
    model: node.model,
    verdicts,
    refused: () => refused,
    stepsOf: (id) => node.allocations.stepsOf(id),
    readOffline: () => CpuSet.empty,
    now: () => AT,
    facts: () => ({
      nodeName: 'worker-1',
      mode: 'nri',
      startedAt: AT,
      version: '0.1.0',
      runtimeName: 'containerd',
      runtimeVersion: '2.3.4',
      nri: { ...on, reason: 'the runtime asks us about every container' },
      cri: on,
      generation: 3,
      gap: undefined,
      alarms: [],
      pendingOptions: [],
    }),
  });
}

/** A pod that does not fit, tried for two minutes. */
function refuseSolver(node: NodeDriver): Refusal {
  const pod = { ...podOf('big'), namespace: 'default' };
  const resources = resourcesOf(12);
  const container = {
    id: 'big',
    sandboxId: pod.sandboxId,
    name: 'solver',
    phase: 'creating',
    cgroupsPath: '',
    resources,
  } as const;
  const event = { kind: 'create-container', pod, container } as const;
  const answer = node.send(event);
  if (answer.kind !== 'refuse') throw new Error('it fits');
  return { ...describeRefusal(node.model, event, answer, AT), lastAt: '2026-11-21T05:58:03Z', times: 9 };
}

/** A session on a page: command lines, and columns of their tables that the page has no room for. */
export interface Session {
  readonly commands: readonly string[];
  readonly without?: readonly string[];
  /** The width of a terminal, which shows colours; without it the output is a pipe. */
  readonly columns?: number;
}

/**
 * Runs command lines such as `cpusetd status` against a node, and shows them with what they print. The node is that of
 * the pages, or another.
 */
export async function showSession(
  session: Session,
  openNode: (stateDir: string) => Promise<AdminBackend> = playNode,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  try {
    return await showOn(await openNode(folder), folder, session);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function showOn(
  backend: AdminBackend,
  folder: string,
  { commands, without = [], columns }: Session,
): Promise<string> {
  const socketPath = join(folder, 's');
  const health = new HealthState();
  const log = { error: () => undefined, warn: () => undefined };
  const admin = await listenAt(socketPath, () => undefined);
  const server = startAdminServer({
    listeners: { admin },
    kubeletResourcesSocket: join(folder, 'kubelet.sock'),
    backend,
    health,
    log,
    drainMs: 100,
  });
  for (const service of ['', 'cpusetd.v1.CpuManager', 'nri'] as const) health.set(service, 'SERVING');
  try {
    const shown: string[] = [];
    for (const command of commands) {
      const [, ...words] = command.split(' ');
      const ofDaemon = ['events', 'replay'].includes(words[0]!) ? [] : ['--admin-socket', socketPath];
      const inFolder = words.map((word) => word.replace('/var/lib/cpusetd', folder));
      const onDisk = ['events', 'explain'].includes(words[0]!) ? ['--state-dir', folder] : [];
      const { stdout, stderr } = await runInProcess([...inFolder, ...ofDaemon, ...onDisk], { columns });
      shown.push(`$ ${command}\n${dropColumns(stdout, without)}${stderr}`);
    }
    return shown.join('\n').trimEnd();
  } finally {
    await server.close();
  }
}

/** The text with its tables made narrower. */
function dropColumns(text: string, names: readonly string[]): string {
  let header: string | undefined;
  return text
    .split('\n')
    .map((line) => {
      if (line.startsWith('POD ')) header = line;
      if (line === '') header = undefined;
      return header === undefined ? line : dropCells(line, header, names);
    })
    .join('\n');
}

function dropCells(line: string, header: string, names: readonly string[]): string {
  const columns = [...header.matchAll(/\S+(?: \S+)*\s*/g)];
  return columns
    .map(({ 0: title, index }, i) => ({ title: title.trim(), text: line.slice(index, columns[i + 1]?.index) }))
    .filter(({ title }) => !names.includes(title))
    .map(({ text }) => text)
    .join('')
    .trimEnd();
}
