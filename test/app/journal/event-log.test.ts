import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { toPodEvent } from '../../../src/app/apiserver/to-pod-event';
import { logEvents } from '../../../src/app/journal/event-log';
import { Transactor } from '../../../src/app/transaction/transactor';
import { captureBaseline } from '../../../src/core/transition/compare-listing';
import { POLICY_NAMES } from '../../../src/core/model/policies';
import type { NodeEvent } from '../../../src/core/model/events';
import { confineTopology, describeBarred } from '../../../src/core/topology';
import type { Observation } from '../../../src/core/verdict/observation';
import { decideRepair } from '../../../src/core/verdict/repair-backoff';
import {
  compareListing,
  changeSettings,
  changeTopology,
  planChanges,
  reconcile,
  type DomainEvent,
  type Draft,
  type LiveCpusets,
} from '../../../src/core/transition';
import { cpus, EIGHT_CPUS, NodeDriver, without, type Rules } from '../../core/transition/node-driver';
import { specOf } from '../../support/spec-of';

/** A node behind a transactor, with the log lines and pod Events that operators get. */
class ReportedNode extends NodeDriver {
  readonly lines: string[] = [];
  readonly kinds = new Set<DomainEvent['kind']>();
  diskIsFull = false;
  private readonly log = pino(
    { base: null, timestamp: false, level: 'debug', formatters: { level: (level) => ({ level }) } },
    { write: (line) => void this.lines.push(line.trimEnd()) },
  );
  private readonly transactor = new Transactor({
    model: this.model,
    save: () => (this.diskIsFull ? { because: 'no space left', onDisk: 'old' } : undefined),
    mover: { move: () => undefined },
    now: () => '2026-01-01T00:00:00.000Z',
    log: pino({ enabled: false }),
    observer: {
      onTransaction: ({ reported }) => {
        for (const event of reported) {
          this.kinds.add(event.kind);
          logEvents(this.log, [event]);
          const podEvent = toPodEvent(this.model, event);
          if (podEvent) this.lines.push(`  Event ${JSON.stringify(podEvent)}`);
        }
      },
    },
  });

  constructor(rules: Rules = {}) {
    super(EIGHT_CPUS, { podPolicies: POLICY_NAMES, ...rules });
  }

  override send(event: NodeEvent, live?: LiveCpusets) {
    return (this.answer = this.transactor.handle(event, live));
  }

  override change(work: Parameters<NodeDriver['change']>[0]): void {
    this.transactor.change(work);
  }

  /** The runtime reports the pod with these annotations. */
  annotate(uid: string, annotations: Record<string, string>, cgroupParent = `/kubepods/burstable/pod${uid}`): this {
    this.podFields.set(uid, { annotations, cgroupParent });
    return this;
  }

  /** The runtime lists these pods and containers only. */
  list(targets: string, live?: LiveCpusets): void {
    const infos = targets.split(' ').map((target) => this.infoOf(target));
    const containers = infos.map(({ container }) => ({ ...container, phase: 'running' as const }));
    this.send({ kind: 'synchronize', pods: infos.map(({ pod }) => pod), containers }, live);
  }
}

const POLICY = 'cpusetd.io/policy';

