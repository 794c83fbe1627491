import { open } from 'node:fs/promises';
import type { Command } from 'commander';
import { wholeNumber } from '../../option-types/value-type';
import { CpusetdError } from '../../core/errors';
import { systemCodeOf } from '../../core/system-errors';
import { UsageError, write, type CliContext } from '../context';
import { createAdminSocketOption } from '../options/node-options';

interface ProfileOptions {
  readonly cpu?: true;
  readonly heap?: true;
  readonly seconds: string;
  readonly output?: string;
  readonly adminSocket: string;
}

const seconds = wholeNumber({ min: 1, max: 60 });
/** The heap of a process that may be looked at has a quarter of it. */
const MAX_BYTES = 1024 * 1024 * 1024;

/** `cpusetd profile`: writes a CPU profile or a heap snapshot of a running process into a file. */
export function addProfileCommand(program: Command, context: CliContext): void {
  program
    .command('profile')
    .description(
      'take a CPU profile or a heap snapshot of a running cpusetd, for the Chrome DevTools; the process has to allow it (--profiling on)',
    )
    .option('--cpu', 'what it spends its time on: a .cpuprofile')
    .option('--heap', 'what it spends its memory on: a .heapsnapshot, which has every text in memory, also credentials')
    .option('--seconds <n>', 'how long a CPU profile takes, 1 to 60', '10')
    .option(
      '-o, --output <file>',
      'a new file, which only we can read; - = standard output (default: a name of the time)',
    )
    .addOption(createAdminSocketOption())
    .action(async (options: ProfileOptions) => profile(options, context));
}

async function profile({ cpu, heap, ...options }: ProfileOptions, context: CliContext): Promise<void> {
  if ((cpu === true) === (heap === true)) throw new UsageError('choose one of --cpu and --heap');
  const read = seconds.parse(options.seconds);
  if (!read.ok) throw new UsageError(`--seconds: ${read.problem}; ${read.remedy}`);
  const { connectAdmin } = await import('../../admin/client/admin-client');
  const client = await connectAdmin(options.adminSocket);
  try {
    const parts = client.profile(heap ? 'heap' : { cpuSeconds: read.value }, context.signal);
    if (options.output === '-') {
      await writeAll(parts, (part) => write(context.stdout, part));
      return;
    }
    const path = options.output ?? `cpusetd-${timeNow()}.${heap ? 'heapsnapshot' : 'cpuprofile'}`;
    await writeNewFile(path, parts);
    await write(context.stdout, `${path}\n`);
  } finally {
    client.close();
  }
}

/** A file of an earlier profile, or a link to another file, is never overwritten. A file without its end is removed. */
async function writeNewFile(path: string, parts: AsyncIterable<Uint8Array>): Promise<void> {
  const { rm } = await import('node:fs/promises');
  const file = await open(path, 'wx', 0o600).catch((error: unknown) => {
    const isThere = systemCodeOf(error) === 'EEXIST';
    throw new UsageError(
      `--output ${path}: ${isThere ? 'is there already; write another name' : (error as Error).message}`,
    );
  });
  try {
    await writeAll(parts, (part) => file.writeFile(part));
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

async function writeAll(parts: AsyncIterable<Uint8Array>, take: (part: Uint8Array) => Promise<void>): Promise<void> {
  let bytes = 0;
  for await (const part of parts) {
    bytes += part.length;
    if (bytes > MAX_BYTES) throw new CpusetdError('RESOURCE_EXHAUSTED', 'the profile has more than a gibibyte');
    await take(part);
  }
}

function timeNow(): string {
  return new Date().toISOString().replaceAll(/[:]|\.\d+Z$/g, '');
}
