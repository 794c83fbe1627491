import { parseCpuList } from '../../../src/core/cpuset';
import { isSelected, type JournalRecord, type RecordFilter } from '../../../src/state/journal';

const at = '2026-11-24T10:00:00.000Z';
const pinned: JournalRecord = { at, kind: 'pinned', pod: 'default/db', podUid: 'u', container: 'main', cpus: '2-3,17' };

test.each<[string, RecordFilter, boolean]>([
  ['the time itself, since', { sinceMs: Date.parse(at) }, true],
  ['later, since', { sinceMs: Date.parse(at) + 1 }, false],
  ['the time itself, until', { untilMs: Date.parse(at) }, true],
  ['earlier, until', { untilMs: Date.parse(at) - 1 }, false],
  ['its CPU', { cpus: parseCpuList('17') }, true],
  ['one of its CPUs', { cpus: parseCpuList('3-5') }, true],
  ['another CPU', { cpus: parseCpuList('1') }, false],
  ['its CPU, another pod', { cpus: parseCpuList('17'), pod: { namespace: '', pod: 'web', container: '' } }, false],
])('%s', (_name, filter, selected) => {
  expect(isSelected(pinned, filter)).toBe(selected);
});

test.each<[string, Partial<JournalRecord>, boolean]>([
  ['a drift to it', { kind: 'drifted', promised: '1', found: '17' }, true],
  ['a drift from it', { kind: 'drifted', promised: '17', found: '1' }, true],
  ['a container that left it', { kind: 'moved', from: '0,17', cpus: '0' }, true],
  ['a container that came to it', { kind: 'moved', from: '0', cpus: '0,17' }, true],
  ['a move that it does not matter for', { kind: 'moved', from: '0,17', cpus: '1,17' }, false],
  ['several containers that are there now', { kind: 'moved', containers: 3, cpus: '0,17' }, true],
  ['a shared container', { kind: 'shares', cpus: '0-63' }, false],
  ['the CPU went offline', { kind: 'online-cpus-changed', online: '0-16', left: '17' }, true],
  ['another one went offline', { kind: 'online-cpus-changed', online: '0-17', left: '18' }, false],
  ['no list of CPUs', { kind: 'pinned', cpus: 'x' }, false],
])('about CPU 17: %s', (_name, fields, selected) => {
  expect(isSelected({ at, kind: '', ...fields }, { cpus: parseCpuList('17') })).toBe(selected);
});
