import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readBounded } from '../../files/read-bounded';
import { MAX_REFUSALS_BYTES, MAX_STATE_BYTES } from '../../state';
import { sortSegments } from '../../state/journal';
import { judgeState } from '../state/show-state';
import type { Collected, Missing, Part } from './part';
import { readText } from './read-text';

/** Largest file of a journal that is read; the largest that cpusetd writes has 4 MiB. */
const MAX_SEGMENT_BYTES = 5 * 1024 * 1024;
const MAX_LISTED = 500;

/** The entries of the state directory and of its journal, without their content. Throws Error when it can't be read. */
export function listStateFiles(stateDir: string): Part {
  return {
    name: 'state/files.json',
    data: { path: stateDir, entries: [...listEntries(stateDir), ...listEntries(stateDir, 'journal')] },
  };
}

function listEntries(stateDir: string, folder = ''): readonly object[] {
  const path = join(stateDir, folder);
  let names: readonly string[];
  try {
    names = readdirSync(path).sort().slice(0, MAX_LISTED);
  } catch (error) {
    if (folder !== '') return []; // there is no journal
    throw new Error(`${path}: the state directory is not there, or can't be read`, { cause: error });
  }
  return names.flatMap((name) => {
    const stats = lstatSync(join(path, name), { throwIfNoEntry: false });
    if (!stats) return [];
    const { size, mtime, mode, uid } = stats;
    return [{ name: join(folder, name), bytes: size, changed: mtime, mode: mode.toString(8), uid }];
  });
}

/** The result of `cpusetd state verify`, of the file as it is on this node. */
export function verifyState(stateDir: string): Part {
  return { name: 'state/verify.json', data: judgeState(stateDir) };
}

/**
 * A document of the state directory. Throws Error for one that is not JSON: it can't be known what is private in it.
 */
export function readDocument(stateDir: string, name: 'state.json' | 'refusals.json'): Part {
  const path = join(stateDir, name);
  const read = readBounded(path, name === 'state.json' ? MAX_STATE_BYTES : MAX_REFUSALS_BYTES, { own: true });
  if (!read.ok) throw new Error(`${path}: ${read.because}`);
  try {
    return { name: `state/${name}`, data: JSON.parse(read.text) as unknown };
  } catch {
    throw new Error(`${path}: is not JSON, so it can't be known what is private in it`);
  }
}

/**
 * The files of the journal, the newest first, as many as have the size together. Throws Error when there is no journal.
 */
export function listJournalFiles(dir: string, maxBytes: number): Collected {
  const parts: Part[] = [];
  const missing: Missing[] = [];
  let room = maxBytes;
  for (const name of listSegments(dir)) {
    const path = join(dir, name);
    const bytes = lstatSync(path, { throwIfNoEntry: false })?.size;
    if (bytes === undefined) continue; // too old, and removed meanwhile
    room -= bytes;
    if (room < 0 || bytes > MAX_SEGMENT_BYTES) missing.push({ name: `journal/${name}`, because: TOO_MUCH });
    else parts.push({ name: `journal/${name}`, lines: () => readText(path, MAX_SEGMENT_BYTES, { own: true }) });
  }
  return { parts, missing };
}

const TOO_MUCH = 'the report would become too large; newer files of the journal go first';

function listSegments(dir: string): readonly string[] {
  try {
    return sortSegments(readdirSync(dir).map((name) => ({ name })))
      .map(({ name }) => name)
      .reverse();
  } catch {
    throw new Error(`${dir}: there is no journal, or it can't be read`);
  }
}
