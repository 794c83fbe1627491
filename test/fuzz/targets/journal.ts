import { readHistory } from '../../../src/cli/replay/read-inputs';
import { replay } from '../../../src/cli/replay/replay';
import { isSelected } from '../../../src/state/journal';
import type { Settings } from '../../../src/core/model/settings';
import { machineOf, settingsWith } from '../../core/transition/node-driver';
import { describeMachine, describeRecord, type JournalRecord } from '../../../src/state/journal';
import { decodeLine } from '../../../src/state/journal/record';

export const maxBytes = 8_192;

const at = '2026-11-24T10:00:00.000Z';
const pod = { sandboxId: 's', uid: 'u', namespace: 'ns', name: 'p', annotations: {}, cgroupParent: '/kubepods/podu' };
const resources = { shares: 2048, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 };
const container = {
  id: 'c',
  sandboxId: 's',
  name: 'app',
  phase: 'creating',
  cgroupsPath: '/kubepods/podu/c',
  resources,
};
const subject = { podUid: 'u', pod: 'ns/p', container: 'app', containerId: 'c' };
const spec = {
  uid: 'u',
  namespace: 'ns',
  name: 'p',
  annotations: {},
  qos: 'Guaranteed',
  finished: false,
  containers: [{ name: 'app', kind: 'app', ended: false, requestMilliCpu: 2000 }],
};

/** A journal of one container, from its creation to the end of its pod. */
const LINES: readonly object[] = [
  { journal: 1, writtenBy: 'cpusetd 0.1.0', at },
  { at, kind: 'input', of: 'settings', options: {}, topology: describeMachine(machineOf(4, 2)) },
  { at, kind: 'input', of: 'pod', info: pod },
  { at, kind: 'input', of: 'container', info: { ...container, phase: 'running' }, cpus: '1,5' },
  { at, kind: 'input', of: 'spec', spec },
  { at, kind: 'input', of: 'listed', start: true },
  ...[
    { kind: 'pod-started', pod },
    { kind: 'create-container', pod, container: { ...container, id: 'd', name: 'side' } },
    { kind: 'container-named', temporaryId: 'd', containerId: 'e', cgroupsPath: '/x' },
    { kind: 'container-started', containerId: 'e' },
    { kind: 'update-container', pod, container, resources },
    { kind: 'pod-spec', spec },
    { kind: 'container-stopped', containerId: 'c' },
    { kind: 'pod-stopped', sandboxId: 's' },
    { kind: 'pod-removed', sandboxId: 's' },
    { kind: 'pod-spec-gone', uid: 'u' },
  ].map((event) => ({ at, kind: 'input', of: 'event', event })),
  { at, kind: 'pinned', ...subject, cpus: '1,5', because: 'free', steps: [{ rule: 'r', took: '1', because: 'b' }] },
  { at, kind: 'moved', containers: 2, names: ['ns/p/app'], cpus: '0', because: 'x', causedBy: 'ns/p/app' },
  { at, kind: 'gap', from: at, to: at, containers: 1, names: [] },
];

export const seeds = (): readonly Uint8Array[] =>
  [LINES, ...LINES.slice(1).map((line) => [LINES[0]!, LINES[1]!, line])].map((lines) =>
    Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')),
  );

const SETTINGS: readonly Settings[] = [settingsWith(), settingsWith({ cpuManagerPolicy: 'none', reserved: '' })];

/** Any text is shown and replayed, whatever is left out of it. */
export async function fuzz(data: Buffer): Promise<void> {
  const records = data
    .toString('utf8')
    .split('\n')
    .flatMap((line) => {
      const read = decodeLine(line);
      return read.kind === 'record' ? [read.record] : [];
    });
  for (const record of records) {
    isSelected(record, { pod: { namespace: '', pod: 'p', container: 'app' } });
    if (typeof describeRecord(record) !== 'string') throw new Error('a record is not shown');
  }
  const history = await readHistory(streamOf(records));
  for (const settings of SETTINGS) {
    const { requests } = replay(history, { settingsFor: () => settings, isAsRecorded: true });
    if (requests.some(({ recorded, replayed }) => recorded === undefined || replayed === undefined))
      throw new Error('a request without an outcome');
  }
}

async function* streamOf(records: readonly JournalRecord[]): AsyncGenerator<JournalRecord> {
  for (const record of records) yield await Promise.resolve(record);
}
