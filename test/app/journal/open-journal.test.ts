import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../../../src/app/config';
import type { DaemonContext } from '../../../src/app/context';
import { openJournal } from '../../../src/app/journal/open-journal';
import { NodeModel } from '../../../src/core/model/node-model';
import type { Cgroups } from '../../../src/host';
import { readJournal } from '../../../src/state/journal';
import { machineOf } from '../../core/transition/node-driver';
import { SETTINGS } from '../../simulation/node-history';
import { contextOf } from '../../support/daemon-context';
import { patienceMs, waitUntil } from '../../support/wait-until';

let stateDir: string;
let stop: AbortController;
let closers: (() => unknown)[];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'journal-'));
  stop = new AbortController();
  closers = [];
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const MIB = 1024 ** 2;
const options = (journalBytes: number | undefined): Config =>
  ({ stateDir, journalBytes, journalAgeMs: 3_600_000 }) as unknown as Config;

function open(
  journalBytes: number | undefined,
  now = () => new Date().toISOString(),
): { context: DaemonContext; inForce: { value: string } } {
  const inForce = { value: 'before' };
  const model = new NodeModel(machineOf(4, 2), SETTINGS);
  const config = options(journalBytes);
  const context = contextOf({ model, cgroups: {} as Cgroups, config, signal: stop.signal, now });
  openJournal({
    context,
    version: '0.1.0',
    settings: () => ({ options: { 'log-level': inForce.value } }),
    refusalOf: () => ({ isRetry: false, refused: undefined }),
    gap: () => undefined,
    onClose: (close) => closers.push(close),
    closeMs: patienceMs,
  });
  return { context, inForce };
}

/** A change of an option, as the daemon reports it. */
function change({ context, inForce }: ReturnType<typeof open>, value: string, journalBytes: number | undefined): void {
  inForce.value = value;
  context.events.emit('committed', {
    event: 'internal',
    answer: { kind: 'ok' },
    moves: [],
    failedMoves: [],
    outdated: [],
    reported: [{ kind: 'settings-changed', changes: [{ option: 'log-level', from: 'before', to: value }] }],
  });
  context.events.emit('optionsChanged', options(journalBytes));
}

async function close(): Promise<readonly string[]> {
  stop.abort();
  for (const each of closers) await each();
  const kinds: string[] = [];
  for await (const record of readJournal(join(stateDir, 'journal'))) {
    const { kind, of: input, options: written, afterGap } = record;
    const { 'log-level': level = '' } = (written ?? {}) as Readonly<Record<string, string>>;
    const gap = afterGap === true ? 'after a gap' : '';
    kinds.push([kind, input, level, gap].filter((part) => typeof part === 'string' && part !== '').join(' '));
  }
  return kinds.slice(kinds.findIndex((kind) => kind.startsWith('input listed')) + 1); // the beginning of the file has the node as it was when that was made
}

/** Until a record of this kind is in a file. */
async function written(kind: string): Promise<void> {
  const folder = join(stateDir, 'journal');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const isWritten = () =>
    existsSync(folder) && readdirSync(folder).some((name) => read(name).includes(`"kind":"${kind}"`));
  await waitUntil(`a record ${kind}`, isWritten);
}

test('changed options are a record, and for a replay an input with the options of now', async () => {
  const journal = open(MIB);
  change(journal, 'warn', 2 * MIB);
  expect(await close()).toEqual([
    'settings before',
    'input settings before',
    'input restored',
    'input settings warn',
    'settings-changed',
    'stopped',
  ]);
});

test('the records of one transaction have one time, on a clock that goes on in between', async () => {
  let nowMs = Date.now();
  const journal = open(MIB, () => new Date(++nowMs).toISOString());
  change(journal, 'warn', MIB);
  stop.abort();
  for (const each of closers) await each();
  const times = new Map<string, string>();
  for await (const { kind, at, of: input } of readJournal(join(stateDir, 'journal')))
    times.set([kind, input].filter((part) => typeof part === 'string').join(' '), at);
  expect(times.get('settings-changed')).toBe(new Date(nowMs).toISOString());
  expect(times.get('input settings')).toBe(times.get('settings-changed'));
});

test('a journal that is switched off ends with the change, and begins again with the node as it is and a gap that it tells of', async () => {
  const journal = open(MIB);
  change(journal, 'off', undefined);
  change(journal, 'not written', undefined);
  await written('settings-changed');
  change(journal, 'on', MIB);
  await written('left-out');
  change(journal, 'then', MIB);
  expect(await close()).toEqual([
    'settings before',
    'input settings before',
    'input restored',
    'input settings off',
    'settings-changed',
    'input settings on',
    'input listed after a gap',
    'left-out',
    'settings on',
    'input settings on',
    'input settings then',
    'settings-changed',
    'stopped',
  ]);
});

test('on, off and on again at once: one writer in the end', async () => {
  const journal = open(undefined);
  for (const size of [MIB, undefined, MIB, undefined, MIB])
    journal.context.events.emit('optionsChanged', options(size));
  await written('left-out');
  expect(await close()).toEqual(['left-out', 'settings before', 'input settings before', 'stopped']);
  expect(readdirSync(join(stateDir, 'journal'))).toEqual(['00000001.jsonl']);
});

test('off from the start: nothing is written, and no folder is made', async () => {
  const journal = open(undefined);
  change(journal, 'warn', undefined);
  await expect(close()).rejects.toThrow(/no such/);
});
