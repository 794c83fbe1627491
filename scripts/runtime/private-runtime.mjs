// A real containerd or CRI-O with a root, a state and sockets of its own, beside the other processes of the machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, cpSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../shared/errors.mjs';
import { readProcessStat } from '../shared/process-stat.mjs';
import { kindOf } from './kinds.mjs';
import {
  cgroupRootOf,
  listLeftovers,
  ownerFile,
  removeAbandonedRuntimes,
  removeRuntime,
  runtimeVariable,
  workPrefix,
} from './leftovers.mjs';
import { describeVersions, ensureSuite } from './suite.mjs';
import { busyboxImage, packTinyImage, pauseImage } from './tiny-image.mjs';
import { waitForCri } from './wait-for-cri.mjs';

/** @typedef {import('node:child_process').ChildProcess} ChildProcess */

/** The images that every runtime has. */
const images = [pauseImage, busyboxImage];
const longestSocketPath = 107;
/** The limit for a start. It is long, since a slow disk is no failure. */
const startDeadlineMs = 150_000;
const enterScript = fileURLToPath(new URL('enter.sh', import.meta.url));
const restrictedRunc = fileURLToPath(new URL('restricted-runc.sh', import.meta.url));

/**
 * Starts a runtime and waits until it takes pods.
 *
 * @param {object} options
 * @param {string} options.suite see suite.mjs
 * @param {boolean} options.nri true when NRI plugins can connect
 * @param {string | undefined} [options.requiredPlugin] the NRI plugin without which no container is created
 * @param {import('../shared/log.mjs').Log} [options.log]
 * @returns the facts about it (JSON), and `kill`, `start` and `stop`
 * @throws {Error} with the reason for the operator; nothing is left behind then
 */