const HISTORIES: Readonly<Record<string, { readonly rules?: Rules; readonly run: (node: ReportedNode) => void }>> = {
  'a container is pinned': { run: (node) => node.run('make p/a 2') },
  'a container asks for no whole CPU': { run: (node) => node.run('ask p/a 0; ask p/b 1.5') },
  'a container does not get the CPUs that it asks for, and may share': {
    rules: { onInsufficientCpu: 'share' },
    run: (node) => node.run('ask p/a 8'),
  },
  'a container that was made without us finds no CPUs': {
    run: (node) => node.run('make a/x 6; know p/a 4; starting p/a'),
  },
  'a creation shares because the runtime could not clear its CPUs': {
    run: (node) => {
      node.run('know p/a 2');
      node.send({ kind: 'create-container', ...node.infoOf('p/a'), shareBecause: 'the runtime did not answer' });
    },
  },
  'the policy of the node is none': {
    rules: { cpuManagerPolicy: 'none' },
    run: (node) => node.run('ask p/a 2; ask p/b 0'),
  },
  'an annotation is not followed': {
    rules: { podPolicies: [] },
    run: (node) => node.annotate('p', { [POLICY]: 'exclusive' }).run('ask p/a 2'),
  },
  'an annotation that is not followed is written later': {
    rules: { podPolicies: [] },
    run: (node) => {
      node.annotate('p', {}).run('make p/a 2');
      const annotations = { [POLICY]: 'exclusive' };
      node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { qos: 'Burstable', annotations }) });
    },
  },
  'a pod is planned as a whole, by its spec and at its first creation': {
    run: (node) => {
      node.send({ kind: 'synchronize', pods: [], containers: [] });
      node.send({ kind: 'pod-spec', spec: specOf('p', 'a 1, b 1') });
      node.send({ kind: 'pod-spec', spec: specOf('q', 'a 4, b 2') });
      node.run('ask p/a 1; end p/a; ask p/a 1; make p/b 1; end p/b');
      node.send({ kind: 'pod-spec-gone', uid: 'p' });
      node.run('ask q/a 4');
    },
  },
  'a pod that was told before the runtime was is planned at its first creation': {
    run: (node) => {
      node.send({ kind: 'pod-spec', spec: specOf('p', 'a 1, b 1') });
      node.run('ask p/a 1');
    },
  },
  'the policy of the node is none, and the one of the pod can not be followed': {
    rules: { cpuManagerPolicy: 'none' },
    run: (node) => node.annotate('p', { [POLICY]: 'exclusive' }, '/kubepods/podp').run('ask p/a 1.5'),
  },
  'the policy of the node is none, and the pod does not get what it chose': {
    rules: { cpuManagerPolicy: 'none', onInsufficientCpu: 'share' },
    run: (node) => node.annotate('p', { [POLICY]: 'exclusive' }, '/kubepods/podp').run('ask p/a 8'),
  },
  'CPUs of a container that has ended are idle, and then released': {
    run: (node) => {
      node.run('make p/i 2; end p/i');
      node.send({ kind: 'pod-spec', spec: specOf('p', 'i init 2!, a 0.5') });
      node.run('make q/a 1; end q/a; stop q; remove q; ask r/a 1; end r/a');
    },
  },
  'state was lost: a container is restored, another one is found unpinned': {
    run: (node) => {
      node.run('know p/a 2; know q/a 1; know r/a 0');
      node.list('p/a q/a r/a', new Map([['p/a#1', cpus('2,6')]]));
    },
  },
  'a container is switched to CPUs of its own, and back': {
    run: (node) => {
      node.annotate('p', {}).run('make p/a 2');
      for (const policy of ['exclusive', 'shared', 'numa', 'none']) {
        const annotations = { [POLICY]: policy };
        node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { qos: 'Burstable', annotations }) });
      }
    },
  },
  'a container can not be switched': {
    run: (node) => {
      node.annotate('p', {}).run('make q/a 6; make p/a 2');
      const annotations = { [POLICY]: 'exclusive' };
      node.send({ kind: 'pod-spec', spec: specOf('p', 'a 2', { qos: 'Burstable', annotations }) });
    },
  },
  'the runtime lists containers no more': {
    run: (node) => {
      node.run('make p/a 2; ask q/a 1');
      const before = captureBaseline(node.model);
      node.change((draft: Draft) => {
        compareListing(draft, { pods: [], containers: [] }, before, new Set(['q/a#1']));
        return planChanges(draft);
      });
    },
  },
  'containers have drifted': {
    run: (node) => {
      node.run('make p/a 2; make q/s 0');
      const seen = (list: string): Observation => ({
        kind: 'seen',
        cpus: cpus(list),
        effective: cpus(list),
        mems: cpus('0'),
      });
      const cause = { cause: 'kubelet-cpu-manager', because: 'the kubelet’s own CPU manager is on' } as const;
      node.change((draft) => reconcile(draft, new Map([['p/a#1', seen('0-7')]])).moves);
      node.change(
        (draft) =>
          reconcile(draft, new Map([['q/s#1', seen('0-7')]]), {
            explain: () => cause,
            decideRepair: ({ promise }) => decideRepair(undefined, { promise: promise!, nowMs: 0, written: true }),
          }).moves,
      );
    },
  },
  'CPUs go offline and come back': {
    run: (node) => {
      for (const [left, returned, online] of [
        ['7', '', '0-6'],
        ['', '7', '0-7'],
      ] as const)
        node.change((draft) => {
          draft.put({ kind: 'set-topology', topology: left === '' ? EIGHT_CPUS : without(EIGHT_CPUS, left) });
          draft.report({
            kind: 'online-cpus-changed',
            online: cpus(online),
            left: cpus(left),
            returned: cpus(returned),
          });
          return planChanges(draft);
        });
    },
  },
  'the cgroups of the pods lose a CPU': {
    run: (node) => {
      const topology = confineTopology(EIGHT_CPUS, { cgroup: '/kubepods', cpus: cpus('0-6') });
      node.change((draft) => {
        draft.report({
          kind: 'cpu-bound-changed',
          usable: topology.online,
          left: cpus('7'),
          returned: cpus(''),
          because: describeBarred(topology.confinement!, cpus('7')),
        });
        return changeTopology(draft, topology);
      });
    },
  },
  'options are changed without a restart': {
    run: (node) => {
      node.change((draft) => {
        draft.report({
          kind: 'settings-changed',
          changes: [{ option: 'reserved-cpus', from: '0', to: '0-1' }],
        });
        return changeSettings(draft, { ...draft.model.settings, reserved: cpus('0-1') });
      });
    },
  },
  'requests are refused': {
    run: (node) => {
      node.run('ask p/a 8; make p/b 2; resize p/b 9');
      node.diskIsFull = true;
      node.run('ask p/c 1');
      const annotations = { [POLICY]: 'exclusive' };
      node.send({ kind: 'pod-spec', spec: specOf('p', 'b 1', { annotations }) });
      node.send({ kind: 'pod-spec-gone', uid: 'p' });
      node.send({ kind: 'pod-specs', specs: [specOf('r', 'a 1, b 2')] });
    },
  },
  'a request is refused in front of the transactor': {
    run: (node) => {
      node.run('know p/a 2; know p/b 1');
      const answer = { kind: 'refuse', code: 'UNAVAILABLE', message: 'the runtime is away' } as const;
      const { transactor } = node as unknown as { transactor: Transactor };
      const request = { kind: 'container-starting', ...node.infoOf('p/a') } as const;
      transactor.conclude({ event: 'container-starting', request, answer, problem: 'ECONNREFUSED' });
      transactor.conclude({ event: 'create-container', answer });
    },
  },
};

const GOLDEN = join(__dirname, '../../fixtures/events/event-log.txt');

/** The type makes this list complete. */
const KINDS: Readonly<Record<DomainEvent['kind'], true>> = {
  pinned: true,
  switched: true,
  'not-switched': true,
  shares: true,
  'left-alone': true,
  'annotation-ignored': true,
  planned: true,
  released: true,
  idle: true,
  restored: true,
  'found-unpinned': true,
  'container-gone': true,
  drifted: true,
  refused: true,
  'online-cpus-changed': true,
  'cpu-bound-changed': true,
  'settings-changed': true,
};

test('each kind of event has the log line and the pod Event of the golden file, to the byte', () => {
  const nodes = Object.entries(HISTORIES).map(([name, { rules, run }]) => {
    const node = new ReportedNode(rules);
    run(node);
    return { name, node };
  });
  const shown = nodes.map(({ name, node }) => [`# ${name}`, ...node.lines, ''].join('\n')).join('\n');
  expect(shown).toBe(readFileSync(GOLDEN, 'utf8'));
  expect(new Set(nodes.flatMap(({ node }) => [...node.kinds]))).toEqual(new Set(Object.keys(KINDS)));
});
