// One API server for custom resources with an etcd of its own, both on loopback, in a folder that goes with them.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ensureApiServer } from './build.mjs';
import { formatKubeconfig, makeAuthority, makeCertificate } from './certificates.mjs';

const startDeadlineMs = 150_000;

/**
 * Starts both and waits until the server takes definitions.
 * @param {{ log?: import('../shared/log.mjs').Log }} options
 * @returns the facts about it (JSON), and `kill`, `start` and `stop`
 */
export async function startPrivateApiServer({ log = () => {} } = {}) {
  const programs = ensureApiServer({ log });
  const work = mkdtempSync(join(tmpdir(), 'cpusetd-api-'));
  /** @type {Map<string, import('node:child_process').ChildProcess>} */
  const children = new Map();
  const reviewer = await startReviewer();
  try {
    const [etcdPort, peerPort, port] = [await findPort(), await findPort(), await findPort()];
    const server = `https://127.0.0.1:${port}`;
    makeAuthority(work);
    makeCertificate(work, { name: 'server', isServer: true });
    makeCertificate(work, { name: 'admin', group: 'system:masters' });
    makeCertificate(work, { name: 'nobody', group: 'nobodies' });
    const kubeconfigs = Object.fromEntries(
      ['admin', 'nobody'].map((name) => {
        const path = join(work, `${name}.kubeconfig`);
        writeFileSync(path, formatKubeconfig(work, { name, server }), { mode: 0o600 });
        return [name, path];
      }),
    );
    const reviewerUrl = `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (reviewer.address()).port}`;
    writeFileSync(join(work, 'reviewer.kubeconfig'), formatKubeconfig(work, { name: 'admin', server: reviewerUrl }));
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    mkdirSync(join(work, 'etcd'), { mode: 0o700 });
    run('etcd', [
      ...['--data-dir', join(work, 'etcd'), '--unsafe-no-fsync', '--log-level', 'error'],
      ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
      ...[
        '--listen-peer-urls',
        peerUrl,
        '--initial-advertise-peer-urls',
        peerUrl,
        '--initial-cluster',
        `default=${peerUrl}`,
      ],
    ]);

    async function start() {
      const ca = join(work, 'ca.crt');
      run('apiserver', [
        `--etcd-servers=${etcdUrl}`,
        ...['--bind-address=127.0.0.1', `--secure-port=${port}`, `--cert-dir=${work}`],
        ...[`--tls-cert-file=${join(work, 'server.crt')}`, `--tls-private-key-file=${join(work, 'server.key')}`],
        ...[`--client-ca-file=${ca}`, `--requestheader-client-ca-file=${ca}`, '--authentication-skip-lookup'],
        ...[`--authentication-kubeconfig=${kubeconfigs.admin}`, `--kubeconfig=${kubeconfigs.admin}`],
        `--authorization-kubeconfig=${join(work, 'reviewer.kubeconfig')}`,
        '--enable-priority-and-fairness=false',
        '--disable-admission-plugins=NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy',
      ]);
      await waitUntilReady();
    }

    async function waitUntilReady() {
      const deadline = performance.now() + startDeadlineMs;
      for (;;) {
        if (['apiserver', 'etcd'].some((name) => typeof children.get(name)?.exitCode === 'number'))
          throw new Error(`it ended by itself; its last words: ${readTail(join(work, 'apiserver.log'))}`);
        if (await answers(port, work)) return;
        if (performance.now() > deadline)
          throw new Error(`not ready in ${startDeadlineMs} ms: ${readTail(join(work, 'apiserver.log'))}`);
        await pause(100);
      }
    }

    await start();
    const versions = JSON.parse(readFileSync(join(programs, 'versions.json'), 'utf8'));
    return { facts: { server, kubeconfigs, versions, work }, start, kill: () => end('apiserver', 'SIGKILL'), stop };
  } catch (error) {
    await stop();
    throw error;
  }

  /** @param {string} name @param {string[]} args */
  function run(name, args) {
    const child = spawn(join(programs, name), args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: work });
    const file = createWriteStream(join(work, `${name}.log`), { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false });
    child.once('close', () => file.end());
    child.once('error', () => {}); // it shows as not being ready
    children.set(name, child);
  }

  /** @param {string} name @param {NodeJS.Signals} signal */
  async function end(name, signal) {
    const child = children.get(name);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill(signal);
    await ended;
  }

  async function stop() {
    await end('apiserver', 'SIGKILL');
    await end('etcd', 'SIGKILL');
    reviewer.close();
    reviewer.closeAllConnections();
    rmSync(work, { recursive: true, force: true });
  }
}

/** Starts the server that the API server asks for permissions. It refuses all; members of system:masters need none. */
async function startReviewer() {
  const reviewer = createHttpServer((call, answer) => {
    call.resume();
    answer.setHeader('content-type', 'application/json');
    const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec: {} };
    answer.end(JSON.stringify({ ...review, status: { allowed: false, reason: 'nobody may do anything' } }));
  }).listen(0, '127.0.0.1');
  await once(reviewer, 'listening');
  return reviewer;
}

/** The file with the range of ports that the kernel gives to a process that names none. */
const ephemeral = '/proc/sys/net/ipv4/ip_local_port_range';
const lowestPort = 10_000;

/** A port that is free now, also between a crash and the next start: the kernel gives it only to a process that names it. */
async function findPort() {
  const end = Math.max(Number(readFileSync(ephemeral, 'utf8').split('\t')[0]), lowestPort + 1_000);
  for (;;) {
    const port = randomInt(lowestPort, end);
    const server = createServer();
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/**
 * True when definitions are served; the readiness endpoint also waits for things that this server never has.
 * @param {number} port
 * @param {string} work
 * @returns {Promise<boolean>}
 */
function answers(port, work) {
  return new Promise((resolve) => {
    const call = request(
      {
        host: '127.0.0.1',
        port,
        path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
        ca: readFileSync(join(work, 'ca.crt')),
        cert: readFileSync(join(work, 'admin.crt')),
        key: readFileSync(join(work, 'admin.key')),
        timeout: 2_000,
      },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    call.once('error', () => resolve(false));
    call.once('timeout', () => call.destroy());
    call.end();
  });
}

/** @param {string} path */
function readTail(path) {
  try {
    return readFileSync(path, 'utf8').trim().split('\n').slice(-3).join(' / ');
  } catch {
    return 'none';
  }
}