export async function startPrivateRuntime({ suite, nri, requiredPlugin, log = () => {} }) {
  const { root, versions, programs } = ensureSuite(suite, { log });
  const kind = kindOf(suite);
  for (const old of await removeAbandonedRuntimes()) log(`removed what a killed run left in ${old}`);

  const startedAt = Date.now();
  const work = makeWorkFolder();
  const facts = {
    suite,
    nri,
    packages: versions,
    label: describeVersions(versions),
    work,
    criSocket: join(work, kind.criSocket),
    criSocketInside: `/${kind.criSocket}`,
    nriSocket: join(work, 'run/nri/nri.sock'),
    // The same folder has two names: one for the runtime, which writes pod logs there, and one for the host.
    podLogs: { inRuntime: '/var/log/pods', onHost: join(work, 'pods') },
    cgroupRoot: cgroupRootOf(work),
    /** A process in the runtime's mount namespace; 0 before it is made. */
    namespacePid: 0,
    cgroupPrefix: kind.cgroupPrefix,
    stopsPodsGracefully: kind.stopsPodsGracefully,
    runtimeLog: join(work, `${kind.program}.log`),
    image: busyboxImage,
    runtimePid: 0,
    startedInMs: 0,
  };
  for (const path of [facts.criSocket, facts.nriSocket]) {
    if (Buffer.byteLength(path) > longestSocketPath)
      throw new Error(`too long for a unix socket: ${path} (set TMPDIR to a shorter one)`);
  }
  const major = Number.parseInt(versions[kind.program] ?? '', 10);
  for (const program of programs) cpSync(program, join(work, 'run/bin', basename(program)), { dereference: true });
  cpSync(restrictedRunc, join(work, 'run/bin/restricted-runc'));
  writeFileSync(join(work, 'run/runtime.toml'), kind.formatConfig({ major, nri, work, requiredPlugin }));

  /** @type {ChildProcess} */
  let daemon;
  const holder = await enterNamespace(root, work);
  facts.namespacePid = holder.pid ?? 0;
  /**
   * Starts a program in the runtime's mount namespace.
   * @param {string} command
   * @param {string[]} args
   * @param {import('node:child_process').StdioOptions} stdio
   */
  const inside = (command, args, stdio) =>
    spawn('nsenter', [`--mount=/proc/${holder.pid}/ns/mnt`, '--', command, ...args], {
      stdio,
      detached: true, // Ctrl-C is for the script that started us, which then ends things in order
      env: { PATH: '/run/bin:/usr/sbin:/usr/bin:/sbin:/bin', [runtimeVariable]: work },
    });

  const runtime = {
    facts,
    /** Ends containerd or CRI-O at once, as a crash would; containers go on. */
    async kill() {
      if (daemon.exitCode !== null || daemon.signalCode !== null) return;
      daemon.kill('SIGKILL');
      await once(daemon, 'exit');
    },
    /**
     * Starts it (again) on the state it has.
     * @returns {Promise<number>} its pid
     */
    async start() {
      const logFile = openSync(facts.runtimeLog, 'a');
      daemon = inside(kind.program, kind.listArguments('/run/runtime.toml'), ['ignore', logFile, logFile]);
      closeSync(logFile);
      const failed = once(daemon, 'exit').then(() => {
        throw new Error(`${kind.program} ended`);
      });
      failed.catch(() => {}); // also after the start, when nobody waits any more
      await Promise.race([failed, importedOnce().then(() => waitForCri(facts.criSocket, images, startDeadlineMs))]);
      return daemon.pid ?? 0;
    },
    /**
     * Ends everything.
     * @returns {Promise<string[]>} a line for each thing that could not be removed
     */
    async stop() {
      await removeRuntime(work);
      holder.stdin.end();
      if (holder.exitCode === null) await once(holder, 'exit');
      return listLeftovers(work);
    },
  };

  /** @type {Promise<void> | undefined} */
  let imported;
  const importedOnce = () => (imported ??= importImages());
  /** A runtime takes the import as soon as its socket is there, containerd even before its CRI part is up. */
  async function importImages() {
    const archive = join(work, 'run/images.tar');
    writeFileSync(archive, packTinyImage(join(root, 'usr/bin/busybox')));
    await waitForCri(facts.criSocket, [], startDeadlineMs);
    const { criSocketInside: criSocket } = facts;
    for (const [command, ...args] of kind.listImports({
      archive: '/run/images.tar',
      names: images,
      criSocket,
      major,
    })) {
      const importing = inside(command, args, ['ignore', 'ignore', 'pipe']);
      let complaint = '';
      importing.stderr?.on('data', (text) => (complaint += String(text)));
      const [status] = await once(importing, 'close');
      if (status !== 0) throw new Error(`importing an image failed: ${complaint.trim()}`);
    }
    rmSync(archive);
  }

  try {
    facts.runtimePid = await runtime.start();
    facts.startedInMs = Date.now() - startedAt;
    return runtime;
  } catch (error) {
    const complaints = findComplaints(facts.runtimeLog);
    await runtime.stop();
    throw new Error(`${messageOf(error)}${complaints === '' ? '' : `; its log has: ${complaints}`}`, { cause: error });
  }
}

function makeWorkFolder() {
  const work = mkdtempSync(join(tmpdir(), workPrefix));
  writeFileSync(
    join(work, ownerFile),
    JSON.stringify({ pid: process.pid, startTime: readProcessStat('self')?.startTicks }),
  );
  for (const dir of ['root', 'run', 'pods', 'kubelet']) mkdirSync(join(work, dir));
  return work;
}

/**
 * Starts the process whose mount namespace the runtime lives in. It ends when its standard input does, so also when we
 * die.
 * @param {string} root
 * @param {string} work
 */
async function enterNamespace(root, work) {
  const holder = spawn('unshare', ['--mount', '--propagation', 'private', 'sh', enterScript, root, work], {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  });
  let complaint = '';
  holder.stderr.on('data', (text) => (complaint += String(text)));
  const ended = once(holder, 'close').then(([status]) => {
    throw new Error(`no mount namespace for the runtime (exit ${status}): ${complaint.trim()}`);
  });
  ended.catch(() => {}); // at the regular end nobody waits for it
  await Promise.race([once(holder.stdout, 'data'), ended]);
  return holder;
}

/**
 * The last complaints in the runtime's log; a part that fails to load does not make it end.
 * @param {string} logFile
 */
function findComplaints(logFile) {
  const lines = readFileSync(logFile, 'utf8').split('\n');
  return lines
    .filter((line) => /level="?(warning|error|fatal)|^containerd:|^panic:/.test(line))
    .slice(-3)
    .join(' / ');
}
