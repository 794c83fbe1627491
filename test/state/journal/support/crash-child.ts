// Writes a journal record by record, and kills itself at the operation with the given number: before it, or in the
// middle of an append. It prints the number of each record when that is written. `no-space`: the disk takes half of the
// first append, which is made again.
import { writeSync } from 'node:fs';
import { JournalWriter, MIN_JOURNAL_BYTES } from '../../../../src/state/journal';
import { nodeJournalFs, type AppendedFile, type JournalFs } from '../../../../src/state/journal/journal-fs';

const [dir = '', killAt = '', records = '', disk = ''] = process.argv.slice(2);
let operations = 0;
let isFull = disk === 'no-space';

class NoSpace extends Error {}

/** Counts an operation. The process ends here when its number has come; `half` is done first. */
async function step(half?: () => Promise<void>): Promise<void> {
  const isLast = operations === Number(killAt);
  operations += 1;
  if (!isLast) return;
  await half?.();
  process.kill(process.pid, 'SIGKILL');
}

const watchFile = (file: AppendedFile): AppendedFile => ({
  append: async (bytes) => {
    await step(); // before the first byte
    await step(() => file.append(bytes.subarray(0, 1)));
    await step(() => file.append(bytes.subarray(0, bytes.length >> 1)));
    await step(() => file.append(bytes.subarray(0, -1)));
    if (isFull) {
      isFull = false;
      await file.append(bytes.subarray(0, bytes.length >> 1));
      throw new NoSpace();
    }
    await file.append(bytes);
    await step(); // after the last byte
  },
  cutTo: async (size) => {
    await step();
    await file.cutTo(size);
    await step();
  },
  read: async (from, max) => {
    await step();
    return file.read(from, max);
  },
  close: async () => {
    await step();
    await file.close();
  },
});

const fs: JournalFs = {
  makeDirectory: async (path) => {
    await step();
    await nodeJournalFs.makeDirectory(path);
  },
  list: async (path) => {
    await step();
    return nodeJournalFs.list(path);
  },
  create: async (path) => {
    await step();
    const file = await nodeJournalFs.create(path);
    await step();
    return watchFile(file);
  },
  openToAppend: async (path) => {
    await step();
    return watchFile(await nodeJournalFs.openToAppend(path));
  },
  remove: async (path) => {
    await step();
    await nodeJournalFs.remove(path);
    await step();
  },
};

async function main(): Promise<void> {
  const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 3_600_000 };
  const onProblem = (error: unknown): void => {
    if (!(error instanceof NoSpace)) throw error;
  };
  const preamble = () => [
    { kind: 'input', of: 'settings', filler: 'x'.repeat(2_000) } as const,
    { kind: 'input', of: 'listed', start: true } as const,
  ];
  const writer = new JournalWriter({ dir, version: '0.1.0', limits, fs, onProblem, preamble });
  for (let number = 1; number <= Number(records); number++) {
    writer.add({ kind: 'pinned', pod: 'ns/web', number, because: 'x'.repeat(20_000) });
    await writer.flush();
    if (number === 1 && disk === 'no-space') await writer.flush();
    writeSync(1, `${number}\n`);
  }
  await writer.close();
}

main().catch((error: unknown) => {
  writeSync(2, String(error));
  process.exitCode = 1;
});
