import { mkdirSync, readFileSync, watch } from 'node:fs';
import { dirname } from 'node:path';
import { patienceMs, within } from '../../support/wait-until';

/** Complete output lines in a CRI log file, which has `<time> stdout|stderr F|P <text>`; P means the line goes on. */
export function parseContainerLog(text: string): string[] {
  const lines: string[] = [];
  let partial = '';
  for (const entry of text.split('\n').slice(0, -1)) {
    const [, , tag, ...words] = entry.split(' ');
    partial += words.join(' ');
    if (tag !== 'F') continue;
    lines.push(partial);
    partial = '';
  }
  return lines;
}

/** Makes the folder of a log file, as the kubelet does before it creates the container; the runtime makes the file. */
export const makeLogFolder = (file: string): void => void mkdirSync(dirname(file), { recursive: true });

/** The lines so far. */
export function readContainerLog(file: string): string[] {
  try {
    return parseContainerLog(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Waits, with inotify, until the log has at least `count` lines. */
export async function waitForLogLines(file: string, count: number, deadlineMs = patienceMs): Promise<string[]> {
  const watcher = watch(dirname(file));
  const reached = new Promise<string[]>((resolve, reject) => {
    const look = () => {
      const lines = readContainerLog(file);
      if (lines.length >= count) resolve(lines);
    };
    watcher.on('change', look);
    watcher.on('error', reject);
    look(); // for lines from before the watch, which have no event
  });
  try {
    return await within(`${count} lines in ${file}`, reached, deadlineMs);
  } finally {
    watcher.close();
  }
}
