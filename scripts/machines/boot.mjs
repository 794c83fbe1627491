// Boots one machine, hands it files, and waits for its end.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOrEmpty } from '../shared/files.mjs';
import { readProcessStat } from '../shared/process-stat.mjs';
import { commonArguments, formatKernelArguments, formatTopologyArguments } from './qemu-arguments.mjs';
import { packSiblingOrder } from './sibling-order.mjs';

const workPrefix = 'cpusetd-machine-';
/**
 * Time without a line on console or results, after which a machine hangs. A busy host makes it slow, which is no fault
 * of its own.
 */
const silenceMs = 1_800_000;

/**
 * Boots a machine and waits until it ends.
 * @param {object} options
 * @param {string[]} options.qemu see ensureQemu
 * @param {{ vmlinux: string, initrd?: string }} options.kernel see ensureKernel
 * @param {{ path: string, keep?: boolean }} options.disk with keep, what the machine writes stays
 * @param {import('./qemu-arguments.mjs').BootMachine} options.machine see machine.mjs
 * @param {Record<string, string | Uint8Array>} options.handIn files by name; `run.sh` is what the machine runs
 * @param {number} options.limitMs of processor time: after that, or when it has printed nothing for half an hour, it is
 * ended
 * @param {(line: string) => void} [options.onResult] gets each line of the results as it comes
 * @param {AbortSignal} [options.signal] ends it too
 * @returns {Promise<{ status?: number, why: string, died: boolean, results: string, console: string, wallMs: number,
 * cpuMs: number }>}
 *   status: that of run.sh; absent when it did not come to that. died: QEMU ended by a fault of its own. cpuMs: the
 *   time of
 *   the host's processors, which says more than the wall clock beside other work
 */
export async function boot({ qemu, kernel, disk, machine, handIn, limitMs, onResult, signal }) {
  const work = mkdtempSync(join(tmpdir(), `${workPrefix}${process.pid}-`));
  const resultsFile = join(work, 'results');
  const consoleFile = join(work, 'console');
  const startedAt = Date.now();
  try {
    const args = [
      ...commonArguments,
      ...formatTopologyArguments(machine),
      ...['-kernel', kernel.vmlinux, '-append', formatKernelArguments(machine)],
      ...packInitrd(work, machine, kernel),
      ...formatDisk(disk),
      // One NVMe disk only, the other on virtio: two of a kind may swap their names.
      ...['-drive', `if=none,id=in,file=${packHandIn(work, handIn)},format=raw,readonly=on`],
      ...['-device', 'virtio-blk-pci,drive=in'],
      ...['-device', 'virtio-serial-pci', '-chardev', `file,id=results,path=${resultsFile}`],
      ...['-device', 'virtserialport,chardev=results,name=results'],
      ...['-serial', `file:${consoleFile}`],
    ];
    const results = followLines(resultsFile, onResult);
    const look = () => results() + sizeOf(consoleFile);
    // It must not outlive us, and should not slow down others.
    /** @type {[string, ...string[]]} */
    const command = ['setpriv', '--pdeathsig', 'KILL', 'nice', '-n', '5', ...qemu, ...args];
    const { ended, died, complaint, cpuMs } = await run(command, { limitMs, signal, look });
    results();
    const console = readOrEmpty(consoleFile);
    const status = /^@@RC (\d+)/m.exec(console)?.[1];
    return {
      ...(status !== undefined && { status: Number(status) }),
      why: [ended, complaint].filter((text) => text !== '').join(': '),
      died,
      results: readOrEmpty(resultsFile),
      console,
      wallMs: Date.now() - startedAt,
      cpuMs,
    };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Removes the folders of runs that were killed: machines themselves end with the process that started them.
 * @returns {void}
 */
export function removeAbandonedFolders() {
  for (const name of readdirSync(tmpdir())) {
    const pid = name.startsWith(workPrefix) ? name.slice(workPrefix.length).split('-')[0] : undefined;
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/**
 * @param {[string, ...string[]]} command
 * @param {object} options
 * @param {number} options.limitMs
 * @param {AbortSignal | undefined} options.signal
 * @param {() => number} options.look the length of all that it has printed
 */
async function run([command, ...args], { limitMs, signal, look }) {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (text) => (complaint += String(text)));
  let ended = '';
  let cpuMs = 0;
  /** @param {string} why */
  const end = (why) => () => {
    ended ||= why;
    child.kill('SIGKILL');
  };
  let printed = 0;
  let printedAt = performance.now();
  const sampling = setInterval(() => {
    const used = readProcessStat(child.pid ?? 0);
    if (used) cpuMs = used.cpuSeconds * 1000;
    if (cpuMs > limitMs) end(`not done after ${limitMs / 1000} s of processor time`)();
    const length = look();
    if (length !== printed) [printed, printedAt] = [length, performance.now()];
    if (performance.now() - printedAt > silenceMs) end(`it printed nothing for ${silenceMs / 1000} s`)();
  }, 500);
  const onAbort = end('interrupted');
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted) onAbort();
  try {
    const [status, signalName] = await once(child, 'close');
    const died = ended === '' && status !== 0;
    if (died) ended = `QEMU ended with ${status ?? signalName}`;
    return { ended, died, complaint: complaint.trim().slice(-2000), cpuMs };
  } finally {
    clearInterval(sampling);
    signal?.removeEventListener('abort', onAbort);
  }
}

/**
 * Hands on each complete line of a growing file.
 * @param {string} file
 * @param {(line: string) => void} [onLine]
 * @returns {() => number} looks for more lines and gives the length of the file
 */
function followLines(file, onLine = () => undefined) {
  let done = 0;
  return () => {
    const text = readOrEmpty(file);
    const lines = text.split('\n').slice(0, -1);
    for (const line of lines.slice(done)) onLine(line);
    done = lines.length;
    return text.length;
  };
}

/** @param {string} file */
const sizeOf = (file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** @param {{ path: string, keep?: boolean }} disk */
const formatDisk = ({ path, keep = false }) => [
  ...['-drive', `if=none,id=root,file=${path},format=raw,cache=unsafe,snapshot=${keep ? 'off' : 'on'}`],
  ...['-device', 'nvme,serial=root,drive=root'],
];

/**
 * Packs the second disk, which is a bare tar.
 * @param {string} work
 * @param {Record<string, string | Uint8Array>} files
 */
function packHandIn(work, files) {
  const dir = join(work, 'in');
  mkdirSync(dir);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(dir, name), content);
  const archive = join(work, 'in.tar');
  execFileSync('tar', ['-cf', archive, '-C', dir, '.']);
  return archive;
}

/**
 * The ACPI table of the machine and the drivers of the kernel, where there are such. The table has to be the first.
 * @param {string} work
 * @param {import('./qemu-arguments.mjs').BootMachine} machine
 * @param {{ initrd?: string }} kernel
 */
function packInitrd(work, machine, { initrd }) {
  const parts = [
    ...(machine.siblings === 'apart' ? [packSiblingOrder(machine)] : []),
    ...(initrd === undefined ? [] : [readFileSync(initrd)]),
  ];
  if (parts.length === 0) return [];
  const path = join(work, 'initrd');
  writeFileSync(path, Buffer.concat(parts));
  return ['-initrd', path];
}
